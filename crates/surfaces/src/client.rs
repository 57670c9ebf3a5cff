//! HTTP client of the running assistant over its socket file, used by the terminal and the command
//! line.

mod events;
mod follow;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use domain::command::{REPLY_COMMAND, is_long_running};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::web::listener::connect_file;
pub use events::{EventStream, StreamEvent};
pub use follow::{Follower, FollowerEvent};

/// Maximum size of a response body.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Timeout for health queries. A hung daemon never answers.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for other requests. Work that takes longer is started in the background and shown later.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Sends requests to the running assistant, one connection per request.
#[derive(Clone, Debug)]
pub struct Client {
    directory: PathBuf,
    name: String,
}

/// A message of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageDraft {
    pub text: String,
    /// Images, encoded in base64.
    pub images: Vec<String>,
    /// Number of the message this one replies to.
    pub reply_to: Option<u64>,
}

impl From<&str> for MessageDraft {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl MessageDraft {
    /// Parses a line such as `/reply 17 yes, do`. Returns `None` if it is not a reply.
    pub fn parse_reply(line: &str) -> Option<Self> {
        let (number, text) =
            line.trim().strip_prefix(REPLY_COMMAND)?.trim_start().split_once(char::is_whitespace)?;
        let reply_to = Some(number.parse().ok()?);
        let text = text.trim().to_owned();
        (!text.is_empty()).then(|| Self { text, reply_to, ..Self::default() })
    }
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandReply {
    /// The command is finished; its reply text.
    Text(String),
    /// Work was started; the number of its turn.
    Started(u64),
}

/// Hint for an assistant that does not respond.
const DIAGNOSIS_HINT: &str = "`ollim-bot doctor` and `ollim-bot service status` tell more.";

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("ollim-bot is not running here. start it: ollim-bot")]
    NotRunning,
    /// The assistant refused the request, with a reason for the user.
    #[error("{0}")]
    Refused(String),
    /// It did not answer a request that changes nothing.
    #[error("ollim-bot runs here, but did not answer within {0} s: it stands still. {DIAGNOSIS_HINT}")]
    NoAnswer(u64),
    /// It did not answer a request that may have been accepted.
    #[error(
        "ollim-bot runs here, but did not answer within {0} s: it stands still. it may or may not have taken this: \
         look before you say it again. {DIAGNOSIS_HINT}"
    )]
    OutcomeUnknown(u64),
    /// The event stream sent nothing, not even a heartbeat. Requests accepted before stay accepted.
    #[error(
        "ollim-bot runs here, but nothing came from it for {0} s: it stands still. what it has taken, it keeps. \
         {DIAGNOSIS_HINT}"
    )]
    StreamSilent(u64),
    #[error("the running ollim-bot did not answer: {0}")]
    Connection(String),
}

