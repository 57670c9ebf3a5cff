//! An authenticated IMAP session, opened for one operation and closed after it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::date;
use super::folder::Folder;
use super::id::Id;
use super::line::{Broken, Line, Stream, Word, pieces};
use super::settings::{Security, Settings};
use super::tokens::Token;
use crate::mail::{Heading, legible, mime};
use crate::{Secret, Trouble};

/// The maximum number of bytes fetched of a message.
const LETTER: usize = 1024 * 1024;
/// The maximum number of header bytes of a listed message.
const HEADERS: usize = 16 * 1024;
/// The maximum number of responses to one command.
const RESPONSES: usize = 100_000;
/// The maximum number of characters of a server message that are shown.
const WORDS: usize = 200;

pub struct Session {
    line: Line,
    tag: u32,
    host: String,
    password: Secret,
}

/// The untagged responses to a successful command.
type Said = Vec<Vec<Token>>;

impl Session {
    /// Connects and authenticates.
    pub async fn open(settings: &Settings) -> Result<Self, Trouble> {
        let host = settings.server.host.clone();
        let stream = TcpStream::connect((host.as_str(), settings.server.port)).await;
        let stream = stream.map_err(|error| away(&host, &format!("cannot be reached: {error}")))?;
        let stream: Box<dyn Stream> = match settings.server.security {
            Security::Tls => secret(Box::new(stream), settings).await?,
            Security::StartTls | Security::Plain => Box::new(stream),
        };
        let password = settings.password.clone();
        let mut session = Self { line: Line::new(stream), tag: 0, host, password };
        session.greeted().await?;
        if settings.server.security == Security::StartTls {
            session = session.made_secret(settings).await?;
        }
        session.sign_in(settings).await?;
        Ok(session)
    }

    /// Logs out without waiting for the response.
    pub async fn close(mut self) {
        let _ = self.line.say(b"bye LOGOUT\r\n").await;
    }

    async fn greeted(&mut self) -> Result<(), Trouble> {
        let greeting = self.hear().await?;
        match greeting.as_slice() {
            [star, state, ..] if star.is("*") && (state.is("OK") || state.is("PREAUTH")) => Ok(()),
            [star, state, rest @ ..] if star.is("*") && state.is("BYE") => {
                Err(away(&self.host, &format!("sends us away: {}", self.words(rest))))
            }
            _ => Err(self.garbled("it does not greet like one")),
        }
    }

    async fn made_secret(mut self, settings: &Settings) -> Result<Self, Trouble> {
        self.ask(&[Word::plain("STARTTLS")]).await?.map_err(|why| {
            away(
                &self.host,
                &format!("does not make the line secret, so it does not get the password: {why}"),
            )
        })?;
        let Self { line, tag, host, password } = self;
        let Some(stream) = line.into_stream() else {
            return Err(away(
                &host,
                "says things before the line is secret, so it does not get the password.",
            ));
        };
        Ok(Self { line: Line::new(secret(stream, settings).await?), tag, host, password })
    }

    async fn sign_in(&mut self, settings: &Settings) -> Result<(), Trouble> {
        let said = self.ask(&[Word::plain("CAPABILITY")]).await?.map_err(|why| self.garbled(&why))?;
        let can = |what: &str| said.iter().flatten().any(|word| word.is(what));
        let words = if can("AUTH=PLAIN") {
            vec![Word::plain("AUTHENTICATE"), Word::plain("PLAIN")]
        } else {
            let user = Word::string(&settings.user);
            let password = Word::string(self.password.reveal());
            vec![Word::plain("LOGIN"), user, password]
        };
        let plain = STANDARD.encode(format!("\0{}\0{}", settings.user, self.password.reveal()));
        let done = self.ask_telling(&words, &plain).await?;
        done.map(|_| ()).map_err(|why| {
            Trouble::Unconnected(format!(
                "the mailbox at {} does not let {} in: {why}. check OLLIM_IMAP_USER and OLLIM_IMAP_PASSWORD.",
                self.host, settings.user
            ))
        })
    }

    /// Lists all selectable folders.
    pub async fn folders(&mut self) -> Result<Vec<Folder>, Trouble> {
        let words = ["LIST", "\"\"", "\"*\""].map(Word::plain);
        let said = self.ask(&words).await?.map_err(|why| self.garbled(&why))?;
        let listed = |words: &Vec<Token>| match words.as_slice() {
            [_, list, rest @ ..] if list.is("LIST") => Folder::listed(rest),
            _ => None,
        };
        Ok(said.iter().filter_map(listed).collect())
    }

