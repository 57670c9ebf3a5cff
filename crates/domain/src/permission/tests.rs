//! Tests of decisions by place, tool list and mode.

use jiff::Timestamp;
use std::borrow::Cow;

use super::*;
use crate::approval::{Grant, Scope, StandingApproval};
use crate::conversation::Json;
use crate::place::BackgroundPlace;
use crate::tool::Outcome;

mod matrix;

const TOOLS: [(&str, ToolClass); 7] = [
    ("inbox_add", ToolClass::Own),
    ("discord_embed", ToolClass::Own),
    ("ping_user", ToolClass::Own),
    ("save_context", ToolClass::Own),
    ("Read", ToolClass::Reads),
    ("Write", ToolClass::Edits),
    ("Bash", ToolClass::Acts),
];
const MAIN: Place = Place::Main(ChainPosition::NotInChain);
const BACKGROUND: Place = Place::Background(BackgroundPlace::Forked(ChainPosition::NotInChain));
const NOTE: &str = r#"{"file_path":"notes/day.txt"}"#;

fn call(name: &str, input: &str) -> ToolCall {
    ToolCall { id: "a".to_owned(), name: name.to_owned(), input: Json(input.to_owned()) }
}

fn decided(call: &ToolCall, authority: &Authority, consent: &Consent) -> Option<Decision> {
    let spec = |(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class };
    decide(call, &TOOLS.map(spec), authority, consent)
}

/// Returns the rule for a call of `name`, or `ask`.
fn rule(name: &str, place: Place, mode: Mode, consent: &Consent) -> &'static str {
    let authority = Authority { place, tools: ToolRule::SameAsMain, mode, ..Authority::MAIN };
    let decision = decided(&call(name, NOTE), &authority, consent);
    decision.map_or("ask", |decision| decision.rule.id())
}

fn refusal(call: &ToolCall, authority: &Authority) -> ToolResult {
    let decision = decided(call, authority, &Consent::default());
    decision.expect("a decision").refusal().expect("a refusal")
}

fn list(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
}

/// TL-2, PM-5, TP-1, TP-14, TP-16: The place is checked first, then the job's list.
#[test]
fn call_is_decided_by_place_and_job_list() {
    let check = |name: &str, place: Place, tools: ToolRule, expected: &str| {
        let authority = Authority { place, tools, mode: Mode::Bypass, ..Authority::MAIN };
        let decision = decided(&call(name, NOTE), &authority, &Consent::default()).expect("a decision");
        assert_eq!(decision.rule.id(), expected, "{name} in {place:?}");
        let refused = decision.refusal();
        assert_eq!(refused.is_none(), expected == "own-tool");
        assert!(refused.is_none_or(|result| result.text.starts_with("Error")));
    };
    check("inbox_add", MAIN, ToolRule::SameAsMain, "own-tool");
    check("rm_rf", MAIN, ToolRule::SameAsMain, "unknown-tool");
    check("ping_user", MAIN, ToolRule::SameAsMain, "out-of-place");
    check("ping_user", BACKGROUND, ToolRule::SameAsMain, "own-tool");
    let only = || ToolRule::Only(list(&["mcp__discord__ping_user", "Bash(ollim-bot help)", "inbox_add"]));
    check("ping_user", BACKGROUND, only(), "own-tool");
    check("inbox_add", BACKGROUND, only(), "own-tool");
    check("discord_embed", BACKGROUND, only(), "unlisted-tool");
    check("save_context", BACKGROUND, only(), "out-of-place");
    check("discord_embed", BACKGROUND, ToolRule::Only(list(&["mcp__discord__*"])), "own-tool");
    check(
        "discord_embed",
        BACKGROUND,
        ToolRule::Only(list(&["Bash(discord_embed)", "mcp__docs__*"])),
        "unlisted-tool",
    );
    let except = || ToolRule::Except(list(&["mcp__discord__discord_embed"]));
    check("discord_embed", BACKGROUND, except(), "unlisted-tool");
    check("ping_user", BACKGROUND, except(), "own-tool");
}

