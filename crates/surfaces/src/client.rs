//! A client of the running assistant: what the terminal and the command line speak, over the socket file.

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

/// The most bytes of an answer that are read.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// How long whoever only wants to know how the assistant is waits for it: one that stands still never answers.
const SOON: Duration = Duration::from_secs(5);

/// How long whoever wants something of it waits for its word. What takes longer than this is begun, and shown later.
const AN_ANSWER: Duration = Duration::from_secs(15);

/// A way to the running assistant.
#[derive(Clone, Debug)]
pub struct Client {
    directory: PathBuf,
    name: String,
}

/// What the human says, and shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The words.
    pub text: String,
    /// The pictures, in base64.
    pub images: Vec<String>,
    /// The number of the message that they reply to.
    pub reply_to: Option<u64>,
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl Words {
    /// The reply that a line such as `/reply 17 yes, do` is: nothing, if it is none.
    pub fn reply(line: &str) -> Option<Self> {
        let (number, text) = line.trim().strip_prefix(REPLY)?.trim_start().split_once(char::is_whitespace)?;
        let reply_to = Some(number.parse().ok()?);
        let text = text.trim().to_owned();
        (!text.is_empty()).then(|| Self { text, reply_to, ..Self::default() })
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obeyed {
    /// It was done, and these are the words for it.
    Told(String),
    /// Work began, which is shown under this number.
    Begun(u64),
}

/// What helps with an assistant that stands still.
const TELL_MORE: &str = "`ollim-bot doctor` and `ollim-bot service status` tell more.";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Nobody listens.
    #[error("ollim-bot is not running here. start it: ollim-bot")]
    NotRunning,
    /// It says no, in words for the human.
    #[error("{0}")]
    Refused(String),
    /// Somebody listens and says nothing. It was only asked for something.
    #[error("ollim-bot runs here, but did not answer within {0} s: it stands still. {TELL_MORE}")]
    Still(u64),
    /// Somebody listens and says nothing. It was given something, and may have taken it.
    #[error(
        "ollim-bot runs here, but did not answer within {0} s: it stands still. it may or may not have taken this: \
         look before you say it again. {TELL_MORE}"
    )]
    Unsure(u64),
    /// Nothing comes from it any more, not even a sign of life. What it was given before, it has.
    #[error(
        "ollim-bot runs here, but nothing came from it for {0} s: it stands still. what it has taken, it keeps. \
         {TELL_MORE}"
    )]
    Silent(u64),
    /// The connection broke.
    #[error("the running ollim-bot did not answer: {0}")]
    Broken(String),
}

impl Client {
    /// A client that will use the socket file called `name` in `directory`.
    pub fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned() }
    }

    /// What is at `path`.
    pub async fn get(&self, path: &str) -> Result<Value, Unanswered> {
        within(AN_ANSWER, self.got(path), Unanswered::Still).await
    }

    /// What is at `path`, if that is told soon.
    pub async fn get_soon(&self, path: &str) -> Result<Value, Unanswered> {
        within(SOON, self.got(path), Unanswered::Still).await
    }

    /// Asks what `body` says at `path`, where nothing changes by it.
    pub async fn ask(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        within(AN_ANSWER, self.posted(path, body), Unanswered::Still).await
    }

    /// Sends `body` to `path`, where it is answered at once.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        within(AN_ANSWER, self.posted(path, body), Unanswered::Unsure).await
    }

    /// Sends `body` to `path`, where work comes before the answer: it may last while somebody is there who does it.
    async fn post_work(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        while_there(self.posted(path, body), async || self.get("/api/health").await).await
    }

    async fn got(&self, path: &str) -> Result<Value, Unanswered> {
        self.send(Method::GET, path, None).await?.json().await
    }

    async fn posted(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        self.send(Method::POST, path, Some(body)).await?.json().await
    }

    /// Says something; the number of the message, which is then on disk.
    pub async fn say(&self, words: &Words) -> Result<u64, Unanswered> {
        let body = json!({ "text": words.text, "images": words.images, "reply_to": words.reply_to });
        let answer = self.post("/api/messages", &body).await?;
        answer["message"].as_u64().ok_or_else(|| broken("it gave no number to the message"))
    }

    /// Gives a command, such as `/compact`; what it answers, or the number of the work that began.
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

    /// Presses `button`, with the words that it asks for; what it answers, if anything.
    pub async fn press(&self, button: &str, words: &str) -> Result<Option<String>, Unanswered> {
        let answer = self.post("/api/buttons", &json!({ "button": button, "words": words })).await?;
        Ok(answer["text"].as_str().map(str::to_owned))
    }

    /// Takes the last change of what is planned or kept back; what that was, in words.
    pub async fn undo(&self) -> Result<Option<String>, Unanswered> {
        let answer = self.post("/api/schedule/words", &json!({ "text": "undo" })).await?;
        Ok(answer["text"].as_str().map(str::to_owned))
    }

    /// Everything that is shown from now on.
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

/// What comes of `asked`, if it comes within `most`.
async fn within<T>(
    most: Duration,
    asked: impl Future<Output = Result<T, Unanswered>>,
    late: fn(u64) -> Unanswered,
) -> Result<T, Unanswered> {
    tokio::time::timeout(most, asked).await.unwrap_or_else(|_| Err(late(most.as_secs())))
}

/// What comes of `work`, however long that takes, unless `look` finds somebody who stands still.
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

/// One answer, and the connection it comes over.
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

    /// Somebody who listens and never answers, and whoever asks.
    fn deaf() -> (tempfile::TempDir, UnixListener, Client) {
        let dir = tempfile::tempdir().unwrap();
        let deaf = UnixListener::bind(dir.path().join("control.sock")).unwrap();
        let client = Client::new(dir.path(), "control.sock");
        (dir, deaf, client)
    }

    /// Who listens and never answers holds up nobody who only wants to know how it is.
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

    /// Whatever is wanted of one that stands still, nobody waits for it for good; and what was given to it is called
    /// neither taken nor lost.
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

    /// Work that lasts is waited for while somebody is there who does it.
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
