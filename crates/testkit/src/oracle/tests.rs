//! Tests every rule of the oracle with a directory that violates it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::{Observations, find_violations};
use crate::model_server::MessagesRequest;

const SCHEMA: &str = concat!(
    include_str!("../../../journal/src/db/format_1.sql"),
    include_str!("../../../journal/src/db/format_2.sql"),
    include_str!("../../../journal/src/db/format_3.sql"),
    include_str!("../../../journal/src/db/format_4.sql"),
    include_str!("../../../journal/src/db/format_5.sql")
);

const VALID_ROWS: &str = r#"
    INSERT INTO heads VALUES ('main', NULL, 's1');
    INSERT INTO moves (id, at, branch, why, to_session) VALUES (1, 1, 'main', 'created', 's1');
    INSERT INTO entries VALUES
        (1, NULL, 1, 10, 'human', '{"preface":"[t]","text":"remember milk"}'),
        (2, 1, 2, 11, 'assistant', '{"blocks":[{"text":"ok "},{"call":{"id":"c1","name":"add","input":"{}"}}]}'),
        (3, 2, 3, 12, 'tools', '{"results":[{"call":"c1","text":"kept"}]}'),
        (4, 3, 4, 13, 'assistant', '{"blocks":[{"text":"Kept."}]}'),
        (5, 4, 5, 20, 'human', '{"preface":"[t] UPDATES (you see them only this once):\n- (1 earlier ones are not quoted)\n- (5m ago) two\n\n","text":"and tea"}'),
        (6, 5, 6, 21, 'assistant', '{"blocks":[{"call":{"id":"c2","name":"add","input":"{}"}}]}');
    UPDATE heads SET entry = 6;
    INSERT INTO messages (id, at, surface, text, entry) VALUES (1, 10, 'page', 'remember milk', 1), (2, 20, 'page', 'and tea', 5),
        (3, 30, 'page', 'and salt', NULL);
    INSERT INTO turns (id, branch, message, opened, attempts, closed, ending) VALUES
        (1, 'main', 1, 10, 1, 14, 'finished'), (2, 'main', 2, 20, 3, NULL, NULL);
    INSERT INTO decisions VALUES (1, 1, 11, 'c1', 'add', '{}', 'own-tool'), (2, 2, 21, 'c2', 'add', '{}', 'own-tool');
    INSERT INTO reports VALUES (1, 5, 'routine:mail', 'one', 1, 'counted', 5),
        (2, 6, 'routine:mail', 'two', 1, 'quoted', 5), (3, 7, 'routine:mail', 'three', NULL, NULL, NULL);
    ALTER TABLE reports ADD COLUMN label TEXT NOT NULL DEFAULT ';';
"#;

const CREATED_EVENT: &str =
    r#"{"session_id":"s1","event":"created","timestamp":"t","parent_session_id":null}"#;

fn valid_directory() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
    execute_sql(dir.path(), SCHEMA);
    execute_sql(dir.path(), VALID_ROWS);
    write_file(dir.path(), "state/sessions.json", "s1");
    write_file(dir.path(), "state/pending_updates.json", r#"[{"ts":"t","message":"three"}]"#);
    write_file(dir.path(), "state/session_history.jsonl", &format!("{CREATED_EVENT}\n"));
    set_mode(&state.join("journal.db"), 0o600);
    dir
}