/// TP-9, TP-10: An invalid line allows nothing, but an invalid line that forbids still forbids.
#[test]
fn invalid_line_allows_nothing() {
    let check = |tools: ToolRule, expected: &str| {
        let authority = Authority { place: MAIN, tools, mode: Mode::Bypass, ..Authority::MAIN };
        let decision = decided(&call("Write", NOTE), &authority, &Consent::default()).expect("a decision");
        assert_eq!(decision.rule.id(), expected, "{authority:?}");
    };
    for wrong in ["Write", " Write ", "", "Write(", "Write()", "Write)"] {
        check(ToolRule::Only(list(&[wrong])), "unlisted-tool");
    }
    check(ToolRule::Except(list(&["Write"])), "unlisted-tool");
    check(ToolRule::Except(list(&["", "Write("])), "unlisted-tool");
    check(ToolRule::Except(list(&["", "Wrte("])), "mode");
}

/// Patterns with arguments apply to the arguments of a call, before any mode or approval.
#[test]
fn patterns_with_arguments_are_compared_with_the_arguments_of_a_call() {
    const ALL: [(&str, ToolClass); 14] = [
        ("Bash", ToolClass::Shell),
        ("Read", ToolClass::Reads),
        ("Grep", ToolClass::Reads),
        ("Glob", ToolClass::Reads),
        ("Write", ToolClass::Edits),
        ("Edit", ToolClass::Edits),
        ("WebFetch", ToolClass::Fetches),
        ("mcp", ToolClass::Foreign),
        ("Task", ToolClass::Delegates),
        ("Skill", ToolClass::Reads),
        ("inbox_list", ToolClass::Own),
        ("status", ToolClass::Own),
        ("ping_user", ToolClass::Own),
        ("schedule", ToolClass::Plans),
    ];
    let is_listed = |tools: ToolRule, name: &str, key: &str, value: &str| {
        let specs =
            ALL.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class });
        let input = format!("{{{key:?}:{value:?}}}");
        let place = if name == "ping_user" { BACKGROUND } else { MAIN };
        let authority = Authority { place, tools, mode: Mode::Bypass, ..Authority::MAIN };
        let call = call(name, &input);
        let decision = decide(&call, &specs, &authority, &always_consent(&call));
        decision.is_none_or(|decision| decision.rule.id() != "unlisted-tool")
    };
    // A pattern, a call, and whether the pattern covers that call.
    let table = [
        ("Bash(ollim-bot cal *)", "Bash", "command", "ollim-bot cal today", true),
        ("Bash(ollim-bot cal *)", "Bash", "command", "ollim-bot tasks list", false),
        ("Bash(ollim-bot cal:*)", "Bash", "command", "ollim-bot cal today", true),
        ("Bash(ollim-bot *)", "Bash", "command", "ollim-bot cal today", true),
        ("Bash(ollim-bot *)", "Bash", "command", "ls", false),
        ("Bash(ollim-bot help)", "Bash", "command", "ollim-bot help", true),
        ("Bash(ollim-bot help)", "Bash", "command", "ollim-bot help search", false),
        ("Bash", "Bash", "command", "anything; at | all", true),
        ("Read(**.md)", "Read", "file_path", "notes/a.md", true),
        ("Read(**.md)", "Read", "file_path", "notes/a.txt", false),
        ("Read(notes/)", "Read", "file_path", "notes/x/a.txt", true),
        ("Grep(notes/**)", "Grep", "path", "notes/x", true),
        ("Glob(notes/**)", "Glob", "pattern", "notes/*.md", true),
        ("Write(notes/**)", "Write", "file_path", "notes/a.md", true),
        ("Write(notes/**)", "Write", "file_path", "a.md", false),
        ("WebFetch(domain:example.com)", "WebFetch", "url", "https://example.com/a", true),
        ("WebFetch(domain:example.com)", "WebFetch", "url", "https://api.example.com./a", true),
        ("WebFetch(domain:example.com)", "WebFetch", "url", "https://example.org/a", false),
        ("WebFetch", "WebFetch", "url", "https://example.org/a", true),
        ("mcp__notes__*", "mcp", "tool", "mcp__notes__find", true),
        ("mcp__notes", "mcp", "tool", "mcp__notes__find", true),
        ("mcp__notes__find", "mcp", "tool", "mcp__notes__find", true),
        ("mcp__notes__find", "mcp", "tool", "mcp__notes__find2", false),
        ("mcp__notes", "mcp", "tool", "mcp__notes2__find", false),
        ("Task(gmail-reader)", "Task", "subagent_type", "gmail-reader", true),
        ("Task(gmail-reader)", "Task", "subagent_type", "guide", false),
        ("Skill(tidy)", "Skill", "skill", "tidy", true),
        ("mcp__discord__ping_user", "ping_user", "message", "x", true),
        ("ping_user", "ping_user", "message", "x", true),
    ];
    for (pattern, name, key, value, is_about) in table {
        let only = is_listed(ToolRule::Only(list(&[pattern])), name, key, value);
        let except = is_listed(ToolRule::Except(list(&[pattern])), name, key, value);
        assert_eq!((only, except), (is_about, !is_about), "{pattern}: {name} {value}");
    }
    // Forbidden calls stay forbidden in every spelling, and a partial match does not allow a call.
    for (pattern, name, key, value) in [
        ("Bash(ollim-bot cal *)", "Bash", "command", "ollim-bot help && ollim-bot cal today"),
        ("Bash(ollim-bot cal *)", "Bash", "command", "X=1 ollim-bot cal today"),
        ("Bash(ollim-bot cal *)", "Bash", "command", "echo $(ollim-bot cal today)"),
        ("Bash(ollim-bot cal *)", "Bash", "command", "ollim-bot --json cal today"),
        ("Bash(ollim-bot *)", "inbox_list", "x", "x"),
        ("Bash(ollim-bot status)", "status", "x", "x"),
        ("Bash(ollim-bot reminder *)", "schedule", "words", "tea in 4 min"),
        ("Read(**.md)", "Read", "file_path", "/srv/me/data/notes/A.MD"),
        ("Read(notes/**)", "Grep", "pattern", "x"),
        ("mcp__docs__fetch(https://a.example)", "mcp", "tool", "mcp__docs__fetch"),
        ("mcp__docs(x)", "mcp", "tool", "mcp__docs__fetch"),
        ("Edit(notes/**)", "Write", "file_path", "notes/../notes/a.md"),
        ("WebFetch(domain:example.com)", "WebFetch", "url", "https://me@example.com/a"),
        ("WebFetch(domain:example.com)", "WebFetch", "url", "https://ex%61mple.com/a"),
        ("WebFetch(domain:example.com)", "WebFetch", "url", "HTTPS://example.com/a"),
    ] {
        assert!(
            !is_listed(ToolRule::Except(list(&[pattern])), name, key, value),
            "{pattern}: {name} {value}"
        );
        assert!(!is_listed(ToolRule::Only(list(&[pattern])), name, key, value), "{pattern}: {name} {value}");
    }
    let both = || ToolRule::Only(list(&["Bash(git status)", "Bash(git log *)"]));
    assert!(is_listed(both(), "Bash", "command", "git status && git log -3"));
    assert!(!is_listed(both(), "Bash", "command", "git status && git push"));
}

