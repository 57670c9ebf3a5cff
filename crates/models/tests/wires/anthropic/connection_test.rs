//! The connection test of `doctor` and `setup`.

use domain::failure::Failure;
use domain::thinking::Thinking;
use testkit::model_server::ModelServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::support::model;

/// Returns the result of the connection test against a server that answers everything with `answer`.
async fn test_connection(answer: &str) -> Result<(), Failure> {
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
            let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
        }
    };
    tokio::select! {
        result = model.test_connection(Thinking::Auto) => result,
        () = serving => Ok(()),
    }
}

#[tokio::test]
async fn model_that_answers_the_real_request_passes() {
    let server = ModelServer::start().await.unwrap();
    assert_eq!(model(&server.url()).test_connection(Thinking::Auto).await, Ok(()));
    let request = server.requests().remove(0).json;
    assert_eq!(request["stream"], true);
    assert_eq!(request["tools"][0]["name"], "note");
    assert!(request["system"][0]["text"].is_string());
}

#[tokio::test]
async fn web_server_without_a_model_fails() {
    let lost = "404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let page = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
    let json = "200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    for answer in [lost, page, json] {
        assert!(test_connection(answer).await.is_err(), "{answer}");
    }
}
