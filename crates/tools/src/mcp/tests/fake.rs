//! An HTTP server on loopback that answers each request with a closure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{http, is_whole};

/// A request, with header names in lower case.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Request {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The fields of a form.
    pub fn form(&self) -> BTreeMap<String, String> {
        let url: reqwest::Url = format!("http://x/?{}", self.body).parse().unwrap();
        url.query_pairs().into_owned().collect()
    }

    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let mut words = lines.next().unwrap().split(' ');
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_lowercase(), value.to_owned())
        };
        Self {
            method: words.next().unwrap().to_owned(),
            target: words.next().unwrap().to_owned(),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        }
    }
}

/// The closure's answer.
pub enum FakeResponse {
    /// A whole response.
    Complete(String),
    /// The first part is sent at once, and the rest when another request is `released`.
    Split(String, Arc<tokio::sync::Notify>, String),
}

pub fn json_response(status: &str, body: &Value) -> FakeResponse {
    FakeResponse::Complete(http(status, "content-type: application/json\r\n", &body.to_string()))
}

/// Serves until the set is dropped; returns the origin.
pub async fn serve(
    answer: impl Fn(&str, &Request) -> FakeResponse + Send + Sync + 'static,
) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let own_origin = origin.clone();
    let answer = Arc::new(answer);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let answer = Arc::clone(&answer);
            let own_origin = own_origin.clone();
            connections.spawn(async move {
                let mut socket = socket;
                let request = read_request(&mut socket).await;
                match answer(&own_origin, &request) {
                    FakeResponse::Complete(text) => drop(socket.write_all(text.as_bytes()).await),
                    FakeResponse::Split(first, released, rest) => {
                        let _ = socket.write_all(first.as_bytes()).await;
                        released.notified().await;
                        let _ = socket.write_all(rest.as_bytes()).await;
                    }
                }
            });
        }
    });
    (origin, tasks)
}

async fn read_request(socket: &mut TcpStream) -> Request {
    let mut request = Vec::new();
    while !is_whole(&request) {
        let mut part = [0; 4096];
        let read = socket.read(&mut part).await.unwrap();
        assert!(read > 0, "the client went away");
        request.extend(&part[..read]);
    }
    Request::parse(&request)
}
