//! Snapshot tests of the `tasks` and `cal` commands.

use std::path::Path;

use accounts::calendar::LocalCalendar;
use accounts::file_store::{FileStore, ReplaceOutcome};
use accounts::tasks::LocalTaskList;
use clap::Parser;
use expect_test::{Expect, expect};
use journal::Paths;
use journal::disk::RealDisk;
use testkit::clock::VirtualClock;

use super::file_store::DataFileStore;
use super::*;
use crate::cli::{Cli, Command};

/// Returns the result of `line` at noon of a Monday in Berlin, with the files in `dir`.
async fn run(dir: &Path, line: &[&str]) -> Result<CommandOutput, AccountError> {
    let clock: Arc<dyn Clock> =
        Arc::new(VirtualClock::new("2026-11-16T12:00[Europe/Berlin]".parse().unwrap()));
    let shelf = Arc::new(DataFileStore::new(Arc::new(RealDisk), &Paths::new(dir)));
    let habits = journal::settings(&Paths::new(dir), Arc::new(RealDisk)).0.habits();
    let line = [&["ollim-bot"], line].concat();
    match Cli::try_parse_from(&line).unwrap().command {
        Some(Command::Account(AccountCommand::Tasks { action })) => {
            let list = LocalTaskList::new(shelf, dir.join("tasks.md"));
            TaskCommands { list: &list, clock: clock.as_ref(), habits: habits.clone() }
                .run(action.unwrap())
                .await
        }
        Some(Command::Account(AccountCommand::Cal { action })) => {
            let calendar = LocalCalendar::new(shelf, dir.join("calendar.ics"), Arc::clone(&clock));
            CalendarCommands { calendar: &calendar, clock: clock.as_ref(), habits: habits.clone() }
                .run(action.unwrap())
                .await
        }
        other => panic!("{other:?}"),
    }
}

/// Compares the output of all lines, run in order.
async fn check(dir: &Path, lines: &[&[&str]], expected: Expect) {
    let mut all = String::new();
    for line in lines {
        let text = run(dir, line).await.map_or_else(|trouble| trouble.to_string(), |told| told.text);
        all.push_str(&format!("> {}\n{text}\n", line.join(" ")));
    }
    expected.assert_eq(&all);
}

