//! The only place that connects. One request is a loop of hops; every hop is judged, resolved once, judged by its addresses, and connected to
//! those addresses alone.

mod body;
mod connect;
mod connections;
mod dial;
mod gateway;
mod request;
mod resolve;
mod robots;
mod secrets;
#[cfg(test)]
mod tests;
mod verb;

use std::net::IpAddr;
#[cfg(any(feature = "mail", feature = "postgres"))]
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jiff::Timestamp;
#[cfg(any(feature = "mail", feature = "postgres"))]
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};
use tokio_util::sync::CancellationToken;

pub use connections::{AuditRecorder, ConnectionRecorder, Contact, How};
pub use gateway::Gateway;
pub use request::{EgressRequest, Hop, Overflow, Page};
pub use resolve::{Resolve, SystemResolver};
pub use secrets::Sent as SentSecrets;

use crate::audit::{Log, Network, NetworkRequest, bare_url};
use crate::gate::Meter;
use crate::manifest::{DomainPattern, NetworkRules, Robots};
use crate::model::{Bytes, Code, Failure, Host, HttpUrl, Refusal};
use crate::policy::network::{judge_addresses, judge_redirect, judge_url};
use crate::policy::request::{Method, judge_header};
use crate::policy::secret::judge_secrets;
use connect::Connector;
use connections::Totals;
use request::Outgoing;

/// What the connector is set up with; the defaults are what `toolgate serve` uses.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Connections at one time, over all callers.
    pub max_connections: u32,
    /// How long a name may take to resolve.
    pub lookup: Duration,
    /// How long a connection may take to stand, TLS included.
    pub connect: Duration,
    /// How long the response's headers may take.
    pub headers: Duration,
    /// How long a site's `robots.txt` may take, redirects included.
    pub robots: Duration,
    /// The `User-Agent` where the caller sets none.
    pub user_agent: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_connections: 10,
            lookup: Duration::from_secs(5),
            connect: Duration::from_secs(5),
            headers: Duration::from_secs(10),
            robots: Duration::from_secs(5),
            user_agent: concat!("toolgate/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// The connector. Building it costs nothing: no socket, no certificate store, no thread before the first request.
#[derive(Debug)]
pub struct Egress {
    settings: Settings,
    resolver: Arc<dyn Resolve>,
    connector: Connector,
    connections: Semaphore,
    robots: robots::Cache,
    last_pages: verb::LastPages,
    totals: Arc<Totals>,
    watch: Option<Watch>,
}

/// What counts and records.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Where the connections of programs are written down.
    pub log: Arc<Log>,
    /// The counts that all servers of the state folder share.
    pub meter: Meter,
    /// What each caller has asked for, in numbers.
    totals: Arc<Totals>,
}

/// Why a request gave no page: policy said no, or the world did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The manifest does not allow this hop.
    #[error("{0}")]
    Refused(Refusal),
    /// It was allowed and did not work.
    #[error("{0}")]
    Failed(Failure),
}

impl Denied {
    /// The code and the sentence, either way.
    pub fn refusal(&self) -> &Refusal {
        match self {
            Self::Refused(refusal) | Self::Failed(Failure(refusal)) => refusal,
        }
    }

