//! A whole day of jobs during which the program is killed repeatedly: nothing planned is lost or
//! duplicated.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

mod day;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use domain::rng::Rng;
use jiff::{SignedDuration, Timestamp, Zoned};
use testkit::oracle::find_violations;
use testkit::process::{BackgroundModelServer, Program, RunningProgram, call_webhook, free_port};

use day::{ExitedEarly, notification_count, open_journal, reply, run_until_idle, shifted_binary};

const DAY: &str = "2026-11-16T00:00:00+01:00[Europe/Madrid]";

const ROUTINES: usize = 60;
const REMINDERS: usize = 40;
const CHAINS: usize = 20;
const CALLS: u32 = 10;

/// A1: 60 routines, 40 reminders, 20 chains, 30 messages and 10 webhook calls in a day with 500
/// kills: each occurrence ends once, each reminder and accepted call is delivered once, and the
/// checks of each chain follow each other.
#[test]
fn day_survives_five_hundred_kills() {
    run_day(1, 500);
}

fn run_day(seed: u64, kills: u32) {
    let model_server = BackgroundModelServer::start();
    model_server.model().answering(reply);
    let mut program = Program::with_model(shifted_binary(), &model_server);
    let port = free_port();
    program.set_env("WEBHOOK_PORT", &port.to_string()).set_env("WEBHOOK_SECRET", "sesame");
    let start: Zoned = DAY.parse().expect("a time");
    let mut rng = Rng::new(seed);
    write_job_files(program.data(), &start, &mut rng);
    // The last starts are after the day, so that overdue work has time to finish.
    let step = SignedDuration::from_hours(24) * 10 / (i32::try_from(kills).expect("few kills") * 9);
    let mut messages_sent = 0;
    let mut calls_made = 0;
    for number in 0..kills {
        let now = &start + step * i32::try_from(number).expect("few kills");
        program.set_env("SHIFTED_TO", &now.to_string());
        let running = program.start();
        if number % 17 == 3 && messages_sent < 30 {
            messages_sent += 1;
            running.send_message_unread(&format!("message {messages_sent}"));
        }
        // After a broken connection the caller cannot know whether the call was accepted, so it
        // repeats it after a restart.
        if number % 45 == 10 && calls_made < CALLS {
            calls_made += 1;
        }
        if (10..=11).contains(&(number % 45)) && calls_made > 0 {
            assert_eq!(deliver(port, calls_made), Some(202), "seed {seed}: call {calls_made}");
        }
        wait_random(&running, &mut rng);
        running.kill();
    }
    program.set_env("SHIFTED_TO", &(&start + SignedDuration::from_hours(30)).to_string());
    let running = program.start();
    if let Err(ExitedEarly(passed)) = run_until_idle(&running, program.data()) {
        panic!("seed {seed}: nobody killed it, and it ended after {passed:#}");
    }
    running.terminate();
    let wrong = find_violations(program.data());
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    let day = (start.timestamp(), start.timestamp() + SignedDuration::from_hours(30));
    assert_all_occurrences_ended(seed, program.data(), day);
    assert_reminders_shown_once(seed, program.data());
    assert_calls_delivered_once(seed, program.data());
    assert_chains(seed, program.data());
}

/// Makes call `number`: even calls are delivered verbatim, odd ones are examined by a run.
fn deliver(port: u16, number: u32) -> Option<u16> {
    let hook = webhook_of(number);
    let key = format!("delivery {number}");
    let headers = [("authorization", "Bearer sesame"), ("idempotency-key", key.as_str())];
    let body = format!(r#"{{"what": "call w{number}."}}"#);
    call_webhook(port, hook, &headers, &body).map(|(status, _)| status)
}

fn webhook_of(number: u32) -> &'static str {
    if number.is_multiple_of(2) { "bell" } else { "ci" }
}

