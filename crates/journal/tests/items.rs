//! Hand-written routines, reminders, webhooks and skills.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use std::path::Path;
use std::sync::Arc;

use domain::effort::Effort;
use domain::rng::Rng;
use domain::schedule::{
    Chain, Cron, InitialContext, ItemId, JobTarget, Moment, PingPermission, Prompt, Recurrence, Reminder,
    ReportMode, Routine, RunOptions, ThinkingOverride, ToolRule, WebhookAuth, WebhookSpec,
};
use expect_test::{Expect, expect};
use jiff::tz::TimeZone;
use journal::disk::Disk;
use journal::files::items::{Item, ItemDirectory};
use journal::files::skills::{self, SkillDirectory};
use journal::frontmatter::{Change, Value};
use testkit::disk::MemoryDisk;

fn zone() -> TimeZone {
    TimeZone::get("America/Los_Angeles").unwrap()
}

fn routines(disk: &Arc<MemoryDisk>) -> ItemDirectory<Routine> {
    ItemDirectory::new(disk.clone(), Path::new("/data"), zone())
}

fn routine(id: &str, words: &str) -> Routine {
    Routine::new(
        ItemId::parse(id).unwrap(),
        Recurrence::new(Cron::parse("0 9 * * 1-5").unwrap()),
        Prompt::new(words),
    )
}

fn read<T: Item>(head: &str) -> Result<T, String> {
    T::read(&format!("---\n{head}\n---\n\nDo it.\n"), &zone()).map_err(|bad| bad.to_string())
}

/// Checks the error for a file with `head`.
fn check_error<T: Item>(head: &str, said: Expect) {
    said.assert_eq(&read::<T>(head).err().unwrap());
}

/// DD-20, DD-22, DD-36: reading a routine, with hyphens or underscores in its keys.
#[test]
fn a_routine_is_read_and_written_back() {
    let text = "---\nid: \"a1b2c3d4\"\ncron: \"0 9 * * 1-5\"\nbackground: true\ndescription: \"Weekday market notes\"\n\
        session: \"persistent\"\n---\nUpdate your notes.\n\nKeep levels.\n";
    let routine = Routine::read(text, &zone()).unwrap();
    assert_eq!(routine.target, JobTarget::Persistent(RunOptions::default()));
    assert_eq!(routine.prompt.as_str(), "Update your notes.\n\nKeep levels.");
    assert_eq!(routine.to_text(), text);

    let spelled: Routine = read(
        "id: x\ncron: 0 9 * * *\nbackground: true\nisolated: true\nmodel: opus\nthinking: false\n\
         update_main_session: freely\nallow_ping: false\ndisallowed_tools: [Bash, 010]\nskills:\n- a\n- b",
    )
    .unwrap();
    let JobTarget::Isolated(terms) = &spelled.target else { panic!("{spelled:?}") };
    assert_eq!(
        (terms.report_policy.reporting, terms.report_policy.pings),
        (ReportMode::Freely, PingPermission::Never)
    );
    assert_eq!((terms.thinking, terms.model.as_ref().unwrap().as_str()), (ThinkingOverride::Off, "opus"));
    assert_eq!(terms.tools, ToolRule::Except(vec!["Bash".into(), "010".into()]));
    assert_eq!(spelled.skills, ["a", "b"]);
}

/// The three states of `thinking` and the effort are read and written back; the error for a wrong
/// effort lists the valid ones.
#[test]
fn thinking_and_effort_of_a_job_are_preserved() {
    let check = |lines: &str, thinking: ThinkingOverride, effort: Option<Effort>| {
        let text = format!("---\nid: \"x\"\ncron: \"0 9 * * *\"\nbackground: true\n{lines}---\nGo.\n");
        let routine = Routine::read(&text, &zone()).unwrap();
        let terms = routine.target.written_options();
        assert_eq!((terms.thinking, terms.effort), (thinking, effort), "{text}");
        assert_eq!(routine.to_text(), text);
    };
    check("", ThinkingOverride::Inherit, None);
    check("thinking: true\n", ThinkingOverride::On, None);
    check("thinking: false\neffort: \"xhigh\"\n", ThinkingOverride::Off, Some(Effort::Xhigh));
    for kind in [check_error::<Routine>, check_error::<Reminder>, check_error::<WebhookSpec>] {
        let said = expect![
            "line 6: `effort`: I don't understand `hard` as an effort. Use low, medium, high, xhigh or max."
        ];
        kind("id: x\ncron: 0 9 * * *\nrun-at: 2026-11-20T09:00\nfields: {type: object}\neffort: hard", said);
    }
}