    /// The same as a tool's failure.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Refused(refusal) => Failure(refusal),
            Self::Failed(failure) => failure,
        }
    }
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failure> for Denied {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Egress {
    /// A connector that asks the machine's own resolver.
    pub fn new(settings: Settings) -> Self {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// A connector that asks `resolver`; tests give it a world of their own.
    pub fn with_resolver(settings: Settings, resolver: Arc<dyn Resolve>) -> Self {
        let connections = Semaphore::new(settings.max_connections.max(1) as usize);
        let connector = Connector::new(&settings);
        Self {
            settings,
            resolver,
            connector,
            connections,
            robots: robots::Cache::default(),
            last_pages: verb::LastPages::default(),
            totals: Arc::default(),
            watch: None,
        }
    }

    /// Reads the machine's certificates, which the first connection with TLS would have to wait for.
    pub fn prepare(&self) {
        self.connector.prepare();
    }

    /// The same connector, which counts what each caller asks of each host, and writes what programs do with it into the log.
    #[must_use]
    pub fn watched(self, log: Arc<Log>, meter: Meter) -> Self {
        let totals = Arc::clone(&self.totals);
        Self { watch: Some(Watch { log, meter, totals }), ..self }
    }

    /// What counts and records, where there is something.
    pub(in crate::sandbox) fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }

    /// Counts an exchange before it is sent: the host, unless it is asked for its `robots.txt`, and the bytes, unless the call has reserved them.
    fn charge(&self, request: &EgressRequest, url: &HttpUrl, size: u64, is_first: bool) -> Result<(), Refusal> {
        // What the server asks on its own account is on no caller's.
        let watch = self.watch.as_ref().filter(|_| !request.principal.is_empty());
        if let (Some(watch), Some(_)) = (watch, &request.sent) {
            watch.meter.host(&request.principal, url.host_str(), &request.rules)?;
        }
        match (&request.sent, watch) {
            (Some(sent), _) if is_first => sent.store(size, Ordering::Relaxed),
            (_, Some(watch)) => watch.meter.send(&request.principal, request.upload, size)?,
            _ => {}
        }
        Ok(())
    }

    /// Sends one request and follows its redirects, each judged anew. Ends at the deadline, or at once when `cancel` is; dropping the future
    /// closes the connection too.
    ///
    /// # Errors
    /// Refused: everything [`judge_url`], [`judge_addresses`], [`judge_redirect`] and [`judge_header`] say, `robots_disallowed`.
    /// Failed: `fetch_failed`, `timeout`, `cancelled`, `too_many_redirects`, `response_too_large`.
    pub(crate) async fn fetch(&self, request: EgressRequest, cancel: &CancellationToken) -> Result<Page, Denied> {
        let deadline = request.deadline;
        let (principal, began) = (request.principal.clone(), Instant::now());
        let (ts, method, url) = (Timestamp::now().to_string(), request.method.as_str().to_owned(), bare_url(request.url.as_str()));
        let work = timeout_at(deadline, async {
            let _slot = self.connections.acquire().await.map_err(|_| Failure::new(Code::Cancelled, "the server is stopping"))?;
            self.walk(request).await
        });
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::new(Code::Cancelled, "the request was cancelled").into()),
            done = work => done.unwrap_or_else(|_| Err(Failure::new(Code::Timeout, "the request ran out of its time").into())),
        };
        let status = match &done {
            Ok(page) => page.status.to_string(),
            Err(denied) => denied.refusal().code.as_str().to_owned(),
        };
        let ms = u64::try_from(began.elapsed().as_millis()).ok();
        self.totals.note(&principal, NetworkRequest { ts, method, url, status, ms });
        done
    }

    /// The requests of a caller since this server started.
    pub fn requests_of(&self, principal: &str) -> Network {
        self.totals.of(principal)
    }

    async fn walk(&self, request: EgressRequest) -> Result<Page, Denied> {
        for (name, value) in &request.headers {
            judge_header(name, value)?;
        }
        let rules = &request.rules;
        let mut outgoing = Outgoing::new(&request);
        let mut hops = Vec::new();
        let mut secrets = secrets::Sent::default();
        for _ in 0..=rules.max_redirects {
            let addresses = self.judged(rules, &outgoing.url, &outgoing.pinned).await?;
            if rules.robots == Robots::Respect {
                self.ask_robots(&request, &outgoing.url, &addresses).await?;
            }
            judge_secrets(&rules.secrets, &outgoing.url, outgoing.headers.iter().map(|(_, value)| value))?;
            let headers = secrets.fill(rules, &outgoing.headers, &outgoing.url)?;
            let sending = self.connector.request(&outgoing, &headers)?;
            self.charge(&request, &outgoing.url, request::size(&sending), hops.is_empty())?;
            let sent = self.connector.send(&outgoing.url, sending, &addresses, rules.proxy.as_ref()).await?;
            hops.push(Hop { url: outgoing.url.clone(), address: sent.address, status: sent.status() });
            let Some(location) = sent.location()? else {
                let head = outgoing.method == Method::Head;
                let mut page = sent.into_page(outgoing.url, hops, request.max_response, request.overflow, head).await?;
                if !secrets.is_empty() {
                    page.body = secrets.mask(&page.body);
                    page.headers.values_mut().for_each(|value| *value = secrets.mask_text(value));
                }
                page.secrets = secrets;
                return Ok(page);
            };
            if secrets.is_in(&location) {
                let message = format!("`{}` puts a secret into the address it redirects to", outgoing.url.origin());
                return Err(Failure::new(Code::FetchFailed, message).into());
            }
            let next = outgoing.url.join(&location).map_err(|refusal| in_redirect(&outgoing.url, refusal))?;
            judge_redirect(&outgoing.url, &next)?;
            judge_host(request.hosts.as_deref(), &outgoing.url, &next)?;
            outgoing = outgoing.redirected(&next, sent.status())?;
        }
        let message = format!("more than {} redirects", rules.max_redirects);
        Err(Failure::new(Code::TooManyRedirects, message)
            .hint("the site redirects in a loop, or `network.max_redirects` is too low")
            .into())
    }

    /// The addresses of a URL's host; an address written as a number is its own.
    ///
    /// # Errors
    /// `fetch_failed`, `timeout`: the name does not resolve.
    pub(crate) async fn resolve(&self, url: &HttpUrl) -> Result<Vec<IpAddr>, Failure> {
        match url.host() {
            Host::Address(address) => Ok(vec![address]),
            Host::Name(name) => timeout(self.settings.lookup, self.resolver.lookup(name))
                .await
                .map_err(|_| Failure::new(Code::Timeout, format!("the name `{name}` took too long to resolve")))?
                .map_err(|_| {
                    Failure::new(Code::FetchFailed, format!("the name `{name}` does not resolve")).hint("check the host's spelling")
                }),
        }
    }

    /// Where a URL may lead: judged by its text, and by every address: those it was pinned to, else those its name has now.
    ///
    /// # Errors
    /// Refused: as [`judge_url`] and [`judge_addresses`]. Failed: `fetch_failed`, `timeout`.
    async fn judged(&self, rules: &NetworkRules, url: &HttpUrl, pinned: &[IpAddr]) -> Result<Vec<IpAddr>, Denied> {
        judge_url(rules, url)?;
        let addresses = if pinned.is_empty() { self.resolve(url).await? } else { pinned.to_vec() };
        judge_addresses(rules, url, &addresses)?;
        resolve::refuse_own_addresses(rules, url, &addresses)?;
        Ok(addresses)
    }

    /// A connection to a host that the manifest itself names, and to which address: the name need not be listed. What it resolves to is judged as any
    /// address.
    ///
    /// # Errors
    /// `internal_address`, `domain_denied`, `fetch_failed`, `timeout`.
    #[cfg(any(feature = "mail", feature = "postgres"))]
    pub(in crate::sandbox) async fn connect(&self, url: &HttpUrl, network: &NetworkRules) -> Result<(TcpStream, SocketAddr), Denied> {
        let addresses = self.judged(&of_named_host(network, url), url, &[]).await?;
        let dialed = dial::dial(&addresses, url.port(), network.proxy.as_ref(), self.settings.connect).await;
        dialed.map_err(|fault| connect::failed(url, &fault).into())
    }

    /// The configuration of TLS for other protocols than HTTP.
    #[cfg(any(feature = "mail", feature = "postgres"))]
    pub(in crate::sandbox) fn tls(&self) -> Result<Arc<rustls::ClientConfig>, rustls::Error> {
        let mut config = (*self.connector.tls()?).clone();
        config.alpn_protocols.clear();
        Ok(Arc::new(config))
    }

    /// Asks the site's `robots.txt` as a request of the same caller, once an hour and origin.
    async fn ask_robots(&self, request: &EgressRequest, url: &HttpUrl, addresses: &[IpAddr]) -> Result<(), Denied> {
        if let Some(known) = self.robots.get(url) {
            return known.judge(url);
        }
        // RFC 9309 section 2.3.1.2: at least five redirects are followed.
        let rules = NetworkRules { robots: Robots::Ignore, max_redirects: request.rules.max_redirects.max(5), ..(*request.rules).clone() };
        let asked = EgressRequest {
            url: url.join("/robots.txt")?,
            method: Method::Get,
            headers: Vec::new(),
            body: None,
            pinned: addresses.to_vec(),
            rules: Arc::new(rules),
            max_response: ROBOTS_LIMIT,
            overflow: Overflow::Cut,
            sent: None,
            ..request.clone()
        };
        let robots = match timeout(self.settings.robots, Box::pin(self.walk(asked))).await {
            Ok(Ok(page)) => match page.status {
                200..=299 => robots::Robots::parse(&String::from_utf8_lossy(&page.body)),
                400..=499 => robots::Robots::open(),
                _ => robots::Robots::closed(),
            },
            Ok(Err(denied)) => match denied.refusal().code {
                // The site cannot be reached, or the caller may send no more, or its redirect leads to a host to be asked for: that is the answer.
                Code::FetchFailed | Code::Timeout | Code::Quota | Code::AuditUnavailable | Code::NoApprovalChannel => return Err(denied),
                // RFC 9309 section 2.3.1.2: too many redirects count as unavailable, which allows; a loop is more likely broken than meant, so we
                // do not.
                _ => robots::Robots::closed(),
            },
            // RFC 9309 section 2.3.1.4: what cannot be reached disallows everything; it is asked again at the next call.
            Err(_) => robots::Robots::closed(),
        };
        let robots = Arc::new(robots);
        self.robots.put(url, &robots);
        robots.judge(url)
    }
}