/// Waits for a random number of answers, so that speed of the machine does not matter, and then a
/// random short time, so that the kill can hit any instruction.
fn wait_random(running: &RunningProgram, rng: &mut Rng) {
    for _ in 0..rng.next_u64() % 5 {
        let _ = running.command("/status");
    }
    let until = Instant::now() + Duration::from_micros(rng.next_u64() % 10_000);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Writes the job files of the day.
fn write_job_files(data: &Path, start: &Zoned, rng: &mut Rng) {
    let file = |folder: &str, name: String, text: String| {
        std::fs::create_dir_all(data.join(folder)).expect("a directory");
        std::fs::write(data.join(folder).join(name), text).expect("a file");
    };
    for number in 0..ROUTINES {
        let minute = rng.next_u64() % 60;
        let hour = rng.next_u64() % 24;
        let mode = [
            "background: true",
            "background: true\nisolated: true",
            "background: true\nsession: persistent",
            "",
        ][number % 4];
        let text = format!(
            "---\nid: r{number}\ncron: {minute} {hour} * * *\nif-missed: once\n{mode}\n---\nroutine {number}\n"
        );
        file("routines", format!("r{number}.md"), text.replace("\n\n---", "\n---"));
    }
    let mut at = || start + SignedDuration::from_secs(i64::try_from(rng.next_u64() % 82_000).expect("a day"));
    for number in 0..REMINDERS {
        let text = format!("---\nid: m{number}\nrun-at: {}\n---\nreminder m{number}.\n", iso(&at()));
        file("reminders", format!("m{number}.md"), text);
    }
    for number in 0..CHAINS {
        let text = format!(
            "---\nid: c{number}\nrun-at: {}\nbackground: true\nmax-chain: 2\nchain-parent: c{number}\n---\nchain c{number}.\n",
            iso(&at())
        );
        file("reminders", format!("c{number}.md"), text);
    }
    let fields = "fields:\n  type: object\n  required: [what]\n  properties:\n    what: {type: string}";
    let bell = format!("---\nid: bell\n{fields}\ndeliver: \"it rang: {{what}}\"\n---\n");
    let ci = format!("---\nid: ci\n{fields}\nisolated: true\n---\nLook at {{what}}\n");
    file("webhooks", "bell.md".to_owned(), bell);
    file("webhooks", "ci.md".to_owned(), ci);
}

fn iso(at: &Zoned) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Verifies that each due time of a routine has one ended occurrence or is part of a recorded
/// missed range.
fn assert_all_occurrences_ended(seed: u64, data: &Path, (from, to): (Timestamp, Timestamp)) {
    let journal = open_journal(data);
    let mut rows =
        journal.prepare("SELECT source, due, stage, coalesce(last, due) FROM occurrences").expect("rows");
    let rows = rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
    });
    let rows: Vec<(String, i64, String, i64)> = rows.expect("rows").collect::<Result<_, _>>().expect("rows");
    let ended = ["done", "failed", "missed", "skipped", "cancelled"];
    let open: Vec<_> = rows.iter().filter(|row| !ended.contains(&row.2.as_str())).collect();
    assert!(open.is_empty(), "seed {seed}: these never ended: {open:?}");
    for number in 0..ROUTINES {
        let text = std::fs::read_to_string(data.join(format!("routines/r{number}.md"))).expect("a routine");
        let cron = text.lines().find_map(|line| line.strip_prefix("cron: ")).expect("a cron");
        let fields: Vec<i64> =
            cron.split(' ').take(2).map(|field| field.parse().expect("a number")).collect();
        let mut due = from + SignedDuration::from_mins(fields[1] * 60 + fields[0]);
        while due <= to {
            let micros = due.as_microsecond();
            let source = format!("routine:r{number}");
            // Times before the first start were not planned yet.
            let planned = due > from + SignedDuration::from_mins(1);
            let covered = rows.iter().any(|row| row.0 == source && row.1 <= micros && micros <= row.3);
            assert!(covered || !planned, "seed {seed}: {source} was due at {due} and nobody knows: {rows:?}");
            due += SignedDuration::from_hours(24);
        }
    }
}

/// Verifies that each reminder was shown once and its file removed.
fn assert_reminders_shown_once(seed: u64, data: &Path) {
    for number in 0..REMINDERS {
        let times = notification_count(data, &format!("m{number}"));
        assert_eq!(times, 1, "seed {seed}: reminder m{number} was heard {times} times");
        let file = data.join(format!("reminders/m{number}.md"));
        assert!(!file.exists(), "seed {seed}: m{number} is still there");
    }
}

/// The recorded reason of an occurrence that was rescheduled.
const MOVED_REASON: &str = "its time was changed";

/// Verifies that each call, though made twice, was accepted and ended once, and that verbatim ones
/// were shown once.
fn assert_calls_delivered_once(seed: u64, data: &Path) {
    let journal = open_journal(data);
    let count = |sql: &str, words: &str| -> u32 {
        journal.query_row(sql, [words], |row| row.get(0)).expect("a count")
    };
    for hook in ["bell", "ci"] {
        let accepted = count("SELECT count(*) FROM occurrences WHERE source = 'webhook:' || ?1", hook);
        assert_eq!(accepted, CALLS / 2, "seed {seed}: calls of {hook}");
    }
    for number in (2..=CALLS).step_by(2) {
        let shown = "SELECT (SELECT count(*) FROM entries WHERE kind = 'tools' AND body LIKE '%it rang: ' || ?1 || '%') \
                     + (SELECT count(*) FROM reports WHERE text LIKE '%webhook bell: it rang: ' || ?1 || '%') \
                     + (SELECT count(*) FROM held WHERE told IS NULL AND words LIKE '%it rang: ' || ?1 || '%')";
        assert_eq!(count(shown, &format!("call w{number}.")), 1, "seed {seed}: call {number}");
    }
    assert_eq!(count("SELECT count(*) FROM deliveries WHERE ?1 = ''", ""), 0, "seed {seed}: what is left");
}

/// A11: no check of a chain is duplicated, none follows the last one, and each finished one has its
/// successor.
fn assert_chains(seed: u64, data: &Path) {
    let journal = open_journal(data);
    let mut rows = journal
        .prepare("SELECT words, source, CASE stage WHEN 'cancelled' THEN why ELSE stage END FROM occurrences WHERE words LIKE 'chain c%'")
        .expect("rows");
    let rows = rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    });
    let mut checks: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (words, source, hub) in rows.expect("rows").collect::<Result<Vec<_>, _>>().expect("rows") {
        checks.entry(words).or_default().entry(source).or_default().push(hub);
    }
    assert_eq!(checks.len(), CHAINS, "seed {seed}: {checks:?}");
    for (words, checks) in checks {
        let done = checks.values().flatten().filter(|hub| *hub == "done").count();
        // When its parent is retried, a check may be rescheduled: the earlier occurrence is
        // cancelled.
        let happened_once =
            |times: &Vec<String>| times.iter().filter(|hub| *hub != MOVED_REASON).count() == 1;
        assert!(checks.values().all(happened_once), "seed {seed}: {words} {checks:?}");
        assert!(checks.len() <= 3 && (done == 3 || done < checks.len()), "seed {seed}: {words} {checks:?}");
    }
}
