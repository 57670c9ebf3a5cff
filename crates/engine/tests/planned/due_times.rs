//! Due times: when a job starts, when it is too late, and when it is not due.

use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;

use crate::{dentist_reminder, mail_routine, read_in_request, story_at};

const NINE: &str = "cron: 0 9 * * *";

/// SC-14, SC-15: a routine runs in the background and a reminder on main, each when it is due.
#[test]
fn routine_runs_in_the_background_and_reminder_on_main() {
    let mut story = story_at("16T08:59");
    story.script([ModelOutcome::text("Nothing new."), ModelOutcome::text("Time to call the dentist.")]);
    story
        .write_file("routines/mail.md", &mail_routine(NINE))
        .write_file("reminders/call.md", &dentist_reminder("16T09:01", ""));
    story.advance_time("50s");
    assert_eq!(story.occurrences(), "", "nothing is due yet");
    story.advance_time("2m");
    expect![[r#"
        -- mon 08:59
        fork/e6984080> assistant: Nothing new.
        main> assistant: ⏰ call the dentist
        main> assistant: Time to call the dentist.
        -- mon 09:01
    "#]]
    .assert_eq(&story.transcript());
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:01:00 reminder:d1 try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert!(read_in_request(&story, 0).starts_with("[2026-11-16 Mon 09:00 AM CET] [routine-bg:mail] "));
    assert_eq!(read_in_request(&story, 1), "[2026-11-16 Mon 09:01 AM CET] [reminder:d1]\n\ncall the dentist");
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
    assert!(story.has_file("routines/mail.md"));
}

/// SC-13: up to a minute late counts as on time; later runs say so.
#[test]
fn one_minute_late_is_on_time() {
    for (asleep, late) in [("80s", false), ("2m", true)] {
        let mut story = story_at("16T08:59:29");
        story
            .write_file("routines/mail.md", &mail_routine(NINE))
            .advance_time("1s")
            .machine_sleeps(asleep)
            .advance_time("10s");
        let read = read_in_request(&story, 0);
        assert_eq!(read.contains("[late: was scheduled for 9:00 AM, running now]"), late, "{read}");
        assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
    }
}

/// SC-17, SC-18, SC-22: a reminder that became due while the program was off rings afterwards with
/// its due time.
#[test]
fn reminder_due_while_off_rings_late() {
    let mut story = story_at("16T08:59");
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:05", ""))
        .stop_for("2h")
        .advance_time("10s");
    assert_eq!(
        read_in_request(&story, 0),
        "[2026-11-16 Mon 10:59 AM CET] [reminder:d1]\n[late: was scheduled for 9:05 AM, running now]\n\ncall the dentist"
    );
    assert_eq!(story.occurrences(), "mon 09:05:00 reminder:d1 try 1 done");
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
    story.crash().advance_time("1m");
    assert_eq!(story.contexts().len(), 1, "and once");

    let mut story = story_at("16T08:59");
    story.write_file("reminders/call.md", &dentist_reminder("12T09:05", "")).advance_time("10s");
    assert!(
        read_in_request(&story, 0).contains("[late: was scheduled for 9:05 AM on 2026-11-12, running now]")
    );
}

/// SC-13, SC-18: occurrences that are too late are reported in one notice, and the text of a
/// reminder goes to the inbox.
#[test]
fn occurrences_missed_for_too_long_are_reported_once() {
    let mut story = story_at("16T08:00");
    story
        .write_file("routines/mail.md", &mail_routine(NINE))
        .write_file("reminders/call.md", &dentist_reminder("16T09:05", ""));
    story.write_file("routines/walk.md", "---\nid: walk\ncron: '30 12 * * *'\n---\nTime for a walk.\n");
    story.advance_time("1s").stop_for("8d 2h").advance_time("1m");
    expect![[r#"
        -- mon 08:00
        -- away for 194h
        notice> while i was away these times passed, and it is too late for them now:
        - call the dentist: mon 16 nov 09:05
        - Time for a walk.: 8 times, last mon 23 nov 12:30
        fork/953aeb70> assistant: (the model has no more lines)
        -- tue 10:01
    "#]]
    .assert_eq(&story.transcript());
    expect![[r#"
        mon 09:00:00 routine:mail try 0 missed: a later time of it was kept instead
        mon 09:05:00 reminder:d1 try 0 missed: it was too late when i could
        mon 12:30:00 routine:walk try 0 missed: it was too late when i could
        tue 09:00:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    expect!["1. call the dentist"].assert_eq(&story.inbox());
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
    story.crash().advance_time("1m");
    assert_eq!(story.transcript().matches("while i was away").count(), 1, "{}", story.transcript());
}

/// SC-13: the file sets how late its job may run; the default of a routine is half its period, at
/// most six hours.
#[test]
fn file_sets_how_late_its_job_may_run() {
    for (head, away, kept) in [
        ("", "5h 59m", true),
        ("", "6h 1m", false),
        ("if-missed: once", "30d", true),
        ("if-missed: skip", "2m", false),
        ("if-missed: skip", "50s", true),
        ("if-missed: if-within 2h", "119m", true),
        ("if-missed: if-within 2h", "121m", false),
    ] {
        let mut story = story_at("16T08:59:58");
        story.write_file("routines/mail.md", &mail_routine(&format!("cron: 0 9 16 11 *\n{head}")));
        story.advance_time("1s").stop_for(away).advance_time("20s");
        let ended = story.occurrences();
        assert_eq!(ended.contains("done"), kept, "{head} {away}: {ended}");
        assert_eq!(ended.contains("missed"), !kept, "{head} {away}: {ended}");
        assert_eq!(story.transcript().contains("while i was away"), !kept, "{head} {away}");
    }
}

/// SC-13: of several missed times only the last is run.
#[test]
fn missed_times_are_not_replayed_one_by_one() {
    let mut story = story_at("16T08:59");
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0 * * * *"))
        .advance_time("1s")
        .stop_for("5h 20m")
        .advance_time("10s");
    expect![[r#"
        mon 09:00:00 routine:mail try 0 missed: a later time of it was kept instead
        mon 14:00:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.contexts().len(), 1);
    assert!(!story.transcript().contains("while i was away"), "{}", story.transcript());
}

/// SC-12, A7: an occurrence during a run is skipped or queued, as the file says.
#[test]
fn running_job_does_not_start_again() {
    let mut story = story_at("16T08:59");
    story.script([ModelOutcome::hang("Reading"), ModelOutcome::text("Done.")]);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0-2 9 16 11 *"))
        .advance_time("4m")
        .crash()
        .advance_time("10s");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:01:00 routine:mail try 0 skipped: the one before it was still being done
        mon 09:02:00 routine:mail try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());

    let mut story = story_at("16T08:59");
    story.script([
        ModelOutcome::hang("Reading"),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Done again."),
    ]);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0-2 9 16 11 *\noverlap: queue"))
        .advance_time("4m");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 running
        mon 09:01:00 routine:mail try 0 queued
        mon 09:02:00 routine:mail try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());
    story.crash().advance_time("10s");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:01:00 routine:mail try 1 done
        mon 09:02:00 routine:mail try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());
}

/// A7: a job that waits for a retry counts as running.
#[test]
fn retried_job_does_not_start_twice() {
    let mut story = story_at("16T08:59");
    story.script([ModelOutcome::fail(Failure::VendorError("500".to_owned())), ModelOutcome::text("Done.")]);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0-1 9 16 11 *\noverlap: queue"))
        .advance_time("3m");
    expect![[r#"
        mon 09:00:00 routine:mail try 2 done
        mon 09:01:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
}

#[test]
fn paused_job_does_nothing_until_resumed() {
    let every_minute = "cron: '* * * * *'";
    let mut story = story_at("16T08:59:50");
    story.write_file("routines/mail.md", &mail_routine(&format!("{every_minute}\npaused: true")));
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "paused: true")).advance_time("3m");
    assert_eq!(story.occurrences(), "");
    story
        .write_file("routines/mail.md", &mail_routine(every_minute))
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.advance_time("30s");
    expect![[r#"
        mon 09:00:00 reminder:d1 try 1 done
        mon 09:03:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());

    let mut story = story_at("16T08:59:50");
    let until = "paused: 2026-11-16T09:02:00+01:00";
    story.write_file("routines/mail.md", &mail_routine(&format!("{every_minute}\n{until}")));
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", until)).advance_time("2m 40s");
    expect![[r#"
        mon 09:00:00 reminder:d1 try 1 done
        mon 09:02:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.list_files("reminders"), Vec::<String>::new(), "it is done");
    story.crash().advance_time("10s");
    assert_eq!(story.contexts().len(), 2);
}

/// SC-3: an edit applies from then on, and the old time is dropped.
#[test]
fn an_edit_moves_the_next_time() {
    let mut story = story_at("16T08:59");
    story
        .write_file("routines/mail.md", &mail_routine(NINE))
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.advance_time("30s").write_file("routines/mail.md", &mail_routine("cron: 2 9 * * *"));
    story.write_file("reminders/call.md", &dentist_reminder("16T09:03", "")).advance_time("90s");
    assert_eq!(story.occurrences(), "");
    story.advance_time("3m");
    expect![[r#"
        mon 09:02:00 routine:mail try 1 done
        mon 09:03:00 reminder:d1 try 1 done"#]]
    .assert_eq(&story.occurrences());
    // Also for an edit while the program is off.
    let mut story = story_at("16T08:59");
    story.write_file("routines/mail.md", &mail_routine(NINE)).advance_time("1s").stop();
    story
        .write_file_unnoticed("routines/mail.md", &mail_routine("cron: 10 9 * * *"))
        .stop_for("5m")
        .advance_time("10s");
    assert_eq!(story.occurrences(), "");
    story.advance_time("7m");
    assert_eq!(story.occurrences(), "mon 09:10:00 routine:mail try 1 done");
}

/// SC-3: an edit does not affect a running job.
#[test]
fn an_edit_does_not_affect_a_running_job() {
    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::hang("Reading"), ModelOutcome::text("Done.")]);
    story.write_file("routines/mail.md", &mail_routine(NINE)).advance_time("20s");
    story.write_file("routines/mail.md", &mail_routine("cron: 5 9 * * *").replace("Triage", "Delete"));
    story.crash().advance_time("10s");
    assert!(read_in_request(&story, 1).contains("Triage my mail."), "{}", read_in_request(&story, 1));
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
}

/// SC-4: removing a file interrupts no run, and ends its retries and later occurrences.
#[test]
fn removed_file_interrupts_no_run() {
    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::hang("Reading"), ModelOutcome::text("Done.")]);
    story.write_file("routines/mail.md", &mail_routine("cron: '* * * * *'")).advance_time("20s");
    story.remove_file("routines/mail.md").advance_time("3m").crash().advance_time("10s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");

    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::fail(Failure::VendorError("500".to_owned()))]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", "background: true"))
        .advance_time("20s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 again");
    story.remove_file("reminders/call.md").advance_time("3m");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 cancelled: its file is gone");
    assert_eq!(story.contexts().len(), 1);
}

/// SC-5: an invalid file affects no other, is reported once, and its earlier plan stays.
#[test]
fn invalid_file_affects_no_other() {
    let mut story = story_at("16T08:58");
    story
        .write_file("routines/mail.md", &mail_routine(NINE))
        .write_file("routines/bad.md", "---\nid: bad\ncron: every day\n---\nx\n");
    story.write_file("reminders/call.md", "---\nid: d1\n").advance_time("60s");
    story.write_file("routines/mail.md", "---\nid: mail\ncron: 0 9\n---\nhalf\n").advance_time("2m");
    let told = story.transcript();
    let mut notices: Vec<&str> = told.lines().filter(|line| line.starts_with("notice>")).collect();
    notices.sort_unstable();
    expect![[r#"
        notice> reminders/call.md can't be used: the frontmatter has no end; put a line `---` between the settings and the words
        notice> routines/bad.md can't be used: line 3: `cron`: "every day" does not have five fields (2 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`
        notice> routines/mail.md can't be used: line 3: `cron`: "0 9" does not have five fields (2 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`"#]].assert_eq(&notices.join("\n"));
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
}

#[test]
fn two_files_with_one_id_are_one_job() {
    let mut story = story_at("16T08:59");
    story
        .write_file("routines/a.md", &mail_routine(NINE))
        .write_file("routines/b.md", &mail_routine("cron: 1 9 * * *"))
        .advance_time("3m");
    expect![[r#"
        notice> routines/b.md can't be used: `id`: `mail` is already the id of a.md, which comes first; give this one another id
        fork/e6984080> assistant: (the model has no more lines)
        -- mon 09:02
    "#]].assert_eq(&story.transcript());
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
}

#[test]
fn job_may_have_a_zone_an_end_date_or_an_interval_in_days() {
    let mut story = story_at("16T08:59");
    story.write_file(
        "routines/a.md",
        "---\nid: tokyo\ncron: 2 17 * * *\ntimezone: Asia/Tokyo\nbackground: true\n---\na\n",
    );
    story.write_file(
        "routines/b.md",
        "---\nid: ends\ncron: 0 9 * * *\nuntil: 2026-11-17\nbackground: true\n---\nb\n",
    );
    let third = "every: 3 days\nfrom: 2026-11-13T09:01";
    story.write_file("routines/c.md", &format!("---\nid: third\n{third}\nbackground: true\n---\nc\n"));
    for _ in 0..4 {
        story.advance_time("4m").machine_sleeps("23h 56m");
    }
    expect![[r#"
        mon 09:00:00 routine:ends try 1 done
        mon 09:01:00 routine:third try 1 done
        mon 09:02:00 routine:tokyo try 1 done
        tue 09:00:00 routine:ends try 1 done
        tue 09:02:00 routine:tokyo try 1 done
        wed 09:02:00 routine:tokyo try 1 done
        thu 09:01:00 routine:third try 1 done
        thu 09:02:00 routine:tokyo try 1 done"#]]
    .assert_eq(&story.occurrences());
}
