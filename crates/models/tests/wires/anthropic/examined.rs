//! Looking at a server before anything is said to it.

use domain::failure::Failure;
use testkit::model_server::ModelServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::stage::model;

const LOST: &str = "404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// What is found of a server that does not count tokens, and answers everything else with `answer`.
async fn without_counting(answer: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = model(&format!("http://{}", listener.local_addr().unwrap()));
    let serving = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = String::new();
            while !asked.ends_with('}') {
                let mut piece = [0; 1024];
                let length = stream.read(&mut piece).await.unwrap();
                asked += str::from_utf8(&piece[..length]).unwrap();
            }
            let answer = if asked.contains("/count_tokens") { LOST } else { answer };
            let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
        }
    };
    tokio::select! {
        found = model.examine() => found,
        () = serving => Ok(()),
    }
}

#[tokio::test]
async fn a_model_that_nobody_counts_for_is_there_if_it_says_a_word() {
    let server = ModelServer::start().await.unwrap();
    assert_eq!(model(&server.url()).examine().await, Ok(()));
    let json = "200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    assert_eq!(without_counting(json).await, Ok(()));
}

#[tokio::test]
async fn a_web_server_that_is_no_model_is_not_taken_for_one() {
    let page = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
    for answer in [LOST, page] {
        assert!(without_counting(answer).await.is_err(), "{answer}");
    }
}