/// DD-24: text is preserved as written, even if YAML would read it as another type.
#[test]
fn an_id_that_looks_like_a_number_is_preserved() {
    for id in ["12345678", "00123456", "1e234567", "true", "no", "2026-03-05", "0x10"] {
        assert_eq!(read::<Routine>(&format!("id: {id}\ncron: 0 9 * * *")).unwrap().id.as_str(), id);
    }
    let reminder: Reminder = read("id: x\nrun-at: 2026-03-05T09:00:00-08:00\ndescription: 010").unwrap();
    assert_eq!(reminder.run_at.to_string(), "2026-03-05T09:00:00-08:00");
    assert_eq!(reminder.description, "010");
}

/// DD-23: unknown keys are ignored, and the body is the message.
#[test]
fn unknown_keys_are_ignored() {
    let routine: Routine =
        read("id: x\ncron: 0 9 * * *\nmessage: no\nmood: {a: [b]}\nrun-at: 5\nname: [x]").unwrap();
    assert_eq!(routine.prompt.as_str(), "Do it.");
}

/// DD-27, DD-35, DD-37, DD-38, DD-39, DD-40, DD-41: an error names the line, the key and a valid
/// value.
#[test]
fn an_invalid_value_in_a_routine_is_reported_with_a_fix() {
    let with = |line: &str| format!("# mine\nid: x\ncron: 0 9 * * *\n{line}");
    check_error::<Routine>("cron: 0 9 * * *", expect!["`id`: is missing; it must be there and have a value"]);
    check_error::<Routine>(
        "id: x",
        expect![
            "`cron`: is missing, and so it never recurs; write five fields like `0 9 * * 1-5`, or `every: 3 days` and `from: 2026-11-18T09:00`"
        ],
    );
    check_error::<Routine>(
        "id: ../x\ncron: 0 9 * * *",
        expect![[
            r#"line 2: `id`: "../x" cannot be an id; use 1 to 64 letters, digits, `.`, `_` or `-`, starting with a letter or a digit and not ending in `.tmp`"#
        ]],
    );
    check_error::<Routine>(
        "id: x\ncron: 0 9 * *",
        expect![[
            r#"line 3: `cron`: "0 9 * *" does not have five fields (4 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`"#
        ]],
    );
    check_error::<Routine>(
        &with("background: yes"),
        expect![
            "line 5: `background`: invalid boolean (strict mode expects true/false); write `true` or `false`"
        ],
    );
    check_error::<Routine>(
        &with("session: weekly\nbackground: true"),
        expect![[
            r#"line 5: `session`: "weekly" is not a kind of session; write `persistent`, or leave the line out"#
        ]],
    );
    check_error::<Routine>(
        &with("session: persistent"),
        expect!["line 5: `session`: `persistent` needs `background: true`; a job in main has main's session"],
    );
    check_error::<Routine>(
        &with("isolated: true\nbackground: true\nsession: persistent"),
        expect![
            "line 7: `session`: `persistent` cannot stand beside `isolated: true`; leave one of them out"
        ],
    );
    check_error::<Routine>(
        &with("allowed-tools: [a]\ndisallowed-tools: [b]"),
        expect!["line 6: `disallowed-tools`: cannot stand beside `allowed-tools`; keep one of the two lists"],
    );
    check_error::<Routine>(
        &with("update-main-session: loudly"),
        expect![[
            r#"line 5: `update-main-session`: "loudly" is not a way to report; write `always`, `on_ping`, `freely` or `blocked`"#
        ]],
    );
}

/// DD-27: errors of YAML syntax are reported in the same way.
#[test]
fn invalid_yaml_is_reported_with_a_fix() {
    let with = |line: &str| format!("# mine\nid: x\ncron: 0 9 * * *\n{line}");
    check_error::<Routine>(
        &with("skills: one"),
        expect![[
            r#"line 5: `skills`: expected sequence start; write a list, each item on a line like `  - "name"`"#
        ]],
    );
    check_error::<Routine>(
        &with("description: \"open"),
        expect![
            "line 6: `description`: invalid indentation in multiline quoted scalar; write words in double quotes"
        ],
    );
    check_error::<Routine>("- a\n- b", expect!["line 2: expected mapping start"]);
    check_error::<Routine>("id: x\nid: y", expect!["line 3: `id`: it is there twice; keep one of them"]);
}

