//! An authenticated IMAP session, opened for one operation and closed after it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::connection::{CommandArg, ConnectionError, DuplexStream, ImapConnection, encode_command};
use super::date;
use super::folder::Folder;
use super::message_id::MessageId;
use super::settings::{ImapSettings, TransportSecurity};
use super::tokens::Token;
use crate::mail::{MessageSummary, mime, sanitized_text};
use crate::{AccountError, Secret};

/// The maximum number of bytes fetched of a message.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// The maximum number of header bytes of a listed message.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// The maximum number of responses to one command.
const MAX_RESPONSES: usize = 100_000;
/// The maximum number of characters of a server message that are shown.
const MAX_SERVER_TEXT_CHARS: usize = 200;

pub struct ImapSession {
    connection: ImapConnection,
    tag: u32,
    host: String,
    password: Secret,
}

/// The untagged responses to a successful command.
type Responses = Vec<Vec<Token>>;

impl ImapSession {
    /// Connects and authenticates.
    pub async fn open(settings: &ImapSettings) -> Result<Self, AccountError> {
        let host = settings.server.host.clone();
        let stream = TcpStream::connect((host.as_str(), settings.server.port)).await;
        let stream = stream.map_err(|error| unavailable(&host, &format!("cannot be reached: {error}")))?;
        let stream: Box<dyn DuplexStream> = match settings.server.security {
            TransportSecurity::Tls => wrap_tls(Box::new(stream), settings).await?,
            TransportSecurity::StartTls | TransportSecurity::Unencrypted => Box::new(stream),
        };
        let password = settings.password.clone();
        let mut session = Self { connection: ImapConnection::new(stream), tag: 0, host, password };
        session.read_greeting().await?;
        if settings.server.security == TransportSecurity::StartTls {
            session = session.start_tls(settings).await?;
        }
        session.authenticate(settings).await?;
        Ok(session)
    }

    /// Logs out without waiting for the response.
    pub async fn close(mut self) {
        let _ = self.connection.send(b"bye LOGOUT\r\n").await;
    }

    async fn read_greeting(&mut self) -> Result<(), AccountError> {
        let greeting = self.receive().await?;
        match greeting.as_slice() {
            [star, state, ..] if star.is_atom("*") && (state.is_atom("OK") || state.is_atom("PREAUTH")) => {
                Ok(())
            }
            [star, state, rest @ ..] if star.is_atom("*") && state.is_atom("BYE") => {
                Err(unavailable(&self.host, &format!("sends us away: {}", self.server_text(rest))))
            }
            _ => Err(self.invalid_response("it does not greet like one")),
        }
    }

    async fn start_tls(mut self, settings: &ImapSettings) -> Result<Self, AccountError> {
        self.command(&[CommandArg::atom("STARTTLS")]).await?.map_err(|why| {
            unavailable(
                &self.host,
                &format!("does not make the line secret, so it does not get the password: {why}"),
            )
        })?;
        let Self { connection, tag, host, password } = self;
        let Some(stream) = connection.into_stream() else {
            return Err(unavailable(
                &host,
                "says things before the line is secret, so it does not get the password.",
            ));
        };
        Ok(Self { connection: ImapConnection::new(wrap_tls(stream, settings).await?), tag, host, password })
    }

    async fn authenticate(&mut self, settings: &ImapSettings) -> Result<(), AccountError> {
        let responses = self
            .command(&[CommandArg::atom("CAPABILITY")])
            .await?
            .map_err(|why| self.invalid_response(&why))?;
        let supports = |what: &str| responses.iter().flatten().any(|word| word.is_atom(what));
        let words = if supports("AUTH=PLAIN") {
            vec![CommandArg::atom("AUTHENTICATE"), CommandArg::atom("PLAIN")]
        } else {
            let user = CommandArg::string(&settings.user);
            let password = CommandArg::string(self.password.reveal());
            vec![CommandArg::atom("LOGIN"), user, password]
        };
        let credentials = STANDARD.encode(format!("\0{}\0{}", settings.user, self.password.reveal()));
        let done = self.command_with_reply(&words, &credentials).await?;
        done.map(|_| ()).map_err(|why| {
            AccountError::NotConnected(format!(
                "the mailbox at {} does not let {} in: {why}. check OLLIM_IMAP_USER and OLLIM_IMAP_PASSWORD.",
                self.host, settings.user
            ))
        })
    }

    /// Lists all selectable folders.
    pub async fn list_folders(&mut self) -> Result<Vec<Folder>, AccountError> {
        let words = ["LIST", "\"\"", "\"*\""].map(CommandArg::atom);
        let responses = self.command(&words).await?.map_err(|why| self.invalid_response(&why))?;
        let listed = |words: &Vec<Token>| match words.as_slice() {
            [_, list, rest @ ..] if list.is_atom("LIST") => Folder::from_list(rest),
            _ => None,
        };
        Ok(responses.iter().filter_map(listed).collect())
    }

