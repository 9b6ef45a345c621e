//! The network of a program: an HTTP proxy on a socket in its jail, which applies to each connection what `fetch` applies to each
//! request.
//!
//! A program that wants out connects to that socket and asks for a tunnel (`CONNECT host:443`) or sends a request in plain text
//! (`GET http://host/`). The host is judged, resolved once, every address judged, and the connection made to these addresses alone. One
//! request a connection: what follows it is never read as another. A redirect is the program's own next request, and judged as such.

mod answer;
mod forward;
mod hello;
#[cfg(test)]
mod tests;
mod tunnel;

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use http::header::CONNECTION;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Egress;
use super::connections::{ConnectionLog, ConnectionRecorder, Contact};
use crate::manifest::NetworkRules;
use crate::model::Bytes;
use crate::sandbox::programs::Network;
use answer::Body;
use tunnel::Tunnel;

/// The gateway of one call.
#[derive(Debug)]
pub struct Gateway {
    egress: Arc<Egress>,
    rules: Arc<NetworkRules>,
    log: Arc<ConnectionLog>,
}

/// A tunnel that was granted, between the answer that says so and the bytes.
type Granted = Arc<Mutex<Option<Tunnel>>>;

impl Gateway {
    /// A gateway by these rules. `upload`: bytes that the call may send out; `recorder`: records each contact before it is made.
    pub(in crate::sandbox) fn new(
        egress: Arc<Egress>,
        rules: Arc<NetworkRules>,
        upload: Bytes,
        recorder: Option<Box<dyn ConnectionRecorder>>,
    ) -> Self {
        Self { egress, rules, log: ConnectionLog::new(upload, recorder) }
    }

    /// What was asked for and what became of it, so far.
    pub(in crate::sandbox) fn contacts(&self) -> Vec<Contact> {
        self.log.contacts()
    }

    async fn take(self: Arc<Self>, listener: OwnedFd, stop: CancellationToken) {
        let listener = match tokio::net::TcpListener::from_std(TcpListener::from(listener)) {
            Ok(listener) => listener,
            Err(fault) => return tracing::error!(%fault, "the proxy of a program cannot be served"),
        };
        // Further connections wait in the jail until one of these is over.
        let slots = Arc::new(Semaphore::new((self.rules.max_connections.max(1) as usize).min(Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let next = async {
                let slot = Arc::clone(&slots).acquire_owned().await;
                (slot, listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                next = next => next,
            };
            match (slot, accepted) {
                (Ok(slot), Ok((stream, _))) => {
                    let gateway = Arc::clone(&self);
                    connections.spawn(async move {
                        gateway.serve_one(stream).await;
                        drop(slot);
                    });
                }
                // No descriptors are left, or the connection went away: neither is an end.
                _ => tokio::time::sleep(RETRY).await,
            }
        }
        connections.shutdown().await;
    }

    /// One connection of the program: one request, or one tunnel.
    async fn serve_one(self: Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let granted = Granted::default();
        let service = service_fn(|request| {
            let (gateway, granted) = (Arc::clone(&self), Arc::clone(&granted));
            async move { Ok::<_, std::convert::Infallible>(gateway.answer(request, &granted).await) }
        });
        let served = http1::Builder::new()
            .max_headers(MOST_HEADERS)
            .max_buf_size(HEAD)
            .header_read_timeout(self.egress.settings.headers)
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
            .await;
        let tunnel = granted.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Ok(()), Some(tunnel)) = (served, tunnel) {
            tunnel.run(&self).await;
        }
    }

    async fn answer(&self, request: Request<Incoming>, granted: &Granted) -> Response<Body> {
        let tunnel = request.method() == Method::CONNECT;
        let answered = if tunnel {
            self.tunnel(request).await.map(|tunnel| {
                *granted.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
                Response::new(answer::empty())
            })
        } else {
            self.forward(request).await
        };
        let mut response = answered.unwrap_or_else(|denied| answer::refuse(&denied));
        if !tunnel || response.status() != StatusCode::OK {
            // INVARIANT: one request a connection; what follows it is closed on, unread. A tunnel that stands is no request any more.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl Network for Gateway {
    fn serve(self: Arc<Self>, listener: OwnedFd, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.take(listener, stop))
    }
}

/// Header lines of a request.
const MOST_HEADERS: usize = 100;
/// Bytes of its head.
const HEAD: usize = 64 * 1024;
/// Before the next connection is asked for, where the last could not be taken.
const RETRY: Duration = Duration::from_millis(20);
