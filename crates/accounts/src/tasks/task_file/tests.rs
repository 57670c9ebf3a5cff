//! Tests of parsing and editing task files.

use expect_test::{Expect, expect};
use jiff::civil::date;
use proptest::prelude::*;

use super::*;

const BY_HAND: &str = "\
# My list

Some words of mine.

- [ ] call the dentist (due 2026-11-20) ^tooth
  ask for the invoice

  and for a later hour
- [ ] buy milk
* [x] pay rent ^rent

```
- [ ] this is only an example
```

  - [ ] a task further in
- [?] no box of ours
- [ ]glued
";

fn format_tasks(page: &TaskFile<'_>) -> String {
    let line = |task: Task| {
        let due = task.due.map_or_else(|| "-".to_owned(), |due| due.to_string());
        let notes = task.notes.map(|notes| format!(" / {}", notes.replace('\n', " | "))).unwrap_or_default();
        format!("{} {due} {:?} {}{notes}\n", task.id, task.state, task.title)
    };
    page.tasks().into_iter().map(line).collect()
}

fn check(page: &str, expected: Expect) {
    expected.assert_eq(page);
}

#[test]
fn handwritten_list_is_parsed() {
    expect![[r"
        tooth 2026-11-20 Open call the dentist / ask for the invoice |  | and for a later hour
        vvahm - Open buy milk
        rent - Done pay rent
        sff9m - Open a task further in
    "]]
    .assert_eq(&format_tasks(&TaskFile::parse(BY_HAND.as_bytes())));
}

#[test]
fn missing_ids_are_added_without_other_changes() {
    let named = String::from_utf8(TaskFile::parse(BY_HAND.as_bytes()).with_ids().unwrap()).unwrap();
    let marked = ["- [ ] buy milk ^vvahm\n", "  - [ ] a task further in ^sff9m\n"];
    assert_eq!(
        named,
        BY_HAND.replace("- [ ] buy milk\n", marked[0]).replace("  - [ ] a task further in\n", marked[1])
    );
    assert_eq!(TaskFile::parse(named.as_bytes()).with_ids(), None, "once is enough");
    assert_eq!(
        format_tasks(&TaskFile::parse(named.as_bytes())),
        format_tasks(&TaskFile::parse(BY_HAND.as_bytes()))
    );
}

#[test]
fn copied_id_is_replaced() {
    let page = TaskFile::parse(b"- [ ] one ^a\r\n- [ ] two ^a\r\n- [ ] two\r\n");
    let named = String::from_utf8(page.with_ids().unwrap()).unwrap();
    check(
        &named.replace('\r', "\\r"),
        expect![[r#"
            - [ ] one ^a\r
            - [ ] two ^fkqpn\r
            - [ ] two ^c9nna\r
        "#]],
    );
}

#[test]
fn new_task_is_inserted_after_the_last_open_one() {
    let new = TaskChange {
        title: Some("water\nthe plants".into()),
        due: Some(date(2026, 11, 21)),
        notes: Some("twice".into()),
    };
    let (bytes, task) = TaskFile::parse(b"# Open\n- [ ] one ^a\n  - [x] part ^p\n\n# Done\n- [x] two ^b\n")
        .add(&new)
        .unwrap();
    check(
        &String::from_utf8(bytes).unwrap(),
        expect![[r#"
            # Open
            - [ ] one ^a
              - [x] part ^p
            - [ ] water the plants (due 2026-11-21) ^ax5hv
              twice

            # Done
            - [x] two ^b
        "#]],
    );
    assert_eq!((task.title.as_str(), task.notes.as_deref()), ("water the plants", Some("twice")));
    let (first, _) = TaskFile::parse(b"").add(&new).unwrap();
    assert!(first.starts_with(b"# Tasks\n\n- [ ] water the plants"), "{first:?}");
    let (unended, _) = TaskFile::parse(b"- [ ] one ^a").add(&new).unwrap();
    assert!(unended.starts_with(b"- [ ] one ^a\n- [ ] water"), "{unended:?}");
}

#[test]
fn task_is_edited_in_place() {
    let page = TaskFile::parse(BY_HAND.as_bytes());
    let (done, task) = page.complete("tooth").unwrap();
    assert_eq!(task.state, TaskState::Done);
    let done = String::from_utf8(done).unwrap();
    assert_eq!(done, BY_HAND.replacen("- [ ] call", "- [x] call", 1));

    let change =
        TaskChange { due: Some(date(2027, 1, 2)), notes: Some("- [ ] no task\n\\x".into()), title: None };
    let (changed, task) = page.update("tooth", &change).unwrap();
    assert_eq!(task.notes.as_deref(), Some("- [ ] no task\n\\x"));
    let changed = String::from_utf8(changed).unwrap();
    assert!(
        changed.contains(
            "- [ ] call the dentist (due 2027-01-02) ^tooth\n  \\- [ ] no task\n  \\\\x\n- [ ] buy milk"
        ),
        "{changed}"
    );

    let (left, _) = page.delete("tooth").unwrap();
    let left = String::from_utf8(left).unwrap();
    let gone =
        "- [ ] call the dentist (due 2026-11-20) ^tooth\n  ask for the invoice\n\n  and for a later hour\n";
    assert_eq!(left, BY_HAND.replace(gone, ""));
    let missing = page.complete("nobody").unwrap_err();
    assert_eq!(
        missing.to_string(),
        "there is no task `nobody`. `ollim-bot tasks list --all` shows their ids."
    );
}

#[test]
fn one_bad_line_affects_only_itself() {
    let page = TaskFile::parse(
        b"- [ ] caf\xe9 (due 2026-02-30) ^a\n- [ ] fine ^b\n```\n- [ ] after a fence that nobody closes ^c\n",
    );
    let titles: Vec<_> = page.tasks().into_iter().map(|task| (task.title, task.due)).collect();
    assert_eq!(titles[0], ("caf\u{e9} (due 2026-02-30)".to_owned(), None));
    assert_eq!(titles.len(), 3);
    let (done, _) = page.complete("a").unwrap();
    assert!(done.starts_with(b"- [x] caf\xe9 (due 2026-02-30) ^a\n"), "its bytes stay");
    let empty = TaskFile::parse(b"")
        .add(&TaskChange { title: Some(" \n".into()), ..TaskChange::default() })
        .unwrap_err();
    assert_eq!(empty.to_string(), "a task needs a title: say what is to be done.");
}

fn task_files() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "- \\[[ x]\\] [a-z^() -]{0,12}",
        "[ \t]{0,4}[-*+] \\[ \\] [a-z ]{0,8}( \\(due 2026-1[0-3]-20\\))?( \\^[a-c])?",
        "[ \t]{0,6}[a-z`~#\\\\]{0,5}",
        Just("```".to_owned()),
        ".{0,12}",
    ];
    let line = (line, prop_oneof!["\n", "\r\n", "\n\n"]).prop_map(|(line, end)| (line + &end).into_bytes());
    let junk = proptest::collection::vec(any::<u8>(), 0..20);
    proptest::collection::vec(prop_oneof![4 => line.boxed(), 1 => junk.boxed()], 0..12)
        .prop_map(|all| all.concat())
}

fn lines_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end().to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// An added task is parsed back, and all existing lines stay in order.
    #[test]
    fn added_task_is_parsed_back_and_nothing_is_lost(
        page in task_files(),
        title in "\\PC{1,20}",
        notes in proptest::option::of("(\\PC{0,10}\n){0,3}"),
        due in proptest::option::of(1_i8..28),
    ) {
        let page = TaskFile::parse(&page);
        let due = due.map(|day| date(2026, 11, day));
        let Ok((bytes, task)) = page.add(&TaskChange { title: Some(title), due, notes }) else { return Ok(()) };
        let after = TaskFile::parse(&bytes);
        prop_assert_eq!(after.tasks().into_iter().find(|kept| kept.id == task.id), Some(task.clone()));
        prop_assert_eq!(after.tasks().len(), page.tasks().len() + 1);
        prop_assert!(due.is_none() || task.due == due);
        let (left, _) = after.delete(&task.id).unwrap();
        let left = lines_of(&left);
        let before = lines_of(page.bytes);
        let same = before.iter().zip(&left).all(|(a, b)| a == b) || page.bytes.is_empty();
        prop_assert!(same, "{:?} {:?}", before, left);
    }

    /// Completing a task changes only its mark and id.
    #[test]
    fn completing_changes_only_mark_and_id(page in task_files()) {
        let read = TaskFile::parse(&page);
        for task in read.tasks() {
            let (bytes, done) = read.complete(&task.id).unwrap();
            prop_assert_eq!(done.state, TaskState::Done);
            prop_assert_eq!(&done.title, &task.title);
            let was = lines_of(&page);
            let now = lines_of(&bytes);
            let changed = was.iter().zip(&now).filter(|(a, b)| a != b).count();
            prop_assert!(was.len() == now.len() && changed <= 1);
        }
        let named = read.with_ids().unwrap_or_else(|| page.clone());
        let ids = |page: &TaskFile<'_>| page.tasks().into_iter().map(|task| task.id).collect::<Vec<_>>();
        prop_assert_eq!(ids(&TaskFile::parse(&named)), ids(&read));
        prop_assert_eq!(TaskFile::parse(&named).with_ids(), None);
    }
}