    /// Returns the folder that the user calls `name`.
    pub async fn find_folder(&mut self, name: &str) -> Result<Folder, AccountError> {
        let folders = self.list_folders().await?;
        let found = folders.into_iter().find(|folder| folder.matches_name(name));
        found.ok_or_else(|| {
            AccountError::NotFound(format!(
                "there is no folder `{name}`. `ollim-bot mail labels` lists them."
            ))
        })
    }

    /// Returns the newest `max` messages of a folder that match all `keys`.
    pub async fn search(
        &mut self,
        folder: &Folder,
        keys: &[CommandArg],
        max: usize,
    ) -> Result<Vec<MessageSummary>, AccountError> {
        let validity = self.examine(folder).await?;
        let ascii = !keys.iter().any(|key| matches!(key, CommandArg::Literal(_)));
        let charset: &[&str] = if ascii { &[] } else { &["CHARSET", "UTF-8"] };
        let words = ["UID", "SEARCH"].iter().chain(charset).map(|word| CommandArg::atom(*word));
        let words: Vec<CommandArg> = words.chain(keys.iter().cloned()).collect();
        let responses = self.command(&words).await?.map_err(|why| self.refused_error("search", &why))?;
        let found = |words: &Vec<Token>| match words.as_slice() {
            [_, search, rest @ ..] if search.is_atom("SEARCH") => {
                rest.iter().filter_map(Token::number).collect()
            }
            _ => Vec::new(),
        };
        let mut uids: Vec<u32> = responses.iter().flat_map(found).collect();
        uids.sort_unstable_by_key(|uid| std::cmp::Reverse(*uid));
        uids.truncate(max);
        self.fetch_summaries(folder, validity, &uids).await
    }