impl Client {
    /// Creates a client for the socket file `name` in `directory`.
    pub fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned() }
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Result<Value, ClientError> {
        with_timeout(ANSWER_TIMEOUT, self.get_json(path), ClientError::NoAnswer).await
    }

    /// Like `get`, with the short timeout for health queries.
    pub async fn get_health(&self, path: &str) -> Result<Value, ClientError> {
        with_timeout(HEALTH_TIMEOUT, self.get_json(path), ClientError::NoAnswer).await
    }

    /// Posts a query that changes nothing.
    pub async fn ask(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        with_timeout(ANSWER_TIMEOUT, self.post_json(path, body), ClientError::NoAnswer).await
    }

    /// Posts a request that is answered at once.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        with_timeout(ANSWER_TIMEOUT, self.post_json(path, body), ClientError::OutcomeUnknown).await
    }

    /// Posts a request that is answered after its work. Waits as long as the daemon responds to
    /// health queries.
    async fn post_work(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        while_responsive(self.post_json(path, body), async || self.get("/api/health").await).await
    }

    async fn get_json(&self, path: &str) -> Result<Value, ClientError> {
        self.send(Method::GET, path, None).await?.json().await
    }

    async fn post_json(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.send(Method::POST, path, Some(body)).await?.json().await
    }

    /// Sends a message and returns its number once it is stored.
    pub async fn say(&self, draft: &MessageDraft) -> Result<u64, ClientError> {
        let body = json!({ "text": draft.text, "images": draft.images, "reply_to": draft.reply_to });
        let answer = self.post("/api/messages", &body).await?;
        answer["message"].as_u64().ok_or_else(|| connection_error("it gave no number to the message"))
    }

    /// Executes a command such as `/compact`.
    pub async fn execute(&self, text: &str) -> Result<CommandReply, ClientError> {
        let body = json!({ "text": text });
        let answer = if is_long_running(text) {
            self.post_work("/api/commands", &body).await?
        } else {
            self.post("/api/commands", &body).await?
        };
        let words = answer["text"].as_str().map(str::to_owned);
        Ok(answer["turn"]
            .as_u64()
            .map_or(CommandReply::Text(words.unwrap_or_default()), CommandReply::Started))
    }

    /// Presses `button` with the text of its form and returns the reply text, if any.
    pub async fn press(&self, button: &str, words: &str) -> Result<Option<String>, ClientError> {
        let answer = self.post("/api/buttons", &json!({ "button": button, "words": words })).await?;
        Ok(answer["text"].as_str().map(str::to_owned))
    }

    /// Undoes the last change of the schedule or inbox and returns its description.
    pub async fn undo(&self) -> Result<Option<String>, ClientError> {
        let answer = self.post("/api/schedule/words", &json!({ "text": "undo" })).await?;
        Ok(answer["text"].as_str().map(str::to_owned))
    }

    /// Opens the event stream.
    pub async fn events(&self) -> Result<EventStream, ClientError> {
        let opened = async { self.send(Method::GET, "/api/events", None).await?.require_success().await };
        let call = with_timeout(ANSWER_TIMEOUT, opened, ClientError::NoAnswer).await?;
        Ok(EventStream::new(call))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<OpenResponse, ClientError> {
        let stream = connect_file(&self.directory, &self.name).await;
        let stream = stream.map_err(|_| ClientError::NotRunning)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(connection_error)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async { drop(connection.await) });
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-ollim", "1")
            .body(Full::new(Bytes::from(body)))
            .map_err(connection_error)?;
        let response = sender.send_request(request).await.map_err(connection_error)?;
        Ok(OpenResponse { response, _connection: tasks })
    }
}

/// Awaits `request` for at most `limit`; otherwise returns the error made by `timed_out`.
async fn with_timeout<T>(
    limit: Duration,
    request: impl Future<Output = Result<T, ClientError>>,
    timed_out: fn(u64) -> ClientError,
) -> Result<T, ClientError> {
    tokio::time::timeout(limit, request).await.unwrap_or_else(|_| Err(timed_out(limit.as_secs())))
}

/// Awaits `work` without a limit, unless the health check `check` times out.
async fn while_responsive<T>(
    work: impl Future<Output = Result<T, ClientError>>,
    check: impl AsyncFn() -> Result<Value, ClientError>,
) -> Result<T, ClientError> {
    let mut work = pin!(work);
    loop {
        let timed_out = match with_timeout(ANSWER_TIMEOUT, work.as_mut(), ClientError::OutcomeUnknown).await {
            Err(timed_out @ ClientError::OutcomeUnknown(_)) => timed_out,
            answer => return answer,
        };
        if let Err(ClientError::NoAnswer(_)) = check().await {
            return Err(timed_out);
        }
    }
}

/// A response and the task that drives its connection.
struct OpenResponse {
    response: Response<Incoming>,
    _connection: JoinSet<()>,
}

impl OpenResponse {
    async fn json(self) -> Result<Value, ClientError> {
        let accepted = self.require_success().await?;
        let bytes = accepted.read_body().await?;
        serde_json::from_slice(&bytes).map_err(connection_error)
    }

