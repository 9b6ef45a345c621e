//! A page on a loopback address, for the calls that fetch one.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PAGE: &str = "<!doctype html><html><head><title>A page</title></head><body><article><h1>A page</h1>\
    <p>It says the same to everybody who asks, and is long enough to be read as an article by what looks for one.</p></article></body></html>";

/// Serves the page at a free port until the runtime ends; where.
pub(crate) async fn serve() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        head.extend_from_slice(buffer.get(..read).unwrap_or_default());
    }
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncache-control: no-store\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}