    /// Returns the folder that the user calls `name`.
    pub async fn folder(&mut self, name: &str) -> Result<Folder, Trouble> {
        let folders = self.folders().await?;
        let found = folders.into_iter().find(|folder| folder.is_called(name));
        found.ok_or_else(|| {
            Trouble::Missing(format!("there is no folder `{name}`. `ollim-bot mail labels` lists them."))
        })
    }

    /// Returns the newest `max` messages of a folder that match all `keys`.
    pub async fn search(
        &mut self,
        folder: &Folder,
        keys: &[Word],
        max: usize,
    ) -> Result<Vec<Heading>, Trouble> {
        let validity = self.examine(folder).await?;
        let ascii = !keys.iter().any(|key| matches!(key, Word::Apart(_)));
        let charset: &[&str] = if ascii { &[] } else { &["CHARSET", "UTF-8"] };
        let words = ["UID", "SEARCH"].iter().chain(charset).map(|word| Word::plain(*word));
        let words: Vec<Word> = words.chain(keys.iter().cloned()).collect();
        let said = self.ask(&words).await?.map_err(|why| self.refused("search", &why))?;
        let found = |words: &Vec<Token>| match words.as_slice() {
            [_, search, rest @ ..] if search.is("SEARCH") => rest.iter().filter_map(Token::number).collect(),
            _ => Vec::new(),
        };
        let mut uids: Vec<u32> = said.iter().flat_map(found).collect();
        uids.sort_unstable_by_key(|uid| std::cmp::Reverse(*uid));
        uids.truncate(max);
        self.headings(folder, validity, &uids).await
    }