    async fn require_success(self) -> Result<Self, ClientError> {
        if self.response.status().is_success() {
            return Ok(self);
        }
        let status = self.response.status();
        let bytes = self.read_body().await?;
        let body = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        let words = body["error"]["message"].as_str().map(str::to_owned);
        Err(ClientError::Refused(words.unwrap_or_else(|| format!("it answered {status}"))))
    }

    async fn read_body(self) -> Result<Bytes, ClientError> {
        let body = http_body_util::Limited::new(self.response.into_body(), MAX_RESPONSE_BYTES);
        Ok(body.collect().await.map_err(connection_error)?.to_bytes())
    }
}

fn connection_error(error: impl ToString) -> ClientError {
    ClientError::Connection(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Returns a listener that never answers and a client for it.
    fn silent_listener() -> (tempfile::TempDir, UnixListener, Client) {
        let dir = tempfile::tempdir().unwrap();
        let deaf = UnixListener::bind(dir.path().join("control.sock")).unwrap();
        let client = Client::new(dir.path(), "control.sock");
        (dir, deaf, client)
    }

    /// A health query to a listener that never answers fails after its short timeout.
    #[tokio::test(start_paused = true)]
    async fn health_query_to_a_hung_daemon_times_out() {
        let (_dir, deaf, client) = silent_listener();
        let late = client.get_health("/api/health").await.unwrap_err().to_string();
        let expected = "ollim-bot runs here, but did not answer within 5 s: it stands still. \
                        `ollim-bot doctor` and `ollim-bot service status` tell more.";
        assert_eq!(late, expected);
        drop(deaf);
        assert!(matches!(client.get_health("/api/health").await, Err(ClientError::NotRunning)));
    }

    /// All requests to a hung daemon time out, and requests that may have been accepted are
    /// reported as such.
    #[tokio::test(start_paused = true)]
    async fn timed_out_request_is_reported_as_possibly_accepted() {
        let (_dir, _deaf, client) = silent_listener();
        assert!(matches!(client.get("/api/today").await, Err(ClientError::NoAnswer(15))));
        assert!(matches!(client.events().await, Err(ClientError::NoAnswer(15))));
        let unsure = [
            client.say(&"hello".into()).await.unwrap_err(),
            client.undo().await.unwrap_err(),
            client.execute("/config model.main opus").await.unwrap_err(),
            client.execute("/update").await.unwrap_err(),
        ];
        for unsure in unsure.map(|unsure| unsure.to_string()) {
            let words =
                "it may or may not have taken this: look before you say it again. `ollim-bot doctor` and ";
            assert!(unsure.contains("did not answer within 15 s") && unsure.contains(words), "{unsure}");
        }
    }

    /// A long request is awaited while health queries are answered.
    #[tokio::test(start_paused = true)]
    async fn long_work_is_awaited_while_the_daemon_responds() {
        let (looked, _) = tokio::sync::watch::channel(0);
        let mut lasting = looked.subscribe();
        let work = async {
            let _ = lasting.wait_for(|looks| *looks == 20).await;
            Ok("updating.")
        };
        let look = async || {
            looked.send_modify(|looks| *looks += 1);
            Ok(Value::Null)
        };
        assert_eq!(while_responsive(work, look).await.unwrap(), "updating.");
    }

    #[test]
    fn a_reply_names_its_message_first() {
        let check = |line: &str, expected: Option<(u64, &str)>| {
            let reply =
                MessageDraft::parse_reply(line).map(|words| (words.reply_to.unwrap_or_default(), words.text));
            assert_eq!(reply, expected.map(|(to, text)| (to, text.to_owned())), "{line}");
        };
        check("/reply 17 yes, do", Some((17, "yes, do")));
        check(" /reply  17  yes\nand no ", Some((17, "yes\nand no")));
        check("/reply 17", None);
        check("/reply yes", None);
        check("/replying 17 yes", None);
        check("reply 17 yes", None);
    }
}