/// The rules for a host that the manifest itself names, also one that a private network alone knows.
pub(super) fn of_named_host(network: &NetworkRules, url: &HttpUrl) -> NetworkRules {
    let host = match url.host() {
        Host::Name(name) => DomainPattern::parse(name).ok(),
        Host::Address(_) => None,
    };
    NetworkRules {
        allowed_domains: host.into_iter().collect(),
        allowed_schemes: vec![url.scheme()],
        any_public: true,
        allowed_ports: vec![url.port()],
        denied_ports: Vec::new(),
        denied_domains: Vec::new(),
        max_redirects: 0,
        robots: Robots::Ignore,
        ..network.clone()
    }
}

/// RFC 9309 section 2.5: at least 500 KiB are read.
const ROBOTS_LIMIT: Bytes = Bytes::kib(512);

/// Whether a redirect leads to one of `hosts`, where there are only these.
fn judge_host(hosts: Option<&[String]>, from: &HttpUrl, to: &HttpUrl) -> Result<(), Refusal> {
    if hosts.is_none_or(|hosts| hosts.iter().any(|host| host == to.host_str())) { Ok(()) } else { Err(unasked(from, to)) }
}

/// Nobody can be asked in the middle of a request: the hop is one to be asked for as a call of its own.
fn unasked(from: &HttpUrl, to: &HttpUrl) -> Refusal {
    let what = "a host that this session has not contacted before it read content from outside";
    Refusal::new(Code::NoApprovalChannel, format!("`{}` redirects to `{}`, {what}", from.origin(), to.origin()))
        .rule("approvals.after_untrusted")
        .hint(format!("fetch `{}` itself, which asks a person", to.as_str().chars().take(300).collect::<String>()))
}

fn in_redirect(from: &HttpUrl, mut refusal: Refusal) -> Refusal {
    refusal.message = format!("`{}` redirects on: {}", from.origin(), refusal.message);
    refusal
}
