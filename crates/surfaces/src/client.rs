//! HTTP client of the running assistant over its socket file, used by the terminal and the command
//! line.

mod events;
mod follow;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use domain::command::{REPLY, works_first};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::web::door::connect_file;
pub use events::{Events, Shown};
pub use follow::{Followed, Following};

/// Maximum size of a response body.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Timeout for health queries. A hung daemon never answers.
const SOON: Duration = Duration::from_secs(5);

/// Timeout for other requests. Work that takes longer is started in the background and shown later.
const AN_ANSWER: Duration = Duration::from_secs(15);

/// Sends requests to the running assistant, one connection per request.
#[derive(Clone, Debug)]
pub struct Client {
    directory: PathBuf,
    name: String,
}

/// A message of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    /// Images, encoded in base64.
    pub images: Vec<String>,
    /// Number of the message this one replies to.
    pub reply_to: Option<u64>,
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl Words {
    /// Parses a line such as `/reply 17 yes, do`. Returns `None` if it is not a reply.
    pub fn reply(line: &str) -> Option<Self> {
        let (number, text) = line.trim().strip_prefix(REPLY)?.trim_start().split_once(char::is_whitespace)?;
        let reply_to = Some(number.parse().ok()?);
        let text = text.trim().to_owned();
        (!text.is_empty()).then(|| Self { text, reply_to, ..Self::default() })
    }
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obeyed {
    /// The command is finished; its reply text.
    Told(String),
    /// Work was started; the number of its turn.
    Begun(u64),
}

/// Hint for an assistant that does not respond.
const TELL_MORE: &str = "`ollim-bot doctor` and `ollim-bot service status` tell more.";

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    #[error("ollim-bot is not running here. start it: ollim-bot")]
    NotRunning,
    /// The assistant refused the request, with a reason for the user.
    #[error("{0}")]
    Refused(String),
    /// It did not answer a request that changes nothing.
    #[error("ollim-bot runs here, but did not answer within {0} s: it stands still. {TELL_MORE}")]
    Still(u64),
    /// It did not answer a request that may have been accepted.
    #[error(
        "ollim-bot runs here, but did not answer within {0} s: it stands still. it may or may not have taken this: \
         look before you say it again. {TELL_MORE}"
    )]
    Unsure(u64),
    /// The event stream sent nothing, not even a heartbeat. Requests accepted before stay accepted.
    #[error(
        "ollim-bot runs here, but nothing came from it for {0} s: it stands still. what it has taken, it keeps. \
         {TELL_MORE}"
    )]
    Silent(u64),
    #[error("the running ollim-bot did not answer: {0}")]
    Broken(String),
}

impl Client {
    /// Creates a client for the socket file `name` in `directory`.
    pub fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned() }
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Result<Value, Unanswered> {
        within(AN_ANSWER, self.got(path), Unanswered::Still).await
    }

    /// Like `get`, with the short timeout for health queries.
    pub async fn get_soon(&self, path: &str) -> Result<Value, Unanswered> {
        within(SOON, self.got(path), Unanswered::Still).await
    }

    /// Posts a query that changes nothing.
    pub async fn ask(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        within(AN_ANSWER, self.posted(path, body), Unanswered::Still).await
    }

    /// Posts a request that is answered at once.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        within(AN_ANSWER, self.posted(path, body), Unanswered::Unsure).await
    }

    /// Posts a request that is answered after its work. Waits as long as the daemon responds to
    /// health queries.
    async fn post_work(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        while_there(self.posted(path, body), async || self.get("/api/health").await).await
    }

    async fn got(&self, path: &str) -> Result<Value, Unanswered> {
        self.send(Method::GET, path, None).await?.json().await
    }

    async fn posted(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        self.send(Method::POST, path, Some(body)).await?.json().await
    }

    /// Sends a message and returns its number once it is stored.
    pub async fn say(&self, words: &Words) -> Result<u64, Unanswered> {
        let body = json!({ "text": words.text, "images": words.images, "reply_to": words.reply_to });
        let answer = self.post("/api/messages", &body).await?;
        answer["message"].as_u64().ok_or_else(|| broken("it gave no number to the message"))
    }

    /// Executes a command such as `/compact`.
    pub async fn command(&self, text: &str) -> Result<Obeyed, Unanswered> {
        let body = json!({ "text": text });
        let answer = if works_first(text) {
            self.post_work("/api/commands", &body).await?
        } else {
            self.post("/api/commands", &body).await?
        };
        let words = answer["text"].as_str().map(str::to_owned);
        Ok(answer["turn"].as_u64().map_or(Obeyed::Told(words.unwrap_or_default()), Obeyed::Begun))
    }

    /// Presses `button` with the text of its form and returns the reply text, if any.
    pub async fn press(&self, button: &str, words: &str) -> Result<Option<String>, Unanswered> {
        let answer = self.post("/api/buttons", &json!({ "button": button, "words": words })).await?;
        Ok(answer["text"].as_str().map(str::to_owned))
    }

    /// Undoes the last change of the schedule or inbox and returns its description.
    pub async fn undo(&self) -> Result<Option<String>, Unanswered> {
        let answer = self.post("/api/schedule/words", &json!({ "text": "undo" })).await?;
        Ok(answer["text"].as_str().map(str::to_owned))
    }

    /// Opens the event stream.
    pub async fn events(&self) -> Result<Events, Unanswered> {
        let opened = async { self.send(Method::GET, "/api/events", None).await?.accepted().await };
        let call = within(AN_ANSWER, opened, Unanswered::Still).await?;
        Ok(Events::new(call))
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Call, Unanswered> {
        let stream = connect_file(&self.directory, &self.name).await;
        let stream = stream.map_err(|_| Unanswered::NotRunning)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
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
            .map_err(broken)?;
        let response = sender.send_request(request).await.map_err(broken)?;
        Ok(Call { response, _connection: tasks })
    }
}

