//! The fuzz targets: all our code that parses external input.

use std::time::Duration;

use domain::phrase::{self, Habits, Timing};
use domain::schedule::{Cron, Reminder, Routine, WebhookSpec};
use domain::{command, intent};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use journal::files::items::Item;
use journal::files::{agents, skills};
use surfaces::discord::gateway::machine::{Input, Machine};
use surfaces::discord::{Token, events, split};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The name of the target and of its corpus folder.
    pub name: &'static str,
    /// Parses the bytes without side effects. Panics if the result is wrong.
    pub run: fn(&[u8]),
}

/// All fuzz targets.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "frontmatter", run: frontmatter },
    FuzzTarget { name: "cron", run: cron },
    FuzzTarget { name: "phrase", run: phrase },
    FuzzTarget { name: "sse", run: sse },
    FuzzTarget { name: "claude_lines", run: models::fuzz::claude_lines },
    FuzzTarget { name: "gateway", run: gateway },
    FuzzTarget { name: "webhook", run: webhook },
    FuzzTarget { name: "mcp", run: mcp },
    FuzzTarget { name: "calendar", run: calendar },
    FuzzTarget { name: "letter", run: accounts::fuzz::mail_message },
    FuzzTarget { name: "imap", run: accounts::fuzz::imap_responses },
    FuzzTarget { name: "tasks", run: accounts::fuzz::task_file },
];

/// The time for all parsers.
fn now() -> Zoned {
    Timestamp::constant(1_794_816_000, 0).to_zoned(TimeZone::fixed(jiff::tz::offset(1)))
}

/// A job file: parsing its serialization gives the same value.
fn frontmatter(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    assert_round_trip::<Routine>(text);
    assert_round_trip::<Reminder>(text);
    let _ = (skills::parse(text), agents::parse(text, "somebody"));
}

fn assert_round_trip<T: Item + PartialEq + std::fmt::Debug>(text: &str) {
    let zone = now().time_zone().clone();
    if let Ok(item) = T::read(text, &zone) {
        let written = item.to_text();
        match T::read(&written, &zone) {
            Ok(read) => assert_eq!(read, item, "{written}"),
            Err(bad) => panic!("what was written cannot be read ({bad:?}): {written}"),
        }
    }
}

/// A cron expression: its times increase, and its text parses to the same value.
fn cron(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(cron) = Cron::parse(text) else { return };
    let zone = now().time_zone().clone();
    let mut at = now().timestamp();
    for _ in 0..3 {
        let Some(next) = cron.next(at, &zone) else { return };
        assert!(next > at, "{text}: {next} follows {at}");
        at = next;
    }
    assert_eq!(Cron::parse(cron.as_str()).ok().as_ref(), Some(&cron), "{text}");
}

/// A user's message: a recognized time is not in the past, and can be formatted.
fn phrase(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let now = now();
    let habits = Habits::default();
    if let Some(Timing::Once(at)) = phrase::parse(&text, &now, &habits).when {
        assert!(at >= now, "{text}: {at} has passed");
    }
    let _ = format!("{:?}", intent::parse(&text, &now, &habits));
    let _ = command::parse_on(domain::record::SurfaceName::Terminal, &text);
    let parts = split::split(&text);
    assert!(parts.iter().all(|part| split::units(part) <= 2_000), "{text}");
}

fn sse(bytes: &[u8]) {
    models::fuzz::events(bytes);
    models::fuzz::messages_reply(bytes);
    models::fuzz::completions_reply(bytes);
}

/// The messages of a Discord connection, one per line.
fn gateway(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(token) = Token::parse("fuzz.to.ken") else { return };
    let mut machine = Machine::new(token, None, 1);
    let mut at = Duration::ZERO;
    for input in [Input::Start, Input::Located(Ok("ws://127.0.0.1:1".to_owned())), Input::Opened] {
        machine.on(input, at);
    }
    for line in text.lines() {
        at += Duration::from_secs(1);
        let _ = machine.on(Input::Text(line.to_owned()), at);
        if let Ok(data) = serde_json::from_str(line) {
            for name in ["READY", "MESSAGE_CREATE", "MESSAGE_REACTION_ADD", "INTERACTION_CREATE"] {
                let _ = events::parse(name, &data);
            }
        }
    }
}

/// A webhook file.
fn webhook(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    assert_round_trip::<WebhookSpec>(text);
}

fn mcp(bytes: &[u8]) {
    tools::mcp::fuzz::parse_http_body(bytes);
    tools::mcp::fuzz::parse_lines(bytes);
}

fn calendar(bytes: &[u8]) {
    accounts::fuzz::calendar(bytes);
    accounts::fuzz::multistatus(bytes);
}