/// DD-42, DD-46, DD-47: reading a reminder; a time without an offset is local.
#[test]
fn a_reminder_is_read_and_written_back() {
    let text = "---\nid: \"c4f5e6a7\"\nrun-at: \"2026-03-05T14:00:00-08:00\"\nbackground: true\nchain-depth: 1\n\
        max-chain: 3\nchain-parent: \"b0b1b2b3\"\nallowed-tools:\n  - \"Bash(ollim-bot tasks *)\"\n---\nCheck it.\n";
    let reminder = Reminder::read(text, &zone()).unwrap();
    assert_eq!(reminder.chain, Chain { depth: 1, max: 3, parent: Some("b0b1b2b3".into()) });
    assert_eq!(reminder.to_text(), text);

    let local: Reminder = read("id: x\nrun_at: 2026-07-05 14:00\nsession: persistent").unwrap();
    assert_eq!(local.run_at.to_string(), "2026-07-05T14:00:00-07:00");
    check_error::<Reminder>(
        "id: x\nrun-at: tomorrow",
        expect![[r#"line 3: `run-at`: "tomorrow" is not a time; write it like `2026-03-05T14:00:00-08:00`"#]],
    );
    check_error::<Reminder>(
        "id: x\nrun-at: 2026-03-05\nmax-chain: many",
        expect!["line 4: `max-chain`: invalid u32; write a whole number like `0` or `3`"],
    );
}

/// WH-3, WH-10: a webhook file defines authentication, picked values and direct delivery;
/// contradictions are reported.
#[test]
fn a_webhook_defines_authentication_and_values() {
    let text = "---\nid: \"gh\"\nfields: {}\nauth: \"github\"\npick: {\"repo\":\"/repository/full_name\"}\nmax-bytes: 65536\n\
        deliver: \"{repo} was pushed\"\n---\n\n";
    let webhook = WebhookSpec::read(text, &zone()).unwrap();
    assert_eq!(webhook.intake.auth, WebhookAuth::GitHub);
    assert_eq!(webhook.intake.size_limit(), 65_536);
    assert_eq!(webhook.active_template(), "{repo} was pushed");
    assert_eq!(webhook.to_text(), text);
    let wrong = |head: &str, said: &str| {
        let told = read::<WebhookSpec>(&format!("id: x\nfields: {{}}\n{head}")).unwrap_err();
        assert!(told.contains(said), "{told}");
    };
    wrong("auth: magic", "`auth`: \"magic\" is unknown; write `bearer`, `standard` or `github`");
    wrong("max-bytes: 65537", "`max-bytes`: 65537 is not possible; write a number from 1 to 65536");
    wrong(
        "pick: {a: b}",
        "`pick`: \"b\" of `a` is no place in a call; write it like `/repository/full_name`",
    );
    wrong("deliver: x", "`deliver`: cannot stand beside an instruction; keep `deliver` and no text below");
}

/// DD-48: a webhook contains a schema, which is preserved.
#[test]
fn a_webhook_is_read_with_its_schema() {
    let head = "id: gate\nfields:\n  type: object\n  required: [who]\n  properties: {who: {type: string, maxLength: 40}}\nisolated: true";
    let webhook: WebhookSpec = read(head).unwrap();
    let schema =
        r#"{"properties":{"who":{"maxLength":40,"type":"string"}},"required":["who"],"type":"object"}"#;
    assert_eq!((webhook.fields.as_str(), webhook.context), (schema, InitialContext::PromptOnly));
    assert_eq!(WebhookSpec::read(&webhook.to_text(), &zone()), Ok(webhook));
    check_error::<WebhookSpec>(
        "id: gate",
        expect!["`fields`: is missing; it must be there and have a value"],
    );
    check_error::<WebhookSpec>(
        "id: gate\nfields: [a]",
        expect!["line 3: `fields`: expected mapping start; write a mapping, which is a JSON Schema"],
    );
}

/// DD-3, DD-10, DD-26, DD-27, DD-34, B10: files are listed by name; invalid ones are reported and
/// do not affect others.
#[test]
fn an_invalid_file_is_reported_and_all_others_are_read() {
    let disk = Arc::new(MemoryDisk::default());
    assert!(routines(&disk).list().unwrap().items.is_empty());
    let good = |id: &str| format!("---\nid: {id}\ncron: 0 9 * * *\n---\nx\n");
    for (name, text) in
        [("b.md", good("two")), ("a.md", good("one")), ("c.md", good("one")), ("d.md", good("a/b"))]
    {
        disk.put(format!("/data/routines/{name}"), text.as_bytes());
    }
    disk.put("/data/routines/e.md", b"");
    disk.put("/data/routines/f.md", b"---\nid: f\xff\n---\n");
    disk.put(
        "/data/routines/g.md",
        &[b"---\nid: g\ncron: 0 9 * * *\n---\n".as_slice(), &vec![b'x'; 50 << 20]].concat(),
    );
    disk.put("/data/routines/h.md/inner.md", good("inner").as_bytes());
    disk.put("/data/routines/i.md.0.tmp", b"half");
    disk.put("/data/routines/j.txt", b"not ours");
    let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
        d: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\nid: k\ncron: 0 9 * * *\n---\n";
    disk.put("/data/routines/k.md", bomb.as_bytes());

    let listing = routines(&disk).list().unwrap();
    let ids: Vec<&str> = listing.items.iter().map(|filed| filed.item.id.as_str()).collect();
    assert_eq!(ids, ["one", "two"]);
    let bad: Vec<String> = listing.bad.iter().map(ToString::to_string).collect();
    expect![[r#"
        /data/routines/c.md: `id`: `one` is already the id of a.md, which comes first; give this one another id
        /data/routines/d.md: line 2: `id`: "a/b" cannot be an id; use 1 to 64 letters, digits, `.`, `_` or `-`, starting with a letter or a digit and not ending in `.tmp`
        /data/routines/e.md: line 1: there is no frontmatter; the first line must be `---`, then the settings, then `---`
        /data/routines/f.md: it is not text; save it as UTF-8
        /data/routines/g.md: it is larger than 1 MB; a file like this holds a few pages
        /data/routines/h.md: it is a directory; only files are read
        /data/routines/k.md: line 5: `d`: there is too much in it; settings are a few lines"#]]
    .assert_eq(&bad.join("\n"));
}

/// DD-5, DD-29, DD-30, DD-31, DD-33: a file is named after its text and never replaces a foreign
/// file.
#[test]
fn a_new_file_is_named_after_its_text() {
    let disk = Arc::new(MemoryDisk::default());
    let mut routines = routines(&disk);
    disk.put("/data/routines/check-the-mail-2.md", b"somebody's notes");
    let mut add = |id: &str, words: &str| {
        let path = routines.add_or_replace(&routine(id, words)).unwrap();
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(add("a", "Check the mail."), "check-the-mail.md");
    assert_eq!(add("b", "Check the mail!"), "check-the-mail-3.md");
    assert_eq!(add("a", "check THE mail"), "check-the-mail.md");
    assert_eq!(add("c", "🙂"), "c.md");
    assert_eq!(disk.read(Path::new("/data/routines/check-the-mail-2.md")).unwrap(), b"somebody's notes");
    assert!(disk.files().keys().all(|path| path.extension().is_none_or(|end| end != "tmp")));
}

/// DD-32, DD-33: a file is found by its id despite corrupt files, even if its own cron is invalid.
#[test]
fn a_file_is_found_by_its_id_despite_corrupt_files() {
    let disk = Arc::new(MemoryDisk::default());
    disk.put("/data/routines/a.md", b"\xff\xff");
    disk.put("/data/routines/b.md", b"---\nid: [\n---\n");
    disk.put("/data/routines/c.md", b"---\nid: 00123456\ncron: never\n---\n");
    let mut routines = routines(&disk);
    let path = Path::new("/data/routines/c.md");
    assert_eq!(routines.find("123456").unwrap(), None);
    assert_eq!(routines.find("00123456").unwrap().as_deref(), Some(path));
    routines.remove(path).unwrap();
    assert_eq!(routines.find("00123456").unwrap(), None);
    assert_eq!(disk.files().len(), 2);
}

/// SC-19: a file is found where it was last seen or where the user moved it; another file in its
/// place is not touched.
#[test]
fn a_file_is_searched_first_where_it_was_last_seen() {
    let disk = Arc::new(MemoryDisk::default());
    disk.put("/data/routines/a.md", b"---\nid: mail\n---\n");
    disk.put("/data/routines/b.md", b"---\nid: mail\n---\n");
    disk.put("/data/routines/c.md", b"---\nid: tea\n---\n");
    let routines = routines(&disk);
    let locate = |seen: Option<&str>| routines.locate("mail", seen).unwrap().unwrap();
    assert_eq!(locate(Some("routines/b.md")), Path::new("/data/routines/b.md"));
    assert_eq!(locate(Some("routines/c.md")), Path::new("/data/routines/a.md"));
    assert_eq!(locate(Some("../routines/gone.md")), Path::new("/data/routines/a.md"));
    assert_eq!(locate(None), Path::new("/data/routines/a.md"));
}

/// B9, DD-25: a hand-written file keeps its comments and unknown keys; a change that makes it
/// invalid is refused.
#[test]
fn one_key_of_a_hand_written_file_changes_and_the_rest_is_preserved() {
    let disk = Arc::new(MemoryDisk::default());
    let text = "---\n# at nine\nid: mail # mine\ncron: 0 9 * * *\nmood: calm\n---\n\n  Triage.  \n";
    disk.put("/data/routines/any name.md", text.as_bytes());
    let mut routines = routines(&disk);
    let cron = |text: &str| Change::Set(Value::Text(text.to_owned()));
    let path = routines.edit("mail", "cron", &cron("30 8 * * *")).unwrap().unwrap();
    let after = String::from_utf8(disk.read(&path).unwrap()).unwrap();
    assert_eq!(after, text.replace("cron: 0 9 * * *", "cron: \"30 8 * * *\""));
    let refused = routines.edit("mail", "cron", &cron("never")).unwrap_err().to_string();
    assert!(refused.contains("any name.md") && refused.contains("five fields"), "{refused}");
    assert_eq!(String::from_utf8(disk.read(&path).unwrap()).unwrap(), after);
    assert_eq!(routines.edit("other", "cron", &cron("30 8 * * *")).unwrap(), None);
}

/// DD-49: `allowed-tools` is a string with spaces or commas, or a list; other keys of the format
/// are preserved.
#[test]
fn skills_of_the_public_format_are_read_and_written_back() {
    let read = |head: &str| {
        skills::parse(&format!("---\nname: a-b\ndescription: Does x.\n{head}\n---\nDo.\n")).unwrap()
    };
    let tools = |head: &str| read(head).allowed_tools.unwrap();
    let expected = ["Bash(git add:*)", "Bash(jq:*)", "Read"];
    assert_eq!(tools("allowed-tools: Bash(git add:*) Bash(jq:*) Read"), expected);
    assert_eq!(tools("allowed-tools: \"Bash(git add:*), Bash(jq:*), Read\""), expected);
    assert_eq!(tools("allowed-tools: [\"Bash(git add:*)\", \"Bash(jq:*)\", Read]"), expected);
    assert_eq!(tools("allowed_tools:\n- Bash(git add:*)\n- Bash(jq:*)\n- Read"), expected);
    assert_eq!(read("allowed-tools:").allowed_tools, None);
    let full = read(
        "license: MIT\ncompatibility: Needs git.\nmetadata:\n  author: me\n  version: 1.10\nmodel: opus\nhooks:\n  stop: [a, 2]\n\
         allowed-tools: Read Grep",
    );
    assert_eq!(full.license.as_deref(), Some("MIT"));
    assert_eq!(full.compatibility.as_deref(), Some("Needs git."));
    assert_eq!(full.metadata["version"], "1.10");
    assert_eq!(full.other["hooks"], r#"{"stop":["a",2]}"#);
    let text = skills::to_text(&full).unwrap();
    assert!(
        text.contains("\nallowed-tools: \"Read Grep\"\n") && text.contains("\nmodel: \"opus\"\n"),
        "{text}"
    );
    assert_eq!(skills::parse(&text).unwrap(), full, "{text}");
    let nested = read("metadata:\n  tags: [a]");
    assert_eq!(nested.other["metadata"], r#"{"tags":["a"]}"#);
    let mut misnamed = read("license: MIT");
    misnamed.name = "a--b".to_owned();
    assert_eq!(skills::to_text(&misnamed).unwrap_err().field, "name");
    let colon = "---\nname: a\ndescription: Use when: asked\nlicense: x\n---\nDo.\n";
    assert_eq!(skills::parse(colon).unwrap().description, "Use when: asked");
}

/// DD-49: a skill is a directory with a `SKILL.md`; an invalid one does not affect others.
#[test]
fn skills_are_directories_with_instructions() {
    let disk = Arc::new(MemoryDisk::default());
    disk.put(
        "/data/skills/news/SKILL.md",
        b"---\nname: news\ndescription: Reads news\nextra: 1\nallowed-tools: [Read]\n---\nDo.\n",
    );
    disk.put("/data/skills/mail/SKILL.md", b"---\nname: mail\ndescription: Reads mail\n---\nDo.\n");
    disk.put("/data/skills/odd/SKILL.md", b"---\nname: odd\n---\nDo.\n");
    disk.put("/data/skills/empty/notes.md", b"x");
    disk.put("/data/skills/README.md", b"x");
    let listing = SkillDirectory::new(disk, Path::new("/data")).list().unwrap();
    let names: Vec<&str> = listing.items.iter().map(|filed| filed.item.name.as_str()).collect();
    assert_eq!(names, ["mail", "news"]);
    assert_eq!(listing.items[1].item.allowed_tools, Some(vec!["Read".to_owned()]));
    assert!(listing.items[0].item.is_well_named());
    assert_eq!(
        listing.bad[0].to_string(),
        "/data/skills/odd/SKILL.md: `description`: is missing; it must be there and have a value"
    );
}

/// DD-28: the id of a new item is eight hexadecimal digits.
#[test]
fn a_new_item_gets_an_id_of_eight_digits() {
    let mut dice = Rng::new(7);
    for _ in 0..100 {
        let id = dice.short_id();
        assert!(id.len() == 8 && id.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{id}");
        assert_eq!(read::<Routine>(&format!("id: {id}\ncron: 0 9 * * *")).unwrap().id.as_str(), id);
    }
}

/// DD-41, DD-45: defaults are not written.
#[test]
fn defaults_are_not_written() {
    let text = routine("a1b2c3d4", "  Triage my mail. ").to_text();
    assert_eq!(text, "---\nid: \"a1b2c3d4\"\ncron: \"0 9 * * 1-5\"\n---\nTriage my mail.\n");
    let due = Moment::parse("2026-03-05T14:00:00-08:00", &zone()).unwrap();
    let reminder = Reminder::new(ItemId::parse("r1").unwrap(), due, JobTarget::main(), Prompt::new("Call."));
    assert_eq!(
        reminder.unwrap().to_text(),
        "---\nid: \"r1\"\nrun-at: \"2026-03-05T14:00:00-08:00\"\n---\nCall.\n"
    );
}

/// TP-11: all lists of allowed tools are collected, ordered by kind of file; a file that forbids
/// tools or is unreadable adds none.
#[test]
fn the_tool_lists_of_all_files_are_collected() {
    let memory = MemoryDisk::default();
    let put = |path: &str, text: &str| memory.put(format!("/data/{path}"), text.as_bytes());
    put("webhooks/w.md", "---\nid: w\nfields:\n  type: object\nallowed-tools: [W]\n---\nDo.\n");
    put("skills/s/SKILL.md", "---\nname: s\ndescription: Reads\nallowed-tools: [S]\n---\nDo.\n");
    put("reminders/m.md", "---\nid: m\nrun-at: \"2026-03-05T14:00:00Z\"\nallowed-tools: [M]\n---\nDo.\n");
    put("routines/r.md", "---\nid: r\ncron: 0 9 * * *\nallowed-tools: [\"Bash(*)\", R]\n---\nDo.\n");
    put("routines/n.md", "---\nid: n\ncron: 0 9 * * *\ndisallowed-tools: [N]\n---\nDo.\n");
    put("routines/bad.md", "---\nid: bad\nallowed-tools: [B]\n---\nDo.\n");
    let disk: Arc<dyn Disk> = Arc::new(memory);
    let lists = journal::files::tool_lists::tool_lists(&disk, Path::new("/data"), &zone());
    let told = lists.declared.iter().map(|list| format!("{} {}", list.source, list.tools.join(" ")));
    assert_eq!(told.collect::<Vec<_>>(), ["routine:r Bash(*) R", "reminder:m M", "skill:s S", "webhook:w W"]);
    assert!(lists.errors.is_empty());
}