/// Awaits `asked` for at most `most`; otherwise returns the error made by `late`.
async fn within<T>(
    most: Duration,
    asked: impl Future<Output = Result<T, Unanswered>>,
    late: fn(u64) -> Unanswered,
) -> Result<T, Unanswered> {
    tokio::time::timeout(most, asked).await.unwrap_or_else(|_| Err(late(most.as_secs())))
}

/// Awaits `work` without a limit, unless the health check `look` times out.
async fn while_there<T>(
    work: impl Future<Output = Result<T, Unanswered>>,
    look: impl AsyncFn() -> Result<Value, Unanswered>,
) -> Result<T, Unanswered> {
    let mut work = pin!(work);
    loop {
        let unsure = match within(AN_ANSWER, work.as_mut(), Unanswered::Unsure).await {
            Err(unsure @ Unanswered::Unsure(_)) => unsure,
            answer => return answer,
        };
        if let Err(Unanswered::Still(_)) = look().await {
            return Err(unsure);
        }
    }
}

/// A response and the task that drives its connection.
struct Call {
    response: Response<Incoming>,
    _connection: JoinSet<()>,
}

impl Call {
    async fn json(self) -> Result<Value, Unanswered> {
        let accepted = self.accepted().await?;
        let body = http_body_util::Limited::new(accepted.response.into_body(), ANSWER_BYTES);
        let bytes = body.collect().await.map_err(broken)?.to_bytes();
        serde_json::from_slice(&bytes).map_err(broken)
    }

    async fn accepted(self) -> Result<Self, Unanswered> {
        if self.response.status().is_success() {
            return Ok(self);
        }
        let status = self.response.status();
        let bytes = self.response.into_body().collect().await.map_err(broken)?.to_bytes();
        let told = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        let words = told["error"]["message"].as_str().map(str::to_owned);
        Err(Unanswered::Refused(words.unwrap_or_else(|| format!("it answered {status}"))))
    }
}

fn broken(error: impl ToString) -> Unanswered {
    Unanswered::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Returns a listener that never answers and a client for it.
    fn deaf() -> (tempfile::TempDir, UnixListener, Client) {
        let dir = tempfile::tempdir().unwrap();
        let deaf = UnixListener::bind(dir.path().join("control.sock")).unwrap();
        let client = Client::new(dir.path(), "control.sock");
        (dir, deaf, client)
    }

    /// A health query to a listener that never answers fails after its short timeout.
    #[tokio::test(start_paused = true)]
    async fn whoever_stands_still_is_not_waited_for() {
        let (_dir, deaf, client) = deaf();
        let late = client.get_soon("/api/health").await.unwrap_err().to_string();
        let expected = "ollim-bot runs here, but did not answer within 5 s: it stands still. \
                        `ollim-bot doctor` and `ollim-bot service status` tell more.";
        assert_eq!(late, expected);
        drop(deaf);
        assert!(matches!(client.get_soon("/api/health").await, Err(Unanswered::NotRunning)));
    }

    /// All requests to a hung daemon time out, and requests that may have been accepted are
    /// reported as such.
    #[tokio::test(start_paused = true)]
    async fn what_was_given_to_whoever_stands_still_is_not_called_taken() {
        let (_dir, _deaf, client) = deaf();
        assert!(matches!(client.get("/api/today").await, Err(Unanswered::Still(15))));
        assert!(matches!(client.events().await, Err(Unanswered::Still(15))));
        let unsure = [
            client.say(&"hello".into()).await.unwrap_err(),
            client.undo().await.unwrap_err(),
            client.command("/config model.main opus").await.unwrap_err(),
            client.command("/update").await.unwrap_err(),
        ];
        for unsure in unsure.map(|unsure| unsure.to_string()) {
            let words =
                "it may or may not have taken this: look before you say it again. `ollim-bot doctor` and ";
            assert!(unsure.contains("did not answer within 15 s") && unsure.contains(words), "{unsure}");
        }
    }

    /// A long request is awaited while health queries are answered.
    #[tokio::test(start_paused = true)]
    async fn work_that_lasts_is_waited_for() {
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
        assert_eq!(while_there(work, look).await.unwrap(), "updating.");
    }

    #[test]
    fn a_reply_names_its_message_first() {
        let check = |line: &str, expected: Option<(u64, &str)>| {
            let reply = Words::reply(line).map(|words| (words.reply_to.unwrap_or_default(), words.text));
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
