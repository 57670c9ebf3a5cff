//! CalDAV servers that refuse, fail, hang, lie or redirect are each reported in one sentence.

#![expect(clippy::unwrap_used, reason = "the fixtures of a test exist")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use accounts::AccountError;
use accounts::caldav::{CalDavCalendar, CalDavSettings, CalDavTasks, Limits, PasswordSource};
use accounts::calendar::{Calendar, EventChange};
use accounts::tasks::{TaskFilter, TaskList};
use engine::ports::Clock;
use jiff::Zoned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Zoned {
        "2026-11-16T12:00[Europe/Berlin]".parse().unwrap()
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}

/// A fake server that gives these answers in order, repeats the last one, and records its requests.
struct FakeServer {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl FakeServer {
    async fn new(answers: &[String]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut serving = JoinSet::new();
        let heard = Arc::clone(&asked);
        let answers = answers.to_vec();
        serving.spawn(async move {
            for n in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = request(&mut stream).await;
                heard.lock().unwrap().push(request);
                let answer = answers.get(n).or(answers.last()).unwrap();
                // An empty answer hangs with an open connection.
                if answer.is_empty() {
                    std::future::pending::<()>().await;
                }
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { port, requests: asked, _tasks: serving }
    }

    fn settings(&self) -> CalDavSettings {
        CalDavSettings {
            url: format!("http://127.0.0.1:{}/cal/", self.port),
            user: "me".into(),
            password: PasswordSource::from_fn(|| "canary-password".into()),
            name: None,
            limits: Limits { max_response_bytes: 100_000, ..Limits::DEFAULT },
        }
    }

    fn calendar(&self) -> CalDavCalendar {
        CalDavCalendar::new(self.settings(), Arc::new(FixedClock)).unwrap()
    }

    async fn query(&self) -> Result<usize, AccountError> {
        let from = "2026-11-01T00:00[Europe/Berlin]";
        let until = "2026-12-01T00:00[Europe/Berlin]";
        let found = self.calendar().events_between(from.parse().unwrap(), until.parse().unwrap()).await;
        found.map(|events| events.len())
    }
}

/// Reads the head and body of one request.
async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if read == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}", body.len())
}

fn multistatus(body: &str) -> String {
    let body = format!(
        "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">{body}</D:multistatus>"
    );
    answer("207 Multi-Status", "", &body)
}

fn calendar_resource() -> String {
    multistatus(
        "<D:response><D:href>/cal/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/><C:calendar/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>",
    )
}

fn event_text(summary: &str) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:it\r\nDTSTART:20261120T100000Z\r\nSUMMARY:{summary}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

fn object_response(object: &str) -> String {
    multistatus(&format!(
        "<D:response><D:href>/cal/it.ics</D:href><D:propstat><D:prop><D:getetag>\"1\"</D:getetag><C:calendar-data>{object}</C:calendar-data></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    ))
}

async fn query_error(answers: &[String]) -> String {
    FakeServer::new(answers).await.query().await.unwrap_err().to_string()
}

#[tokio::test]
async fn every_error_response_is_one_sentence() {
    let refused = async |status: &str| query_error(&[answer(status, "", "")]).await;
    assert_eq!(
        refused("401 Unauthorized").await,
        "127.0.0.1 does not accept the user or the password. check OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD."
    );
    assert_eq!(refused("403 Forbidden").await, "127.0.0.1 does not allow this to `me`.");
    assert_eq!(
        refused("503 Service Unavailable").await,
        "127.0.0.1 is in trouble (503 Service Unavailable). try again later."
    );
    assert_eq!(
        refused("418 I'm a teapot").await,
        "127.0.0.1 answered 418 I'm a teapot, which i did not expect."
    );
    let gone = FakeServer::new(&[answer("404 Not Found", "", "")]).await;
    let said = format!("there is nothing at http://127.0.0.1:{}/cal/. check OLLIM_CALDAV_URL.", gone.port);
    assert_eq!(gone.query().await, Err(AccountError::NotFound(said)));
    assert_eq!(
        query_error(&[answer("200 OK", "", "<html><p>Welcome</html>")]).await,
        "127.0.0.1 answered something that is no CalDAV. check OLLIM_CALDAV_URL."
    );
    assert_eq!(
        query_error(&[
            calendar_resource(),
            answer("207 Multi-Status", "", "<D:multistatus xmlns:D=\"DAV:\"><D:resp")
        ])
        .await,
        "127.0.0.1 answered something that is no CalDAV. check OLLIM_CALDAV_URL."
    );
    assert_eq!(
        query_error(&[multistatus(&"<D:x>".repeat(1_000))]).await,
        "127.0.0.1 answered something that is no CalDAV. check OLLIM_CALDAV_URL."
    );
    let flood = query_error(&[answer("207 Multi-Status", "", &"x".repeat(200_000))]).await;
    assert_eq!(flood, "127.0.0.1 answers with more than 0 MB, which is more than i read.");
}

/// The paused clock skips the timeout.
#[tokio::test(start_paused = true)]
async fn hanging_server_times_out() {
    assert_eq!(query_error(&[String::new()]).await, "127.0.0.1 does not answer. try again later.");
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let mut played = FakeServer::new(&[String::new()]).await;
    played._tasks.shutdown().await;
    let said = played.query().await.unwrap_err().to_string();
    assert!(said.starts_with("127.0.0.1 cannot be reached: Connection refused"), "{said}");
}

/// The password is sent to no other server and appears in no error message.
#[tokio::test]
async fn password_is_sent_only_to_the_configured_server() {
    let other = FakeServer::new(&[calendar_resource()]).await;
    let elsewhere = format!("Location: http://127.0.0.1:{}/cal/\r\n", other.port);
    let played = FakeServer::new(&[answer("301 Moved Permanently", &elsewhere, "")]).await;
    let said = played.query().await.unwrap_err().to_string();
    assert!(said.contains("i do not carry your password there by myself"), "{said}");
    assert_eq!(*other.requests.lock().unwrap(), Vec::<String>::new());
    let away = multistatus(
        "<D:response><D:href>/</D:href><D:propstat><D:prop><C:calendar-home-set><D:href>https://elsewhere.example.org/me/</D:href></C:calendar-home-set></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>",
    );
    let said = query_error(&[away]).await;
    assert!(said.ends_with("set OLLIM_CALDAV_URL=https://elsewhere.example.org/me/"), "{said}");
    assert_eq!(
        query_error(&[answer("302 Found", "Location: /cal/\r\n", "")]).await,
        "127.0.0.1 sends us in circles. check OLLIM_CALDAV_URL."
    );
    assert!(!format!("{:?}", played.settings()).contains("canary"));
    let refused = |url: &str| {
        let settings = CalDavSettings { url: url.into(), ..played.settings() };
        CalDavCalendar::new(settings, Arc::new(FixedClock)).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("http://cloud.example.org/"),
        "OLLIM_CALDAV_URL: over http, everybody on the way could read your password. use https."
    );
    assert_eq!(
        refused("https://me:canary-password@cloud.example.org/"),
        "OLLIM_CALDAV_URL: the password does not belong into the address. use OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD_FILE."
    );
    assert_eq!(
        refused("cloud.example.org"),
        "OLLIM_CALDAV_URL: this is no address. write it like https://cloud.example.org."
    );
    assert_eq!(
        refused("ftp://cloud.example.org"),
        "OLLIM_CALDAV_URL: this is no address of a server. write it like https://cloud.example.org."
    );
}

/// After a concurrent change the update is applied once more to the new object; a second conflict
/// is an error.
#[tokio::test]
async fn conflicting_change_is_retried_once() {
    let get =
        |summary: &str, etag: &str| answer("200 OK", &format!("ETag: {etag}\r\n"), &event_text(summary));
    let late = || answer("412 Precondition Failed", "", "");
    let change = || EventChange { description: Some("words".into()), ..EventChange::default() };
    let played = FakeServer::new(&[
        calendar_resource(),
        object_response(&event_text("Old")),
        get("Old", "\"1\""),
        late(),
        get("Theirs", "\"2\""),
        answer("204 No Content", "", ""),
    ])
    .await;
    let kept = played.calendar().update("it", change()).await.unwrap();
    assert_eq!((kept.summary.as_str(), kept.details.description.as_deref()), ("Theirs", Some("words")));
    let asked = played.requests.lock().unwrap().clone();
    let etag = |request: &str| request.lines().find(|line| line.starts_with("if-match")).map(str::to_owned);
    assert_eq!(
        (etag(&asked[3]), etag(&asked[5])),
        (Some("if-match: \"1\"".into()), Some("if-match: \"2\"".into()))
    );
    assert!(
        asked[5].starts_with("PUT /cal/it.ics")
            && asked[5].contains("SUMMARY:Theirs\r\n")
            && asked[5].contains("DESCRIPTION:words"),
        "{}",
        asked[5]
    );

    let played = FakeServer::new(&[
        calendar_resource(),
        object_response(&event_text("Old")),
        get("Old", "\"1\""),
        late(),
        get("Old", "\"2\""),
        late(),
    ])
    .await;
    let lost = played.calendar().update("it", change()).await.unwrap_err();
    assert_eq!(
        lost,
        AccountError::Unavailable("somebody else changed it at the same time. try again.".into())
    );
}

/// One unreadable object is reported, and the others are listed.
#[tokio::test]
async fn unreadable_object_does_not_affect_others() {
    let object = |name: &str, data: &str| {
        format!(
            "<D:response><D:href>/cal/{name}</D:href><D:propstat><D:prop><C:calendar-data>{data}</C:calendar-data></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        )
    };
    let all = [
        object("bad.ics", "&lt;html&gt;"),
        object("good.ics", &event_text("A &amp; B").replace('\r', "&#13;")),
        object("cdata.ics", &format!("<![CDATA[{}]]>", event_text("C"))),
        object("unknown.ics", "&bomb;"),
    ];
    let played = FakeServer::new(&[calendar_resource(), multistatus(&all.concat())]).await;
    let from = "2026-11-01T00:00[Europe/Berlin]";
    let until = "2026-12-01T00:00[Europe/Berlin]";
    let look = played.calendar().query(from.parse().unwrap(), until.parse().unwrap()).await.unwrap();
    let names: Vec<_> = look.events.iter().map(|event| event.summary.as_str()).collect();
    assert_eq!(names, ["A & B", "C"]);
    assert_eq!(
        look.problems,
        [
            "/cal/bad.ics: it is no calendar, so it is left out.",
            "/cal/unknown.ics: it is no calendar, so it is left out."
        ]
    );
}

#[tokio::test]
async fn foreign_tasks_are_parsed() {
    let todo =
        |lines: &str| format!("BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\n{lines}\r\nEND:VTODO\r\nEND:VCALENDAR\r\n");
    let object = |data: String| {
        format!(
            "<D:response><D:href>/cal/x.ics</D:href><D:propstat><D:prop><C:calendar-data>{data}</C:calendar-data></D:prop></D:propstat></D:response>"
        )
    };
    let all = [
        todo("UID:1\r\nSUMMARY:late in the evening\r\nDUE:20261120T233000Z"),
        todo("UID:2\r\nSUMMARY:no due"),
        todo("UID:3\r\nSUMMARY:done\r\nSTATUS:COMPLETED"),
        todo("UID:4\r\nSUMMARY:done too\r\nCOMPLETED:20261101T000000Z"),
        todo("UID:5\r\nSUMMARY:off\r\nSTATUS:CANCELLED"),
        todo("UID:6\r\nSUMMARY:soon\r\nDUE;VALUE=DATE:20261117\r\nDESCRIPTION:a\\nb"),
    ];
    let played = FakeServer::new(&[calendar_resource(), multistatus(&all.map(object).concat())]).await;
    let list = CalDavTasks::new(played.settings(), Arc::new(FixedClock))
        .unwrap()
        .list(TaskFilter::Open)
        .await
        .unwrap();
    let told: Vec<_> =
        list.iter().map(|task| (task.title.as_str(), task.due.map(|due| due.to_string()))).collect();
    assert_eq!(
        told,
        [
            ("soon", Some("2026-11-17".into())),
            ("late in the evening", Some("2026-11-21".into())),
            ("no due", None)
        ]
    );
    assert_eq!(list[0].notes.as_deref(), Some("a\nb"));
}