/// GO-12, GO-13, GO-14, GO-15: The output of every `tasks` command.
#[tokio::test(start_paused = true)]
async fn task_commands_print_the_expected_text() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    check(
        dir,
        &[
            &["tasks", "list"],
            &["tasks", "add", "renew the passport", "--due", "2026-12-01", "--notes", "two photos"],
            &["tasks", "add", "buy", "milk"],
            &["tasks", "add", "call tom", "--due", "friday"],
            &["tasks", "list"],
            &["tasks", "done", "vvahm"],
            &["tasks", "list"],
            &["tasks", "list", "--all"],
            &["tasks", "update", "vvahm"],
            &["tasks", "update", "vvahm", "--title", "buy oat milk"],
            &["tasks", "delete", "vvahm"],
            &["tasks", "delete", "vvahm"],
            &["tasks", "add", "x", "--due", "2026-02-30"],
        ],
        expect![[r#"
            > tasks list
            no tasks
            > tasks add renew the passport --due 2026-12-01 --notes two photos
            added mvayh: 2026-12-01 -- renew the passport
            > tasks add buy milk
            added vvahm: (no due) -- buy milk
            > tasks add call tom --due friday
            added p9u7x: 2026-11-20 -- call tom
            > tasks list
              mvayh  2026-12-01    [ ]  renew the passport
              vvahm  (no due)      [ ]  buy milk
              p9u7x  2026-11-20    [ ]  call tom
            > tasks done vvahm
            completed vvahm
            > tasks list
              mvayh  2026-12-01    [ ]  renew the passport
              p9u7x  2026-11-20    [ ]  call tom
            > tasks list --all
              mvayh  2026-12-01    [ ]  renew the passport
              vvahm  (no due)      [x]  buy milk
              p9u7x  2026-11-20    [ ]  call tom
            > tasks update vvahm
            nothing to change: say --title, --due or --notes.
            > tasks update vvahm --title buy oat milk
            updated vvahm
            > tasks delete vvahm
            deleted vvahm
            > tasks delete vvahm
            there is no task `vvahm`. `ollim-bot tasks list --all` shows their ids.
            > tasks add x --due 2026-02-30
            `2026-02-30` is no day that i know. write it like 2026-11-20.
        "#]],
    )
    .await;
    let list = run(dir, &["tasks", "list"]).await.unwrap().value;
    assert_eq!(list["tasks"][0]["due"], "2026-12-01");
    assert_eq!(list["tasks"][0]["notes"], "two photos");
    assert_eq!(list["tasks"][1]["status"], "open");
}

const FOREIGN: &str = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:gym\r\nDTSTART;TZID=Europe/Berlin:20261103T180000\r\nDTEND;TZID=Europe/Berlin:20261103T190000\r\nRRULE:FREQ=WEEKLY;BYDAY=TU,FR\r\nSUMMARY:Gym\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:trip\r\nDTSTART;VALUE=DATE:20261115\r\nDTEND;VALUE=DATE:20261118\r\nLOCATION:Rome\r\nDESCRIPTION:Train at 7\\nBring the tickets\r\nURL:https://example.org/trip\r\nATTENDEE:mailto:ann@example.org\r\nATTENDEE:mailto:tom@example.org\r\nSTATUS:TENTATIVE\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:bomb\r\nSUMMARY:Tick\r\nDTSTART:20261101T000000Z\r\nRRULE:FREQ=SECONDLY\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// GO-17, GO-18, GO-19, GO-20, GO-21: The output of every `cal` command.
#[tokio::test(start_paused = true)]
async fn calendar_commands_print_the_expected_text() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert_eq!(run(dir, &["cal", "today"]).await.unwrap().text, "no events");
    std::fs::write(dir.join("calendar.ics"), FOREIGN).unwrap();
    check(
        dir,
        &[
            &["cal", "today"],
            &["cal", "upcoming"],
            &["cal", "show", "trip"],
            &["cal", "show", "gym_20261120T170000Z"],
            &["cal", "update", "gym_20261120T170000Z", "--start", "2026-11-21T10:00"],
            &["cal", "delete", "gym_20261117T170000Z"],
            &["cal", "upcoming", "--days", "10"],
        ],
        expect![[r#"
            > cal today
              trip  2026-11-15  (all-day)     (no title)
            > cal upcoming
              trip  2026-11-15  (all-day)     (no title)
              gym_20261117T170000Z  2026-11-17  18:00-19:00  Gym
              gym_20261120T170000Z  2026-11-20  18:00-19:00  Gym
            > cal show trip
            title:       (no title)
            when:        2026-11-15 to 2026-11-17  (all-day)
            location:    Rome
            description: Train at 7
                         Bring the tickets
            link:        https://example.org/trip
            attendees:   ann@example.org, tom@example.org
            status:      tentative
            id:          trip
            > cal show gym_20261120T170000Z
            title:       Gym
            when:        2026-11-20  18:00-19:00
            status:      confirmed
            id:          gym_20261120T170000Z
            > cal update gym_20261120T170000Z --start 2026-11-21T10:00
            updated gym_20261120T170000Z
            > cal delete gym_20261117T170000Z
            deleted gym_20261117T170000Z
            > cal upcoming --days 10
              trip  2026-11-15  (all-day)     (no title)
              gym_20261120T170000Z  2026-11-21  10:00-11:00  Gym
              gym_20261124T170000Z  2026-11-24  18:00-19:00  Gym
        "#]],
    )
    .await;
    let told = run(dir, &["cal", "today"]).await.unwrap();
    assert_eq!(
        told.notes,
        ["`Tick`: it recurs SECONDLY, which i do not follow, so only its first time is shown."]
    );
    assert_eq!(told.value["left_out"], serde_json::json!(told.notes));
    assert_eq!(told.value["events"][0]["all_day"], true);
}

/// GO-20: Times are in the user's zone unless they have an offset, and may be given in words.
#[tokio::test(start_paused = true)]
async fn event_times_are_in_the_users_zone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let when = async |start: &str, end: &str| {
        let added = run(dir, &["cal", "add", "lunch", "with", "tom", "--start", start, "--end", end]).await;
        added.map(|told| {
            let event = &told.value["event"];
            assert_eq!(told.text, format!("created {}: lunch with tom", event["id"].as_str().unwrap()));
            format!("{} {}", event["start"].as_str().unwrap(), event["end"].as_str().unwrap())
        })
    };
    assert_eq!(
        when("2026-11-20T12:00", "2026-11-20T13:00").await.unwrap(),
        "2026-11-20T12:00:00+01:00 2026-11-20T13:00:00+01:00"
    );
    assert_eq!(
        when("2026-07-20T12:00Z", "2026-07-20T12:00:00-01:00").await.unwrap(),
        "2026-07-20T14:00:00+02:00 2026-07-20T15:00:00+02:00"
    );
    assert_eq!(
        when("tomorrow at 9", "tomorrow at 10:30").await.unwrap(),
        "2026-11-17T09:00:00+01:00 2026-11-17T10:30:00+01:00"
    );
    let refused = async |start: &str| when(start, "2026-11-20T13:00").await.unwrap_err();
    assert_eq!(
        refused("2026-11-20").await,
        AccountError::InvalidRequest(
            "`2026-11-20` is a day without a time. write it like 2026-11-20T09:00.".into()
        )
    );
    assert_eq!(
        refused("2026-11-31T09:00").await,
        AccountError::InvalidRequest("`2026-11-31T09:00` is no time. write it like 2026-11-20T09:00.".into())
    );
    assert_eq!(
        refused("when it rains").await,
        AccountError::InvalidRequest(
            "`when it rains` is no time that i know. write it like 2026-11-20T09:00.".into()
        )
    );
    assert_eq!(
        refused("every day at 9").await,
        AccountError::InvalidRequest(
            "`every day at 9` is no time that i know. write it like 2026-11-20T09:00.".into()
        )
    );
    assert_eq!(
        refused("2026-11-20T14:00").await,
        AccountError::InvalidRequest(
            "it would end (2026-11-20T13:00) before it begins (2026-11-20T14:00).".into()
        )
    );
}

/// A file that changed since it was read is not replaced, and the target of a symlink is replaced
/// in place.
#[test]
fn file_is_replaced_only_if_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (path, kept) = (dir.path().join("tasks.md"), elsewhere.path().join("mine.md"));
    std::fs::write(&kept, "mine").unwrap();
    std::os::unix::fs::symlink(&kept, &path).unwrap();
    let shelf = DataFileStore::new(Arc::new(RealDisk), &Paths::new(dir.path()));
    let exchange = |was: Option<&str>, new: &str| {
        shelf.replace_if_unchanged(&path, was.map(str::as_bytes), new.as_bytes()).unwrap()
    };
    assert_eq!(exchange(Some("yours"), "new"), ReplaceOutcome::Conflict);
    assert_eq!(exchange(Some(""), "new"), ReplaceOutcome::Conflict);
    assert_eq!(exchange(None, "new"), ReplaceOutcome::Conflict);
    assert_eq!(exchange(Some("mine"), "new"), ReplaceOutcome::Replaced);
    assert_eq!(std::fs::read(&kept).unwrap(), b"new");
}

/// A bare hour is interpreted with the user's quiet hours, as in the chat.
#[tokio::test(start_paused = true)]
async fn bare_hour_follows_the_users_quiet_hours() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let planned = async |line: &[&str]| run(dir, line).await.unwrap().value["event"]["start"].clone();
    let line = ["cal", "add", "walk", "--start", "tomorrow at 11", "--end", "tomorrow 23:59"];
    assert_eq!(planned(&line).await, "2026-11-17T11:00:00+01:00");
    std::fs::create_dir_all(dir.join("state")).unwrap();
    std::fs::write(dir.join("state/config.json"), r#"{"quiet":"4-12"}"#).unwrap();
    assert_eq!(planned(&line).await, "2026-11-17T23:00:00+01:00");
}