/// PM-1, PM-2, PM-5, TP-16: Every class in every mode, attended and in the background.
#[test]
fn mode_decides_which_calls_are_asked_for() {
    let table = [
        ("Read", ["reads", "reads", "reads", "reads"]),
        ("Write", ["requires-permission", "ask", "mode", "mode"]),
        ("Bash", ["requires-permission", "ask", "ask", "mode"]),
        ("inbox_add", ["own-tool"; 4]),
    ];
    let nobody = Consent::default();
    for (name, row) in table {
        for (mode, expected) in Mode::ALL.into_iter().zip(row) {
            assert_eq!(rule(name, MAIN, mode, &nobody), expected, "{name} in {mode:?}");
            assert_eq!(rule(name, Place::Fork, mode, &nobody), expected, "{name} in {mode:?}");
            let aside = if name == "inbox_add" { "own-tool" } else { "unlisted-tool" };
            assert_eq!(rule(name, BACKGROUND, mode, &nobody), aside, "{name} in {mode:?}, in the background");
        }
    }
    assert_eq!(Mode::default(), Mode::Ask);
    assert_eq!(Mode::ALL.map(Mode::as_str), ["dontAsk", "default", "acceptEdits", "bypassPermissions"]);
    assert_eq!(Mode::from_name("DONTASK"), None);
}