    async fn headings(
        &mut self,
        folder: &Folder,
        validity: u32,
        uids: &[u32],
    ) -> Result<Vec<Heading>, Trouble> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: Vec<String> = uids.iter().map(u32::to_string).collect();
        let wanted = wanted.join(",");
        let what = format!("(UID INTERNALDATE BODY.PEEK[HEADER.FIELDS (FROM SUBJECT)]<0.{HEADERS}>)");
        let words = ["UID", "FETCH", &wanted, &what].map(Word::plain);
        let said = self.ask(&words).await?.map_err(|why| self.refused("list", &why))?;
        let heading = |fetched: Fetched| {
            let uid = fetched.uid.filter(|uid| uids.contains(uid))?;
            let id = Id { validity, uid, folder: folder.clone() };
            Some(mime::envelope(&fetched.bytes.unwrap_or_default()).heading(id.to_string(), fetched.at))
        };
        Ok(said.iter().filter_map(|words| fetched(words)).filter_map(heading).collect())
    }

    /// Fetches a message up to the size limit.
    pub async fn letter(&mut self, id: &Id) -> Result<Vec<u8>, Trouble> {
        let missing = |why: &str| Trouble::Missing(format!("there is no message `{id}`{why}."));
        if self.examine(&id.folder).await? != id.validity {
            return Err(missing(" any more, because the mailbox was numbered anew. list it again"));
        }
        let what = format!("(UID BODY.PEEK[]<0.{LETTER}>)");
        let words = ["UID", "FETCH", &id.uid.to_string(), &what].map(Word::plain);
        let said = self.ask(&words).await?.map_err(|why| self.refused("read", &why))?;
        let own = said.iter().filter_map(|words| fetched(words)).find(|fetched| fetched.uid == Some(id.uid));
        own.and_then(|fetched| fetched.bytes).ok_or_else(|| missing(""))
    }

    /// Opens a folder read-only and returns its UIDVALIDITY.
    async fn examine(&mut self, folder: &Folder) -> Result<u32, Trouble> {
        let said = self.ask(&[Word::plain("EXAMINE"), Word::string(&folder.name)]).await?;
        let said = said.map_err(|why| {
            let name = folder.label().name;
            Trouble::Missing(format!("the folder `{name}` cannot be opened: {why}."))
        })?;
        let number = |words: &Vec<Token>| {
            let word = words
                .iter()
                .find_map(|word| word.text()?.strip_prefix("[UIDVALIDITY ").map(str::to_owned))?;
            word.trim_end_matches(']').parse().ok()
        };
        said.iter().find_map(number).ok_or_else(|| self.garbled("it does not number its letters"))
    }

    async fn ask(&mut self, words: &[Word]) -> Result<Result<Said, String>, Trouble> {
        self.ask_telling(words, "").await
    }

    /// Sends a command, and `more` after a continuation request. A refusal by the server is the
    /// inner error.
    async fn ask_telling(&mut self, words: &[Word], more: &str) -> Result<Result<Said, String>, Trouble> {
        self.tag += 1;
        let tag = format!("a{}", self.tag);
        let mut waiting = pieces(&tag, words).into_iter().chain([format!("{more}\r\n").into_bytes()]);
        let first = waiting.next().unwrap_or_default();
        self.say(&first).await?;
        let mut said = Vec::new();
        for _ in 0..RESPONSES {
            let response = self.hear().await?;
            match response.as_slice() {
                [plus, ..] if plus.is("+") => match waiting.next() {
                    Some(piece) => self.say(&piece).await?,
                    None => return Err(self.garbled("it asks for more than there is")),
                },
                [own, state, ..] if own.is(&tag) && state.is("OK") => return Ok(Ok(said)),
                [own, _, rest @ ..] if own.is(&tag) => return Ok(Err(self.words(rest))),
                [star, state, rest @ ..] if star.is("*") && state.is("BYE") => {
                    return Err(away(&self.host, &format!("sends us away: {}", self.words(rest))));
                }
                [star, ..] if star.is("*") => said.push(response),
                _ => return Err(self.garbled("that is no answer to what was asked")),
            }
        }
        Err(self.garbled("it does not stop talking"))
    }

    async fn say(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let said = self.line.say(bytes).await;
        said.map_err(|broken| self.broken(&broken))
    }

    async fn hear(&mut self) -> Result<Vec<Token>, Trouble> {
        match self.line.hear().await {
            Ok(raw) => Ok(raw.tokens()),
            Err(broken) => Err(self.broken(&broken)),
        }
    }

    fn broken(&self, broken: &Broken) -> Trouble {
        match broken {
            Broken::Ended => away(&self.host, "hung up. try again later."),
            Broken::Failed(error) => away(&self.host, &format!("cannot be heard any more: {error}")),
            Broken::Flooded => self.garbled("it says more than anybody would read"),
        }
    }

    fn garbled(&self, why: &str) -> Trouble {
        Trouble::Garbled(format!("what answers at {} is no mailbox that i understand: {why}.", self.host))
    }

    fn refused(&self, what: &str, why: &str) -> Trouble {
        Trouble::Wrong(format!("the mailbox at {} does not let me {what} that: {why}.", self.host))
    }

    /// Returns the server's text in readable form, without the password.
    fn words(&self, tokens: &[Token]) -> String {
        let words: Vec<String> = tokens.iter().filter_map(Token::text).collect();
        let line = legible::line(&self.password.hidden_in(&words.join(" ")), WORDS);
        line.trim_end_matches('.').to_owned()
    }
}

/// The fetched data of one message.
#[derive(Default)]
struct Fetched {
    uid: Option<u32>,
    at: Option<jiff::Timestamp>,
    bytes: Option<Vec<u8>>,
}

fn fetched(words: &[Token]) -> Option<Fetched> {
    let [_, _, fetch, Token::List(pairs)] = words else { return None };
    let mut fetched = Fetched::default();
    for pair in pairs.chunks(2) {
        let [name, value] = pair else { continue };
        if name.is("UID") {
            fetched.uid = value.number();
        } else if name.is("INTERNALDATE") {
            fetched.at = value.text().as_deref().and_then(date::read);
        } else if let (Some(name), Token::Text(bytes)) = (name.text(), value)
            && name.to_ascii_uppercase().starts_with("BODY[")
        {
            fetched.bytes = Some(bytes.clone());
        }
    }
    fetch.is("FETCH").then_some(fetched)
}

fn away(host: &str, what: &str) -> Trouble {
    Trouble::Away(format!("the mailbox at {host} {what}"))
}

async fn secret(stream: Box<dyn Stream>, settings: &Settings) -> Result<Box<dyn Stream>, Trouble> {
    let host = &settings.server.host;
    let name = ServerName::try_from(host.clone())
        .map_err(|_| away(host, "has no name that a certificate could have."))?;
    let connector = TlsConnector::from(settings.tls.clone());
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(away(host, &format!("cannot prove that it is the one: {error}."))),
    }
}
