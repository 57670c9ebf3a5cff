//! The seam to the world: requests, sockets and downloads, as values. The only thing that is played in tests.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub mod net;

/// The way to Discord.
pub trait Wire: Send + Sync {
    /// Makes one request. It carries the token if `call.auth` says so.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Broken>>;

    /// Opens a gateway connection to `url`, which holds the version and the encoding too.
    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn Socket>, Broken>>;

    /// Reads what an attachment's `url` holds, without the token, if that is at most `limit` bytes.
    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, Unfetched>>;
}

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// How.
    pub method: Method,
    /// Where, below the base address, with its query: `/users/@me`.
    pub path: String,
    /// What it brings.
    pub body: Body,
    /// Who makes it.
    pub auth: Auth,
}

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes something new.
    Post,
    /// Makes it so.
    Put,
    /// Changes.
    Patch,
    /// Takes away.
    Delete,
}

/// What a request brings.
#[derive(Clone, Debug)]
pub enum Body {
    /// Nothing.
    Empty,
    /// A value.
    Json(Value),
    /// A value and files.
    Multipart {
        /// The value.
        payload: Value,
        /// The files; their places in the list are their ids in the value.
        files: Vec<File>,
    },
}

/// A file that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name: `schedule.png`.
    pub name: String,
    /// What it shows, in words.
    pub description: String,
    /// What is in it.
    pub bytes: Bytes,
}

/// Who makes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// The bot, with its token.
    Bot,
    /// Whoever knows the path: it holds a token of its own.
    Path,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers that say something about limits.
    pub headers: Headers,
    /// What it brought.
    pub body: Bytes,
}

/// The few headers that are read, as they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The headers among `all` that are read.
    pub fn of<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let read = |name: &str| name == "retry-after" || name.starts_with("x-ratelimit-");
        let lower = all.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        Self(lower.filter(|(name, _)| read(name)).collect())
    }

    /// The value of `name`, which is written small.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The request never reached them.
    #[error("Discord cannot be reached: {0}")]
    Before(String),
    /// It may have been carried out.
    #[error("the connection to Discord broke: {0}")]
    Maybe(String),
}

/// Why an attachment was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfetched {
    /// It is bigger than allowed.
    #[error("it is bigger than {0} bytes")]
    TooBig(usize),
    /// Its address is none that is read from.
    #[error("its address is not a secure one")]
    NotAllowed,
    /// They answered with another status.
    #[error("Discord answered {0}")]
    Status(u16),
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
}

/// One gateway connection.
pub trait Socket: Send {
    /// Sends one text.
    fn say(&mut self, text: String) -> BoxFuture<'_, Result<(), Broken>>;

    /// What comes next. Dropping the future loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Incoming>;

    /// Ends the connection with `code`.
    fn close(&mut self, code: u16) -> BoxFuture<'_, ()>;
}

/// What a gateway connection brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A text.
    Text(String),
    /// They closed it, with a code if they gave one.
    Closed(Option<u16>),
    /// It broke.
    Dropped,
}