/// PM-5, PM-6, TP-17: `state/` cannot be written in any mode or with any approval, and an edit
/// without a path is refused.
#[test]
fn state_directory_is_protected_in_every_mode() {
    let check = |input: &str, expected: &str| {
        let consent = always_consent(&call("Write", input));
        for (place, mode) in Mode::ALL.into_iter().flat_map(|mode| [(MAIN, mode), (BACKGROUND, mode)]) {
            let authority = Authority { place, tools: ToolRule::SameAsMain, mode, ..Authority::MAIN };
            let decision = decided(&call("Write", input), &authority, &consent).expect("a decision");
            assert_eq!(decision.rule.id(), expected, "{input} in {mode:?}");
        }
    };
    for path in [
        "state/config.json",
        "state",
        "./state/x",
        "/ollim/state/journal.db",
        "notes/../state/x",
        "STATE/x",
        "state/../notes.md",
        "a\\state\\b",
        "state /x",
    ] {
        check(&format!("{{\"file_path\":{path:?}}}"), "write-protected");
    }
    check(r#"{"file_path":"st\u0061te/x"}"#, "write-protected");
    for input in ["{}", r#"{"file_path":7}"#, "not json", r#"{"file_path":"a","file_path":"state/x"}"#] {
        check(input, "no-path");
    }
    let free = |path: &str| {
        let input = format!("{{\"file_path\":{path:?}}}");
        let write = call("Write", &input);
        decided(&write, &Authority { mode: Mode::Bypass, ..Authority::MAIN }, &always_consent(&write))
    };
    for path in ["notes/state.md", "estate/x", "routines/mail.md"] {
        assert!(free(path).expect("a decision").refusal().is_none(), "{path}");
    }
}

/// Returns the consent after an "always" to `call`.
fn always_consent(call: &ToolCall) -> Consent {
    let tool = call.name.clone();
    let scope = Scope::of(call);
    let standing = StandingApproval { id: ApprovalId(9), tool, scope, expires_at: Timestamp::MAX };
    Consent { standing: vec![standing], grants: Vec::new() }
}

/// PM-7, PM-14, I5: A standing approval covers what was approved; a grant covers one call with the
/// same input; neither applies in the background.
#[test]
fn approval_covers_what_was_approved() {
    let always = always_consent(&call("Bash", NOTE));
    for mode in [Mode::DontAsk, Mode::Ask, Mode::AcceptEdits] {
        assert_eq!(rule("Bash", MAIN, mode, &always), "standing");
        assert_eq!(rule("Bash", Place::Fork, mode, &always), "standing");
        assert_eq!(rule("Bash", BACKGROUND, mode, &always), "unlisted-tool");
    }
    assert_eq!(rule("Write", MAIN, Mode::Ask, &always), "ask");

    let grant =
        Grant { id: ApprovalId(4), call: call("Bash", r#"{"a":1,"b":2}"#), expires_at: Timestamp::MAX };
    let granted = Consent { grants: vec![grant], ..always };
    let check = |name: &str, input: &str, expected: &str| {
        let authority = Authority { mode: Mode::Ask, ..Authority::MAIN };
        let decision = decided(&call(name, input), &authority, &granted);
        assert_eq!(decision.map_or("ask", |decision| decision.rule.id()), expected, "{name} {input}");
    };
    check("Bash", r#"{ "b": 2, "a": 1 }"#, "granted");
    check("Bash", r#"{"a":1,"b":3}"#, "ask");
    check("Bash", NOTE, "standing");
    check("Write", NOTE, "ask");
}

/// PM-5, PM-6: A refusal contains the reason and the alternative.
#[test]
fn refusal_names_the_alternative() {
    let aside = |tools: ToolRule| Authority { place: BACKGROUND, tools, mode: Mode::Ask, ..Authority::MAIN };
    let check = |call: &ToolCall, authority: &Authority, words: &str, outcome: Outcome| {
        let result = refusal(call, authority);
        assert!(result.text.contains(words), "{}", result.text);
        assert_eq!(result.outcome, outcome);
    };
    let unlisted = aside(ToolRule::Only(Vec::new()));
    check(
        &call("ping_user", "{}"),
        &unlisted,
        "`ping_user` is not available in background forks",
        Outcome::Denied,
    );
    let tools = "the tools are: inbox_add, discord_embed";
    check(&call("rm_rf", "{}"), &aside(ToolRule::SameAsMain), tools, Outcome::Failed);
    check(
        &call("Bash", "{}"),
        &aside(ToolRule::SameAsMain),
        "not available in background forks",
        Outcome::Denied,
    );
    let unasked = Authority { mode: Mode::DontAsk, ..Authority::MAIN };
    check(&call("Bash", "{}"), &unasked, "requires permission", Outcome::Denied);
    check(&call("Bash", "{}"), &unasked, "`/permissions default`", Outcome::Denied);
    check(&call("Write", "{}"), &Authority::MAIN, "without a `file_path`", Outcome::Denied);
    let protected = call("Write", r#"{"file_path":"state/x"}"#);
    check(&protected, &Authority::MAIN, "write-protected", Outcome::Denied);
}
