//! Due times: when a job starts, when it is too late, and when it is not due.

use domain::failure::Failure;
use expect_test::expect;
use testkit::puppet::Line;

use crate::{at, dentist, mail, read};

const NINE: &str = "cron: 0 9 * * *";

/// SC-14, SC-15: a routine runs in the background and a reminder on main, each when it is due.
#[test]
fn a_routine_runs_in_the_background_and_a_reminder_is_heard_on_main() {
    let mut story = at("16T08:59");
    story.model([Line::says("Nothing new."), Line::says("Time to call the dentist.")]);
    story.file("routines/mail.md", &mail(NINE)).file("reminders/call.md", &dentist("16T09:01", ""));
    story.passes("50s");
    assert_eq!(story.occurrences(), "", "nothing is due yet");
    story.passes("2m");
    expect![[r#"
        -- mon 08:59
        fork/e6984080> assistant: Nothing new.
        main> assistant: ⏰ call the dentist
        main> assistant: Time to call the dentist.
        -- mon 09:01
    "#]]
    .assert_eq(&story.told());
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:01:00 reminder:d1 try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert!(read(&story, 0).starts_with("[2026-11-16 Mon 09:00 AM CET] [routine-bg:mail] "));
    assert_eq!(read(&story, 1), "[2026-11-16 Mon 09:01 AM CET] [reminder:d1]\n\ncall the dentist");
    assert_eq!(story.files("reminders"), Vec::<String>::new());
    assert!(story.has_file("routines/mail.md"));
}

/// SC-13: up to a minute late counts as on time; later runs say so.
#[test]
fn a_minute_late_is_still_in_time() {
    for (asleep, late) in [("80s", false), ("2m", true)] {
        let mut story = at("16T08:59:29");
        story.file("routines/mail.md", &mail(NINE)).passes("1s").sleeps(asleep).passes("10s");
        let read = read(&story, 0);
        assert_eq!(read.contains("[late: was scheduled for 9:00 AM, running now]"), late, "{read}");
        assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
    }
}

/// SC-17, SC-18, SC-22: a reminder that became due while the program was off rings afterwards with
/// its due time.
#[test]
fn a_reminder_that_was_due_while_nobody_was_there_is_heard_late() {
    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("16T09:05", "")).away("2h").passes("10s");
    assert_eq!(
        read(&story, 0),
        "[2026-11-16 Mon 10:59 AM CET] [reminder:d1]\n[late: was scheduled for 9:05 AM, running now]\n\ncall the dentist"
    );
    assert_eq!(story.occurrences(), "mon 09:05:00 reminder:d1 try 1 done");
    assert_eq!(story.files("reminders"), Vec::<String>::new());
    story.crash().passes("1m");
    assert_eq!(story.contexts().len(), 1, "and once");

    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("12T09:05", "")).passes("10s");
    assert!(read(&story, 0).contains("[late: was scheduled for 9:05 AM on 2026-11-12, running now]"));
}

