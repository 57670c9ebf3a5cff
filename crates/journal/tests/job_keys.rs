//! The keys of job files for recurrence, missed and overlapping times, and pausing.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use domain::schedule::{
    FiringPolicy, MissedPolicy, Moment, OverlapPolicy, PauseState, Recurrence, RecurrenceRule, Reminder,
    Routine, Zone,
};
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use journal::files::items::Item;

fn zone() -> TimeZone {
    TimeZone::get("America/Los_Angeles").unwrap()
}

fn read<T: Item>(head: &str) -> Result<T, String> {
    T::read(&format!("---\n{head}\n---\n\nDo it.\n"), &zone()).map_err(|bad| bad.to_string())
}

/// Checks the error for a routine with `head`.
fn check_error(head: &str, said: Expect) {
    said.assert_eq(&read::<Routine>(head).err().unwrap());
}

/// SC-13, SC-18: the keys for missed and overlapping times and for pausing, in both spellings;
/// defaults are left out.
#[test]
fn missed_policy_and_pausing_are_read_and_written_back() {
    let text = "---\nid: \"x\"\ncron: \"0 9 * * *\"\nif-missed: \"if-within 2h\"\noverlap: \"queue\"\npaused: true\n---\nDo it.\n";
    let routine = Routine::read(text, &zone()).unwrap();
    let within = MissedPolicy::Within(jiff::SignedDuration::from_hours(2));
    let queue = FiringPolicy {
        if_missed: Some(within),
        overlap: OverlapPolicy::Queue,
        pause: PauseState::Indefinite,
    };
    assert_eq!(routine.firing_policy, queue);
    assert_eq!(routine.to_text(), text);

    let reminder: Reminder =
        read("id: x\nrun-at: 2026-03-05T09:00:00-08:00\nif_missed: skip\npaused: 2026-03-04 09:00").unwrap();
    let until = PauseState::Until(Moment::parse("2026-03-04T09:00:00-08:00", &TimeZone::UTC).unwrap());
    assert_eq!(
        reminder.firing_policy,
        FiringPolicy { if_missed: Some(MissedPolicy::Skip), pause: until, ..FiringPolicy::default() }
    );
    assert!(reminder.to_text().contains("if-missed: \"skip\"\npaused: \"2026-03-04T09:00:00-08:00\"\n---\n"));

    let usual: Routine = read("id: x\ncron: 0 9 * * *\noverlap: skip\npaused: false").unwrap();
    assert_eq!(usual.to_text(), "---\nid: \"x\"\ncron: \"0 9 * * *\"\n---\nDo it.\n");
}

/// DD-27: an error of these keys names the line, the key and a valid value.
#[test]
fn an_invalid_missed_policy_is_reported_with_a_fix() {
    let with = |line: &str| format!("id: x\ncron: 0 9 * * *\n{line}");
    check_error(
        &with("if-missed: later"),
        expect![[
            r#"line 4: `if-missed`: "later" does not say what becomes of a missed time; write `once`, `skip` or `if-within 2h`"#
        ]],
    );
    check_error(
        &with("overlap: both"),
        expect![[
            r#"line 4: `overlap`: "both" is not a way to deal with a run that goes on; write `skip` or `queue`"#
        ]],
    );
    check_error(
        &with("paused: soon"),
        expect![[
            r#"line 4: `paused`: "soon" does not say how long it rests; write `true`, or a time like `2026-03-05T14:00:00-08:00`"#
        ]],
    );
    check_error(
        &with("paused: [x]"),
        expect![
            "line 4: `paused`: expected string scalar; write `true`, or a time like `2026-03-05T14:00:00-08:00`"
        ],
    );
}

