//! Looking at a server before anything is said to it.

use testkit::model_server::ModelServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::stage::model;

const LOST: &str = "404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A server that does not count tokens, and answers everything else with `answer`; its address.
async fn without_counting(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = String::new();
            while !asked.ends_with('}') {
                let mut piece = [0; 1024];
                let length = stream.read(&mut piece).await.unwrap();
                asked += str::from_utf8(&piece[..length]).unwrap();
            }
            let answer = if asked.contains("/count_tokens") { LOST } else { answer };
            let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn a_model_that_nobody_counts_for_is_there_if_it_says_a_word() {
    let server = ModelServer::start().await.unwrap();
    assert_eq!(model(&server.url()).examine().await, Ok(()));
    let json = "200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    assert_eq!(model(&without_counting(json).await).examine().await, Ok(()));
}

#[tokio::test]
async fn a_web_server_that_is_no_model_is_not_taken_for_one() {
    let page = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
    for answer in [LOST, page] {
        assert!(model(&without_counting(answer).await).examine().await.is_err(), "{answer}");
    }
}