fn execute_sql(root: &Path, statements: &str) {
    let database = Connection::open(root.join("state/journal.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.pragma_update(None, "synchronous", "OFF").unwrap();
    database.execute_batch(statements).unwrap();
}

fn write_file(root: &Path, name: &str, text: &str) {
    std::fs::write(root.join(name), text).unwrap();
    set_mode(&root.join(name), 0o600);
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn valid_directory_has_no_violations() {
    assert_eq!(find_violations(valid_directory().path()), [""; 0]);
    assert_eq!(find_violations(tempfile::tempdir().unwrap().path().join("nothing").as_path()), [""; 0]);
}

/// Damages the rows of a valid directory, and expects the complaint.
fn check(damage: &str, complaint: &str) {
    let dir = valid_directory();
    execute_sql(dir.path(), damage);
    let violations = find_violations(dir.path());
    assert!(violations.iter().any(|violations| violations.contains(complaint)), "{damage}\n{violations:#?}");
}

#[test]
fn damaged_run_rows_are_found() {
    let run = "INSERT INTO runs (branch, source, kind) VALUES ('fork/x', 'routine:mail', 'forked')";
    check(run, "fork/x runs and has no place");
    check(run, "fork/x runs and has no turn");
    check("INSERT INTO sent VALUES (4, 'fork/x', 'routine:mail')", "4 was sent and holds nothing");
    check(
        "INSERT INTO origins (message, session, at) VALUES (1340, 's9', 1)",
        "does not know that 1340 is of s9",
    );
}

/// Returns SQL for an occurrence at `stage`.
fn occurrence_sql(due: i64, stage: &str, more: &str) -> String {
    format!(
        "INSERT INTO occurrences (source, due, name, words, late, tries, began, since, stage) VALUES ('routine:mail', \
         {due}, 'mail', 'w', 0, 1, 1, 1, '{stage}'); UPDATE occurrences SET {more} WHERE due = {due};"
    )
}

#[test]
fn damaged_schedule_rows_are_found() {
    check(&occurrence_sql(5, "lost", "tries = 1"), "routine:mail at 5 stands at lost");
    check(&occurrence_sql(5, "done", "tries = 4"), "was tried 4 times");
    check(&occurrence_sql(5, "failed", "why = ''"), "is failed and does not say why");
    check(
        &occurrence_sql(5, "missed", "why = 'x', last = 4, count = 1"),
        "was missed Some(1) times up to Some(4)",
    );
    let missed = occurrence_sql(5, "missed", "why = 'x', last = 9, count = 2");
    check(
        &format!("{missed}{}", occurrence_sql(8, "done", "tries = 1")),
        "routine:mail at 8 is accounted for twice",
    );
    let again = [occurrence_sql(5, "again", "next = 9"), occurrence_sql(6, "again", "next = 9")].concat();
    check(&again, "routine:mail at 6 is again beside another time");
    check(&occurrence_sql(5, "running", "branch = 'fork/x'"), "on fork/x, where nothing runs");
    check(&occurrence_sql(5, "queued", "tries = 0"), "routine:mail waits for nobody");
    let begins = |number: i64, branch: &str| {
        format!(
            "INSERT INTO messages (id, at, surface, text, branch) VALUES ({number}, 1, 'house', '[routine-bg:mail] do', \
             '{branch}'); INSERT INTO moves (id, at, branch, why, to_session) VALUES ({number}, 1, '{branch}', 'created', 's');"
        )
    };
    let twice = [begins(10, "fork/x"), begins(11, "fork/y")].concat();
    check(&twice, "routine-bg:mail began on fork/y while it was being done on fork/x");
    check("INSERT INTO charges VALUES (3, 5, 4)", "3 was charged and not shown");
    check("INSERT INTO sent VALUES (3, 'fork/x', 'routine:mail')", "3 was shown and not charged");
    check("INSERT INTO charges VALUES (3, 0.5, -0.5)", "3 was charged from 0.5 to -0.5");
    let shown = "INSERT INTO sent VALUES (3, 'fork/x', 'r'), (6, 'fork/x', 'r'); INSERT INTO charges VALUES (3, 5, 4), (6, 4, 3)";
    check(shown, "fork/x pinged 2 times in one way");
    check(
        "INSERT INTO attention (one, pings) VALUES (1, '{\"available\": 6.0, \"capacity\": 5}')",
        "6 of 5 pings are left",
    );
}

#[test]
fn damaged_conversation_rows_are_found() {
    check("UPDATE entries SET parent = 99 WHERE id = 4", "entry 4 follows 99");
    check("UPDATE entries SET parent = 5 WHERE id = 4", "entry 4 follows 5");
    check("UPDATE entries SET depth = 9 WHERE id = 4", "entry 4 has depth 9");
    check("UPDATE entries SET body = '{' WHERE id = 4", "entry 4 has a body that is no JSON");
    check("UPDATE heads SET entry = 77", "main points to Some(77)");
    check(
        "UPDATE entries SET kind = 'assistant', body = '{\"blocks\":[]}' WHERE id = 3",
        "entry 3 answers []",
    );
    check("UPDATE entries SET body = replace(body, 'c1', 'c9') WHERE id = 3", "entry 3 answers [\"c9\"]");
    check(
        "UPDATE entries SET kind = 'tools', body = '{\"results\":[]}' WHERE id = 4",
        "entry 4 holds no results",
    );
    check("UPDATE turns SET closed = 1, ending = 'finished' WHERE id = 2", "entry 6 calls tools");
    check("DELETE FROM decisions WHERE call = 'c1'", "call c1 was never decided");
    check("INSERT INTO decisions VALUES (3, 2, 11, 'c1', 'add', '{}', 'r')", "call c1 was decided 2 times");
    check("INSERT INTO decisions VALUES (3, 2, 11, 'c7', 'add', '{}', 'r')", "c7, which nobody called");
    check("UPDATE decisions SET at = 13 WHERE call = 'c1'", "call c1 was answered before");
    check("UPDATE reports SET entry = 1 WHERE id = 2", "entry 5 quotes [\"two\"] and counts 1");
    check("UPDATE reports SET told = 'quoted' WHERE id = 1", "read in it were [\"one\", \"two\"] and 0");
    check("UPDATE reports SET read = NULL WHERE id = 2", "report 2 was read and was not");
    check("UPDATE reports SET label = ';mail' WHERE id = 2", "read in it were [\"(data) two\"]");
    check("UPDATE reports SET text = 'four' WHERE id = 3", "[\"four\"] wait");
    check(
        "INSERT INTO forks VALUES ('fork/x', NULL, NULL, 10, 1, NULL, NULL, 'not', NULL, 0, 'off')",
        "fork/x is open",
    );
    check("UPDATE messages SET text = 'x' WHERE id = 1", "message 1 is entry 1, which says something else");
    check("UPDATE messages SET entry = 88 WHERE id = 1", "message 1 is entry 88, which is not there");
    check("UPDATE messages SET entry = 5, text = 'and tea' WHERE id = 1", "entry 5 is 2 messages");
    check(
        "UPDATE messages SET entry = 5, text = 'and tea' WHERE id = 1",
        "entry 1 of the human is no message",
    );
    check(
        "UPDATE messages SET id = 0 WHERE id = 2; UPDATE turns SET message = 0 WHERE id = 2",
        "message 1 was said before",
    );
    check("UPDATE messages SET id = 0 WHERE id = 3", "message 0 waits, and 1 overtook it");
    check("UPDATE turns SET closed = NULL, ending = NULL", "turns 1 and 2 go on at once");
    check("UPDATE turns SET ending = NULL WHERE id = 1", "turn 1 ended with None");
    check("UPDATE turns SET attempts = 4 WHERE id = 1", "turn 1 was begun 4 times");
    check("DELETE FROM turns WHERE id = 1", "message 1 was taken and has no turn");
    check("UPDATE turns SET message = 1 WHERE id = 2", "message 1 has 2 turns");
    check("UPDATE turns SET message = 66 WHERE id = 2", "a turn answers 66");
    check("UPDATE heads SET session = 's2'", "sessions.json names Some(\"s1\")");
    check(
        "INSERT INTO moves (id, at, branch, why, to_session) VALUES (2, 2, 'main', 'compacted', 's2')",
        "does not know s2",
    );
}

/// An approval that was answered in time, and one that was answered late and used.
const APPROVAL_ROWS: &str = r#"
    INSERT INTO approvals (id, at, turn, branch, call, tool, input, late, how, used) VALUES
        (1, 11, 1, 'main', 'c1', 'add', '{}', NULL, 'allowed', NULL),
        (2, 5, 1, 'main', 'c0', 'add', '{"a":1,"b":2}', 1, 'allowed', 'c2');
    UPDATE decisions SET rule = 'approved' WHERE call = 'c1';
    UPDATE decisions SET rule = 'granted', input = '{"b":2, "a":1}' WHERE call = 'c2';
    INSERT INTO entries VALUES (7, NULL, 1, 5, 'assistant', '{"blocks":[{"call":{"id":"c0"}}]}'),
        (8, 7, 2, 6, 'tools', '{"results":[{"call":"c0","text":"not yet","failed":true}]}');
    INSERT INTO decisions VALUES (9, 1, 5, 'c0', 'add', '{"a":1,"b":2}', 'unanswered');
"#;

#[test]
fn inconsistent_approvals_are_found() {
    let check = |damage: &str, complaint: &str| {
        let dir = valid_directory();
        execute_sql(dir.path(), APPROVAL_ROWS);
        assert_eq!(find_violations(dir.path()), [""; 0]);
        execute_sql(dir.path(), damage);
        let violations = find_violations(dir.path());
        assert!(
            violations.iter().any(|violations| violations.contains(complaint)),
            "{damage}\n{violations:#?}"
        );
    };
    check("UPDATE approvals SET how = 'denied' WHERE id = 1", "approval 1 was closed with Some(\"denied\")");
    check("UPDATE approvals SET how = NULL WHERE id = 1", "approval 1 was closed with None");
    check("UPDATE approvals SET late = NULL WHERE id = 2", "approval 2 was closed with Some(\"allowed\")");
    check("DELETE FROM approvals WHERE id = 1", "call c1 is approved after 0 approvals");
    check("UPDATE decisions SET rule = 'denied' WHERE call = 'c1'", "call c1 ran and was never allowed");
    check(
        "UPDATE approvals SET how = 'denied' WHERE id = 2",
        "approval 2 let call c2 through and is no grant",
    );
    check("UPDATE decisions SET input = '{}' WHERE call = 'c2'", "let call c2 through, which is another one");
    check("UPDATE approvals SET used = NULL", "call c2 was granted by 0 approvals");
    check(
        "INSERT INTO approvals (id, at, turn, branch, call, tool, input, late, how, used) \
         SELECT 3, at, turn, branch, call, tool, input, late, how, used FROM approvals WHERE id = 2",
        "call c2 was granted by 2 approvals",
    );
}

#[test]
fn damaged_files_are_found() {
    let check = |damage: &dyn Fn(&Path), complaint: &str| {
        let dir = valid_directory();
        damage(dir.path());
        let violations = find_violations(dir.path());
        assert!(
            violations.iter().any(|violations| violations.contains(complaint)),
            "{complaint}\n{violations:#?}"
        );
    };
    let history = |lines: &str| {
        let lines = lines.to_owned();
        move |root: &Path| write_file(root, "state/session_history.jsonl", &lines)
    };
    check(&|root| write_file(root, "state/sessions.json", "s2"), "sessions.json names Some(\"s2\")");
    check(
        &|root| std::fs::remove_file(root.join("state/sessions.json")).unwrap(),
        "sessions.json names None",
    );
    check(&history(&format!("{CREATED_EVENT}\n{CREATED_EVENT}\n")), "the history says twice");
    check(
        &history(&format!("{CREATED_EVENT}\n{}\n", CREATED_EVENT.replace("\"t\"", "\"u\""))),
        "2 times that s1 was created",
    );
    check(&history(&format!("{CREATED_EVENT}\n{{\"session_id\n")), "a line that is no event");
    check(&history(&format!("{CREATED_EVENT}\n{{\"session_id\":\"s\"}}\n")), "a line that is no event");
    check(&history(""), "does not know s1");
    check(&|root| write_file(root, "state/sessions.json.0.tmp", "s"), "never finished nor taken away");
    check(&|root| set_mode(&root.join("state/sessions.json"), 0o644), "has the mode 644 and not 600");
    check(&|root| set_mode(&root.join("state"), 0o755), "has the mode 755 and not 700");
}

#[test]
fn pending_changes_and_quarantined_lines_are_valid() {
    let dir = valid_directory();
    execute_sql(dir.path(), "INSERT INTO file_changes VALUES (1, 1, 'saved', 's1', NULL)");
    std::fs::remove_file(dir.path().join("state/sessions.json")).unwrap();
    write_file(dir.path(), "state/session_history.jsonl", "{\"sess\n");
    write_file(dir.path(), "state/session_history.jsonl.corrupt-1", "{\"sess");
    write_file(dir.path(), "state/bot.pid", "1");
    write_file(dir.path(), "state/sessions.json.0.tmp", "s");
    assert_eq!(find_violations(dir.path()), [""; 0]);
}

fn request(messages: serde_json::Value) -> MessagesRequest {
    let json = json!({ "messages": messages });
    MessagesRequest { key: None, version: None, betas: Vec::new(), body: json.to_string(), json }
}

#[test]
fn lost_messages_and_unknown_histories_are_found() {
    let dir = valid_directory();
    let user = |text: &str| {
        json!({ "role": "user", "content": [
            { "type": "text", "text": "[t]" }, { "type": "text", "text": text }] })
    };
    let called = json!({ "role": "assistant", "content": [
        { "type": "text", "text": "ok" }, { "type": "tool_use", "id": "c1", "name": "add", "input": {} }] });
    let result = json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "c1", "content": "kept" }] });
    let mut observations = Observations {
        acknowledged: vec!["remember milk".to_owned(), "and salt".to_owned()],
        requests: vec![
            request(json!([user("remember milk")])),
            request(json!([user("remember milk"), called, result])),
        ],
    };
    assert_eq!(observations.check(dir.path()), [""; 0]);
    observations.acknowledged.push("and pepper".to_owned());
    observations.requests.push(request(json!([user("remember salt")])));
    observations.requests.push(request(json!([user("remember milk"), user("and tea")])));
    let violations = observations.check(dir.path());
    assert_eq!(violations.len(), 3, "{violations:#?}");
    assert_eq!(violations[0], "`and pepper` was acknowledged and is there 0 times");
    assert!(violations[1].starts_with("request 3 told a history"), "{}", violations[1]);
}