/// DD-36: a routine recurs by five fields or by a number of days, until a day, in a time zone.
#[test]
fn a_routine_recurs_by_fields_or_by_days() {
    let text = "---\nid: \"x\"\nevery: \"3 days\"\nfrom: \"2026-11-18T09:00:00\"\nuntil: \"2026-12-01\"\ntimezone: \"Asia/Tokyo\"\n---\nDo it.\n";
    let routine = Routine::read(text, &zone()).unwrap();
    let from = jiff::civil::date(2026, 11, 18).at(9, 0, 0, 0);
    let until = Some(jiff::civil::date(2026, 12, 1));
    let beat = RecurrenceRule::Days { every: 3, from };
    assert_eq!(
        routine.recurrence,
        Recurrence { rule: beat, until, zone: Some(Zone::named("Asia/Tokyo").unwrap()) }
    );
    assert_eq!(routine.to_text(), text);

    for (spelled, days) in [("1 day", 1), ("14 days", 14), ("2 weeks", 14), ("3d", 3), ("1w", 7)] {
        let read: Routine = read(&format!("id: x\nevery: {spelled}\nfrom: 2026-11-18 09:00")).unwrap();
        assert_eq!(read.recurrence.rule, RecurrenceRule::Days { every: days, from });
    }
    let cron: Routine = read("id: x\ncron: 0 9 * * *\nfrom: tom@example.org\nuntil: 2026-12-01").unwrap();
    assert_eq!(cron.recurrence.until, until);
}

/// DD-39: an error in the recurrence names the line, the key and a valid value.
#[test]
fn an_invalid_recurrence_is_reported_with_a_fix() {
    check_error(
        "id: x\ncron: 0 9 * * *\nevery: 3 days",
        expect!["line 4: `every`: cannot stand beside `cron`; keep one of the two"],
    );
    check_error(
        "id: x\nevery: 3 days",
        expect![
            "`from`: is missing, and `every` counts from it; write the first time like `2026-11-18T09:00`"
        ],
    );
    check_error(
        "id: x\nfrom: 2026-11-18T09:00\nevery: often",
        expect![[
            r#"line 4: `every`: "often" is not a number of days; write it like `3 days` or `2 weeks`, or `last friday of the month at 09:00`"#
        ]],
    );
    for none in ["0 days", "99999999999 days", "1000000000 weeks", "-1 days", "days", "1 month"] {
        let head = format!("id: x\nfrom: 2026-11-18T09:00\nevery: {none}");
        assert!(read::<Routine>(&head).err().unwrap().contains("`every`"), "{none}");
    }
    check_error(
        "id: x\nevery: 1 day\nfrom: soon",
        expect![[r#"line 4: `from`: "soon" is not a time; write the first time like `2026-11-18T09:00`"#]],
    );
    check_error(
        "id: x\nevery: 1 day\nfrom: 2026-11-18T09:00+01:00",
        expect![[
            r#"line 4: `from`: "2026-11-18T09:00+01:00" has a zone, which belongs into `timezone`; write the first time like `2026-11-18T09:00`"#
        ]],
    );
    check_error(
        "id: x\ncron: 0 9 * * *\nuntil: 2026-13-01",
        expect![[r#"line 4: `until`: "2026-13-01" is not a day; write the last one like `2026-12-01`"#]],
    );
    check_error(
        "id: x\ncron: 0 9 * * *\ntimezone: Mars/Olympus",
        expect![[
            r#"line 4: `timezone`: "Mars/Olympus" is not a zone; write its name, such as `Europe/Berlin` or `UTC`"#
        ]],
    );
}

/// DD-20, DD-27: a job without a text is an error.
#[test]
fn a_job_without_a_text_is_an_error() {
    for body in ["", "\n\n", "\n  ... --- !\n", "🙂\n"] {
        let head = "---\n# why\nid: x\ncron: 0 9 * * *\nrun-at: 2026-03-05T09:00:00-08:00\n---\n";
        let text = format!("{head}{body}");
        let said = "line 6: it is told to do nothing; write what to do under the second `---`";
        assert_eq!(Routine::read(&text, &zone()).unwrap_err().to_string(), said);
        assert_eq!(Reminder::read(&text, &zone()).unwrap_err().to_string(), said);
    }
    assert!(Routine::read("---\nid: x\ncron: 0 9 * * *\n---\n水\n", &zone()).is_ok());
}
