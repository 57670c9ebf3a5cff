//! Servers that hang, flood or send garbage: one sentence each, and never the password.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use accounts::mail::Mailbox;
use accounts::mail::imap::{ImapMailbox, ImapServer, ImapSettings, TransportSecurity};
use accounts::{AccountError, Secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const PASSWORD: &str = "hunter2-canary";

/// A fake server that sends a greeting, then one answer per received message. `TAG` is replaced by the
/// client's tag.
struct FakeServer {
    port: u16,
    received: Arc<Mutex<String>>,
    _tasks: JoinSet<()>,
}

impl FakeServer {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&heard);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut tag = String::new();
            let mut piece = [0; 4096];
            for said in answers {
                let said = String::from_utf8(said).map(|text| text.replace("TAG", &tag).into_bytes());
                if stream.write_all(&said.unwrap_or_else(|error| error.into_bytes())).await.is_err() {
                    return;
                }
                let Ok(length) = stream.read(&mut piece).await else { return };
                let text = String::from_utf8_lossy(&piece[..length]).into_owned();
                tag = text.split(' ').next().unwrap_or_default().to_owned();
                log.lock().unwrap().push_str(&text);
            }
            // Hangs until the client disconnects.
            while stream.read(&mut piece).await.is_ok_and(|length| length > 0) {}
        });
        Self { port, received: heard, _tasks: tasks }
    }

    fn imap(&self, security: TransportSecurity) -> ImapMailbox {
        let server = ImapServer { host: "127.0.0.1".to_owned(), port: self.port, security };
        ImapMailbox::new(ImapSettings {
            server,
            user: "ann".to_owned(),
            password: Secret::new(PASSWORD),
            tls: wire::tls_config(),
        })
    }
}

/// Returns the error for a server that sends `says`.
async fn error_for(says: &[&[u8]]) -> AccountError {
    let played = FakeServer::start(says.iter().map(|said| said.to_vec()).collect()).await;
    let trouble = played.imap(TransportSecurity::Unencrypted).unread(5).await.unwrap_err();
    assert!(!trouble.to_string().contains(PASSWORD), "{trouble}");
    trouble
}

async fn check(says: &[&[u8]], expected: &str) {
    assert_eq!(error_for(says).await.to_string(), expected);
}

const GREETING: &[u8] = b"* OK hello\r\n";
const CAPABILITY: &[u8] = b"* CAPABILITY IMAP4rev1\r\nTAG OK done\r\n";
const LOGGED_IN: &[u8] = b"TAG OK in\r\n";
const EXAMINED: &[u8] = b"* OK [UIDVALIDITY 17] numbered\r\nTAG OK [READ-ONLY] open\r\n";

#[tokio::test(start_paused = true)]
async fn hanging_server_times_out() {
    let late = "the mailbox at 127.0.0.1 takes longer than 30 s to answer. try again later.";
    check(&[b""], late).await;
    check(&[GREETING], late).await;
    check(&[GREETING, CAPABILITY, LOGGED_IN], late).await;
    check(&[b"* OK half a li"], late).await;
}