/// SC-13, SC-18: occurrences that are too late are reported in one notice, and the text of a
/// reminder goes to the inbox.
#[test]
fn what_was_missed_for_too_long_is_told_once() {
    let mut story = at("16T08:00");
    story.file("routines/mail.md", &mail(NINE)).file("reminders/call.md", &dentist("16T09:05", ""));
    story.file("routines/walk.md", "---\nid: walk\ncron: '30 12 * * *'\n---\nTime for a walk.\n");
    story.passes("1s").away("8d 2h").passes("1m");
    expect![[r#"
        -- mon 08:00
        -- away for 194h
        notice> while i was away these times passed, and it is too late for them now:
        - call the dentist: mon 16 nov 09:05
        - Time for a walk.: 8 times, last mon 23 nov 12:30
        fork/953aeb70> assistant: (the model has no more lines)
        -- tue 10:01
    "#]]
    .assert_eq(&story.told());
    expect![[r#"
        mon 09:00:00 routine:mail try 0 missed: a later time of it was kept instead
        mon 09:05:00 reminder:d1 try 0 missed: it was too late when i could
        mon 12:30:00 routine:walk try 0 missed: it was too late when i could
        tue 09:00:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    expect!["1. call the dentist"].assert_eq(&story.inbox());
    assert_eq!(story.files("reminders"), Vec::<String>::new());
    story.crash().passes("1m");
    assert_eq!(story.told().matches("while i was away").count(), 1, "{}", story.told());
}

/// SC-13: the file sets how late its job may run; the default of a routine is half its period, at
/// most six hours.
#[test]
fn a_file_says_how_late_its_job_may_be() {
    for (head, away, kept) in [
        ("", "5h 59m", true),
        ("", "6h 1m", false),
        ("if-missed: once", "30d", true),
        ("if-missed: skip", "2m", false),
        ("if-missed: skip", "50s", true),
        ("if-missed: if-within 2h", "119m", true),
        ("if-missed: if-within 2h", "121m", false),
    ] {
        let mut story = at("16T08:59:58");
        story.file("routines/mail.md", &mail(&format!("cron: 0 9 16 11 *\n{head}")));
        story.passes("1s").away(away).passes("20s");
        let ended = story.occurrences();
        assert_eq!(ended.contains("done"), kept, "{head} {away}: {ended}");
        assert_eq!(ended.contains("missed"), !kept, "{head} {away}: {ended}");
        assert_eq!(story.told().contains("while i was away"), !kept, "{head} {away}");
    }
}

/// SC-13: of several missed times only the last is run.
#[test]
fn several_missed_times_are_never_replayed_one_by_one() {
    let mut story = at("16T08:59");
    story.file("routines/mail.md", &mail("cron: 0 * * * *")).passes("1s").away("5h 20m").passes("10s");
    expect![[r#"
        mon 09:00:00 routine:mail try 0 missed: a later time of it was kept instead
        mon 14:00:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.contexts().len(), 1);
    assert!(!story.told().contains("while i was away"), "{}", story.told());
}

/// SC-12, A7: an occurrence during a run is skipped or queued, as the file says.
#[test]
fn a_job_that_is_still_being_done_does_not_begin_again() {
    let mut story = at("16T08:59");
    story.model([Line::holds("Reading"), Line::says("Done.")]);
    story.file("routines/mail.md", &mail("cron: 0-2 9 16 11 *")).passes("4m").crash().passes("10s");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:01:00 routine:mail try 0 skipped: the one before it was still being done
        mon 09:02:00 routine:mail try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());

    let mut story = at("16T08:59");
    story.model([Line::holds("Reading"), Line::says("Done."), Line::says("Done again.")]);
    story.file("routines/mail.md", &mail("cron: 0-2 9 16 11 *\noverlap: queue")).passes("4m");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 running
        mon 09:01:00 routine:mail try 0 queued
        mon 09:02:00 routine:mail try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());
    story.crash().passes("10s");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:01:00 routine:mail try 1 done
        mon 09:02:00 routine:mail try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());
}

/// A7: a job that waits for a retry counts as running.
#[test]
fn a_job_that_is_tried_again_does_not_begin_twice() {
    let mut story = at("16T08:59");
    story.model([Line::fails(Failure::Broken("500".to_owned())), Line::says("Done.")]);
    story.file("routines/mail.md", &mail("cron: 0-1 9 16 11 *\noverlap: queue")).passes("3m");
    expect![[r#"
        mon 09:00:00 routine:mail try 2 done
        mon 09:01:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
}

#[test]
fn a_job_that_rests_does_nothing_until_it_may_again() {
    let every_minute = "cron: '* * * * *'";
    let mut story = at("16T08:59:50");
    story.file("routines/mail.md", &mail(&format!("{every_minute}\npaused: true")));
    story.file("reminders/call.md", &dentist("16T09:00", "paused: true")).passes("3m");
    assert_eq!(story.occurrences(), "");
    story.file("routines/mail.md", &mail(every_minute)).file("reminders/call.md", &dentist("16T09:00", ""));
    story.passes("30s");
    expect![[r#"
        mon 09:00:00 reminder:d1 try 1 done
        mon 09:03:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());

    let mut story = at("16T08:59:50");
    let until = "paused: 2026-11-16T09:02:00+01:00";
    story.file("routines/mail.md", &mail(&format!("{every_minute}\n{until}")));
    story.file("reminders/call.md", &dentist("16T09:00", until)).passes("2m 40s");
    expect![[r#"
        mon 09:00:00 reminder:d1 try 1 done
        mon 09:02:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.files("reminders"), Vec::<String>::new(), "it is done");
    story.crash().passes("10s");
    assert_eq!(story.contexts().len(), 2);
}

/// SC-3: an edit applies from then on, and the old time is dropped.
#[test]
fn an_edit_moves_the_next_time() {
    let mut story = at("16T08:59");
    story.file("routines/mail.md", &mail(NINE)).file("reminders/call.md", &dentist("16T09:00", ""));
    story.passes("30s").file("routines/mail.md", &mail("cron: 2 9 * * *"));
    story.file("reminders/call.md", &dentist("16T09:03", "")).passes("90s");
    assert_eq!(story.occurrences(), "");
    story.passes("3m");
    expect![[r#"
        mon 09:02:00 routine:mail try 1 done
        mon 09:03:00 reminder:d1 try 1 done"#]]
    .assert_eq(&story.occurrences());
    // Also for an edit while the program is off.
    let mut story = at("16T08:59");
    story.file("routines/mail.md", &mail(NINE)).passes("1s").die();
    story.file_unseen("routines/mail.md", &mail("cron: 10 9 * * *")).away("5m").passes("10s");
    assert_eq!(story.occurrences(), "");
    story.passes("7m");
    assert_eq!(story.occurrences(), "mon 09:10:00 routine:mail try 1 done");
}

/// SC-3: an edit does not affect a running job.
#[test]
fn an_edit_leaves_what_is_being_done_as_it_was() {
    let mut story = at("16T08:59:50");
    story.model([Line::holds("Reading"), Line::says("Done.")]);
    story.file("routines/mail.md", &mail(NINE)).passes("20s");
    story.file("routines/mail.md", &mail("cron: 5 9 * * *").replace("Triage", "Delete"));
    story.crash().passes("10s");
    assert!(read(&story, 1).contains("Triage my mail."), "{}", read(&story, 1));
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
}

/// SC-4: removing a file interrupts no run, and ends its retries and later occurrences.
#[test]
fn a_file_that_is_removed_cuts_nothing_off() {
    let mut story = at("16T08:59:50");
    story.model([Line::holds("Reading"), Line::says("Done.")]);
    story.file("routines/mail.md", &mail("cron: '* * * * *'")).passes("20s");
    story.file_gone("routines/mail.md").passes("3m").crash().passes("10s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");

    let mut story = at("16T08:59:50");
    story.model([Line::fails(Failure::Broken("500".to_owned()))]);
    story.file("reminders/call.md", &dentist("16T09:00", "background: true")).passes("20s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 again");
    story.file_gone("reminders/call.md").passes("3m");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 cancelled: its file is gone");
    assert_eq!(story.contexts().len(), 1);
}

/// SC-5: an invalid file affects no other, is reported once, and its earlier plan stays.
#[test]
fn a_file_that_cannot_be_read_harms_nobody() {
    let mut story = at("16T08:58");
    story
        .file("routines/mail.md", &mail(NINE))
        .file("routines/bad.md", "---\nid: bad\ncron: every day\n---\nx\n");
    story.file("reminders/call.md", "---\nid: d1\n").passes("60s");
    story.file("routines/mail.md", "---\nid: mail\ncron: 0 9\n---\nhalf\n").passes("2m");
    let told = story.told();
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
    let mut story = at("16T08:59");
    story.file("routines/a.md", &mail(NINE)).file("routines/b.md", &mail("cron: 1 9 * * *")).passes("3m");
    expect![[r#"
        notice> routines/b.md can't be used: `id`: `mail` is already the id of a.md, which comes first; give this one another id
        fork/e6984080> assistant: (the model has no more lines)
        -- mon 09:02
    "#]].assert_eq(&story.told());
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
}

#[test]
fn a_job_may_live_in_another_zone_end_some_day_or_come_every_few_days() {
    let mut story = at("16T08:59");
    story.file(
        "routines/a.md",
        "---\nid: tokyo\ncron: 2 17 * * *\ntimezone: Asia/Tokyo\nbackground: true\n---\na\n",
    );
    story.file(
        "routines/b.md",
        "---\nid: ends\ncron: 0 9 * * *\nuntil: 2026-11-17\nbackground: true\n---\nb\n",
    );
    let third = "every: 3 days\nfrom: 2026-11-13T09:01";
    story.file("routines/c.md", &format!("---\nid: third\n{third}\nbackground: true\n---\nc\n"));
    for _ in 0..4 {
        story.passes("4m").sleeps("23h 56m");
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