    async fn fetch_summaries(
        &mut self,
        folder: &Folder,
        validity: u32,
        uids: &[u32],
    ) -> Result<Vec<MessageSummary>, AccountError> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let uid_set: Vec<String> = uids.iter().map(u32::to_string).collect();
        let uid_set = uid_set.join(",");
        let what =
            format!("(UID INTERNALDATE BODY.PEEK[HEADER.FIELDS (FROM SUBJECT)]<0.{MAX_HEADER_BYTES}>)");
        let words = ["UID", "FETCH", &uid_set, &what].map(CommandArg::atom);
        let responses = self.command(&words).await?.map_err(|why| self.refused_error("list", &why))?;
        let heading = |fetched: FetchedMessage| {
            let uid = fetched.uid.filter(|uid| uids.contains(uid))?;
            let id = MessageId { validity, uid, folder: folder.clone() };
            Some(
                mime::parse_envelope(&fetched.bytes.unwrap_or_default())
                    .to_summary(id.to_string(), fetched.at),
            )
        };
        Ok(responses.iter().filter_map(|words| parse_fetch(words)).filter_map(heading).collect())
    }

    /// Fetches a message up to the size limit.
    pub async fn fetch_message(&mut self, id: &MessageId) -> Result<Vec<u8>, AccountError> {
        let missing = |why: &str| AccountError::NotFound(format!("there is no message `{id}`{why}."));
        if self.examine(&id.folder).await? != id.validity {
            return Err(missing(" any more, because the mailbox was numbered anew. list it again"));
        }
        let what = format!("(UID BODY.PEEK[]<0.{MAX_MESSAGE_BYTES}>)");
        let words = ["UID", "FETCH", &id.uid.to_string(), &what].map(CommandArg::atom);
        let responses = self.command(&words).await?.map_err(|why| self.refused_error("read", &why))?;
        let own = responses
            .iter()
            .filter_map(|words| parse_fetch(words))
            .find(|fetched| fetched.uid == Some(id.uid));
        own.and_then(|fetched| fetched.bytes).ok_or_else(|| missing(""))
    }

    /// Opens a folder read-only and returns its UIDVALIDITY.
    async fn examine(&mut self, folder: &Folder) -> Result<u32, AccountError> {
        let responses =
            self.command(&[CommandArg::atom("EXAMINE"), CommandArg::string(&folder.name)]).await?;
        let responses = responses.map_err(|why| {
            let name = folder.to_label().name;
            AccountError::NotFound(format!("the folder `{name}` cannot be opened: {why}."))
        })?;
        let number = |words: &Vec<Token>| {
            let word = words
                .iter()
                .find_map(|word| word.text()?.strip_prefix("[UIDVALIDITY ").map(str::to_owned))?;
            word.trim_end_matches(']').parse().ok()
        };
        responses
            .iter()
            .find_map(number)
            .ok_or_else(|| self.invalid_response("it does not number its letters"))
    }

    async fn command(&mut self, words: &[CommandArg]) -> Result<Result<Responses, String>, AccountError> {
        self.command_with_reply(words, "").await
    }

    /// Sends a command, and `more` after a continuation request. A refusal by the server is the
    /// inner error.
    async fn command_with_reply(
        &mut self,
        words: &[CommandArg],
        more: &str,
    ) -> Result<Result<Responses, String>, AccountError> {
        self.tag += 1;
        let tag = format!("a{}", self.tag);
        let mut parts = encode_command(&tag, words).into_iter().chain([format!("{more}\r\n").into_bytes()]);
        let first = parts.next().unwrap_or_default();
        self.send(&first).await?;
        let mut responses = Vec::new();
        for _ in 0..MAX_RESPONSES {
            let response = self.receive().await?;
            match response.as_slice() {
                [plus, ..] if plus.is_atom("+") => match parts.next() {
                    Some(piece) => self.send(&piece).await?,
                    None => return Err(self.invalid_response("it asks for more than there is")),
                },
                [own, state, ..] if own.is_atom(&tag) && state.is_atom("OK") => return Ok(Ok(responses)),
                [own, _, rest @ ..] if own.is_atom(&tag) => return Ok(Err(self.server_text(rest))),
                [star, state, rest @ ..] if star.is_atom("*") && state.is_atom("BYE") => {
                    return Err(unavailable(
                        &self.host,
                        &format!("sends us away: {}", self.server_text(rest)),
                    ));
                }
                [star, ..] if star.is_atom("*") => responses.push(response),
                _ => return Err(self.invalid_response("that is no answer to what was asked")),
            }
        }
        Err(self.invalid_response("it does not stop talking"))
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), AccountError> {
        let said = self.connection.send(bytes).await;
        said.map_err(|broken| self.connection_error(&broken))
    }

    async fn receive(&mut self) -> Result<Vec<Token>, AccountError> {
        match self.connection.receive().await {
            Ok(raw) => Ok(raw.tokens()),
            Err(broken) => Err(self.connection_error(&broken)),
        }
    }

    fn connection_error(&self, broken: &ConnectionError) -> AccountError {
        match broken {
            ConnectionError::Closed => unavailable(&self.host, "hung up. try again later."),
            ConnectionError::Io(error) => {
                unavailable(&self.host, &format!("cannot be heard any more: {error}"))
            }
            ConnectionError::TooMuchData => self.invalid_response("it says more than anybody would read"),
        }
    }

    fn invalid_response(&self, why: &str) -> AccountError {
        AccountError::Unreadable(format!(
            "what answers at {} is no mailbox that i understand: {why}.",
            self.host
        ))
    }

    fn refused_error(&self, what: &str, why: &str) -> AccountError {
        AccountError::InvalidRequest(format!(
            "the mailbox at {} does not let me {what} that: {why}.",
            self.host
        ))
    }

    /// Returns the server's text in readable form, without the password.
    fn server_text(&self, tokens: &[Token]) -> String {
        let words: Vec<String> = tokens.iter().filter_map(Token::text).collect();
        let line =
            sanitized_text::single_line(&self.password.redact(&words.join(" ")), MAX_SERVER_TEXT_CHARS);
        line.trim_end_matches('.').to_owned()
    }
}

/// The fetched data of one message.
#[derive(Default)]
struct FetchedMessage {
    uid: Option<u32>,
    at: Option<jiff::Timestamp>,
    bytes: Option<Vec<u8>>,
}

fn parse_fetch(words: &[Token]) -> Option<FetchedMessage> {
    let [_, _, fetch, Token::List(pairs)] = words else { return None };
    let mut fetched = FetchedMessage::default();
    for pair in pairs.chunks(2) {
        let [name, value] = pair else { continue };
        if name.is_atom("UID") {
            fetched.uid = value.number();
        } else if name.is_atom("INTERNALDATE") {
            fetched.at = value.text().as_deref().and_then(date::parse_timestamp);
        } else if let (Some(name), Token::Text(bytes)) = (name.text(), value)
            && name.to_ascii_uppercase().starts_with("BODY[")
        {
            fetched.bytes = Some(bytes.clone());
        }
    }
    fetch.is_atom("FETCH").then_some(fetched)
}

fn unavailable(host: &str, what: &str) -> AccountError {
    AccountError::Unavailable(format!("the mailbox at {host} {what}"))
}

async fn wrap_tls(
    stream: Box<dyn DuplexStream>,
    settings: &ImapSettings,
) -> Result<Box<dyn DuplexStream>, AccountError> {
    let host = &settings.server.host;
    let name = ServerName::try_from(host.clone())
        .map_err(|_| unavailable(host, "has no name that a certificate could have."))?;
    let connector = TlsConnector::from(settings.tls.clone());
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(unavailable(host, &format!("cannot prove that it is the one: {error}."))),
    }
}
