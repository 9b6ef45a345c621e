//! Answers whose frame lies: about their length, in their chunks, behind their end.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::{Server, request};
use crate::model::Code;
use crate::sandbox::web::{Egress, Settings};

/// What comes of an answer that is sent as it stands, and then closed.
async fn answered(answer: Vec<u8>) -> Result<String, Code> {
    let server = Server::start(Arc::new(move |mut stream, _| {
        let answer = answer.clone();
        Box::pin(async move {
            let _ = stream.write_all(&answer).await;
        })
    }))
    .await;
    let egress = Egress::new(Settings::default());
    let page = egress.fetch(request(server.url("/"), server.rules()), &CancellationToken::new()).await;
    page.map(|page| String::from_utf8(page.body).unwrap()).map_err(|denied| denied.refusal().code)
}

#[tokio::test]
async fn an_answer_whose_frame_lies_is_one_error_or_what_its_frame_holds() {
    let many = |line: &str| line.repeat(100_000);
    let rows: [(&str, String, Result<&str, Code>); 12] = [
        ("an honest one", "content-length: 4\r\n\r\nbody".to_owned(), Ok("body")),
        ("chunks", "transfer-encoding: chunked\r\n\r\n4;x=y\r\nbody\r\n0\r\ntrailer: x\r\n\r\n".to_owned(), Ok("body")),
        ("less than it says", "content-length: 9\r\n\r\nbody".to_owned(), Err(Code::FetchFailed)),
        ("more than it says", "content-length: 2\r\n\r\nbody".to_owned(), Ok("bo")),
        ("two lengths", "content-length: 2\r\ncontent-length: 4\r\n\r\nbody".to_owned(), Err(Code::FetchFailed)),
        ("a signed length", "content-length: +4\r\n\r\nbody".to_owned(), Err(Code::FetchFailed)),
        ("a length beyond all", format!("content-length: {}0\r\n\r\nbody", u64::MAX), Err(Code::FetchFailed)),
        ("a chunk beyond all", "transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nbody".to_owned(), Err(Code::FetchFailed)),
        ("a chunk that is none", "transfer-encoding: chunked\r\n\r\n-4\r\nbody\r\n0\r\n\r\n".to_owned(), Err(Code::FetchFailed)),
        ("no last chunk", "transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n".to_owned(), Err(Code::FetchFailed)),
        (
            "an endless extension",
            format!("transfer-encoding: chunked\r\n\r\n4;{}\r\nbody\r\n0\r\n\r\n", many("x=y;")),
            Err(Code::FetchFailed),
        ),
        (
            "endless trailers",
            format!("transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n{}\r\n", many("a: b\r\n")),
            Err(Code::FetchFailed),
        ),
    ];
    for (name, frame, expected) in rows {
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n{frame}").into_bytes();
        assert_eq!(answered(answer).await, expected.map(str::to_owned), "{name}");
    }
}