#[tokio::test]
async fn garbage_is_reported() {
    let no = |why: &str| format!("what answers at 127.0.0.1 is no mailbox that i understand: {why}.");
    check(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"], &no("it does not greet like one")).await;
    check(&[b"\xff\xfe\x00\r\n"], &no("it does not greet like one")).await;
    check(&[GREETING, b"good morning\r\n"], &no("that is no answer to what was asked")).await;
    check(&[GREETING, b"a77 OK that was somebody else\r\n"], &no("that is no answer to what was asked"))
        .await;
    check(&[GREETING, CAPABILITY, LOGGED_IN, b"TAG OK open\r\n"], &no("it does not number its letters"))
        .await;
    check(&[GREETING, b"+ more\r\n", b"+ more\r\n"], &no("it asks for more than there is")).await;
    check(&[GREETING, b"TAG BAD what?\r\n"], &no("what?")).await;
}

#[tokio::test]
async fn flooding_server_is_disconnected() {
    let flooded =
        "what answers at 127.0.0.1 is no mailbox that i understand: it says more than anybody would read.";
    check(&[&vec![b'x'; 9 << 20]], flooded).await;
    check(&[b"* OK {99999999999}\r\n"], flooded).await;
    check(&[b"* OK {18446744073709551615}\r\n"], flooded).await;
    let lines = b"* 1 EXISTS\r\n".repeat(100_001);
    let endless = "what answers at 127.0.0.1 is no mailbox that i understand: it does not stop talking.";
    check(&[GREETING, &lines], endless).await;
}

#[tokio::test]
async fn server_refusals_are_quoted() {
    check(&[b"* BYE too many lines\r\n"], "the mailbox at 127.0.0.1 sends us away: too many lines").await;
    let echo = format!("TAG NO bad password {PASSWORD}\u{1b}[2J\r\n");
    check(
        &[GREETING, CAPABILITY, echo.as_bytes()],
        "the mailbox at 127.0.0.1 does not let ann in: bad password (hidden)[2J. check OLLIM_IMAP_USER and \
         OLLIM_IMAP_PASSWORD.",
    )
    .await;
    check(
        &[GREETING, CAPABILITY, LOGGED_IN, EXAMINED, b"TAG NO [BADCHARSET] no\r\n"],
        "the mailbox at 127.0.0.1 does not let me search that: [BADCHARSET] no.",
    )
    .await;
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let server = ImapServer {
        host: "127.0.0.1".to_owned(),
        port: testkit::process::free_port(),
        security: TransportSecurity::Unencrypted,
    };
    let settings = ImapSettings {
        server,
        user: "ann".to_owned(),
        password: Secret::new(PASSWORD),
        tls: wire::tls_config(),
    };
    let trouble = ImapMailbox::new(settings).unread(5).await.unwrap_err().to_string();
    assert!(trouble.starts_with("the mailbox at 127.0.0.1 cannot be reached: "), "{trouble}");
}

/// FETCH responses for messages that were not requested are ignored.
#[tokio::test]
async fn unrequested_messages_are_ignored() {
    let fetched = b"* 1 FETCH (UID 7 INTERNALDATE \"16-Nov-2026 08:00:00 +0100\" BODY[HEADER.FIELDS (FROM SUBJECT)]<0> {14}\r\nSubject: one\r\n)\r\n\
        * 2 FETCH (UID 9 BODY[] {3}\r\nx\r\n)\r\n* 3 FETCH (\r\n* 4 FETCH (UID)\r\n* 5 EXPUNGE\r\nTAG OK done\r\n";
    let says = [GREETING, CAPABILITY, LOGGED_IN, EXAMINED, b"* SEARCH 7 x 8\r\nTAG OK done\r\n", fetched];
    let played = FakeServer::start(says.iter().map(|said| said.to_vec()).collect()).await;
    let found = played.imap(TransportSecurity::Unencrypted).unread(5).await.unwrap();
    let told: Vec<_> = found.iter().map(|heading| (heading.id.as_str(), heading.subject.as_str())).collect();
    assert_eq!(told, [("17.7", "one")]);
    let heard = played.received.lock().unwrap().clone();
    assert!(heard.contains("EXAMINE \"INBOX\"") && heard.contains("BODY.PEEK["), "{heard}");
    assert!(!heard.contains("SELECT") && !heard.contains("STORE"), "{heard}");
}

/// Without TLS the password is not sent.
#[tokio::test]
async fn password_is_not_sent_without_tls() {
    for (answer, why) in [
        (
            &b"TAG NO not here\r\n"[..],
            "does not make the line secret, so it does not get the password: not here",
        ),
        (b"TAG OK go\r\n* OK [ALERT] injected\r\n", "says things before the line is secret"),
        (b"TAG OK go\r\nnot a handshake", "says things before the line is secret"),
    ] {
        let played = FakeServer::start(vec![GREETING.to_vec(), answer.to_vec()]).await;
        let trouble = played.imap(TransportSecurity::StartTls).unread(5).await.unwrap_err().to_string();
        assert!(trouble.contains(why), "{trouble}");
        assert!(!played.received.lock().unwrap().contains(PASSWORD));
    }
}
