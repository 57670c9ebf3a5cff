//! Tests of issues in lines, and of valid lines in lists.

use proptest::prelude::*;

use super::*;
use crate::schedule::ItemId;

fn folders() -> Folders {
    Folders { data: "/people/me/.ollim".to_owned(), home: Some("/people/me".to_owned()) }
}

fn issues_of(text: &str) -> Vec<PatternIssue> {
    validate(text, &folders())
}

fn list(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
}

fn id(text: &str) -> ItemId {
    ItemId::parse(text).expect("an id")
}

/// TP-1, TP-2, TP-3, TP-4, TP-5, TP-6: The issues of a line are named.
#[test]
fn issues_of_a_line_are_named() {
    let check = |text: &str, words: &[&str]| {
        let findings = issues_of(text);
        assert_eq!(findings.len(), words.len(), "{text:?}: {findings:?}");
        for (finding, word) in findings.iter().zip(words) {
            assert!(finding.to_string().contains(word), "{text:?}: {finding}");
        }
    };
    for fine in [
        "WebFetch",
        "Task",
        "mcp__docs__*",
        " WebFetch ",
        "Bash(ollim-bot help)",
        "Bash(git log *)",
        "Read(**.md)",
        "Bash(echo $HOME)",
        "Bash(echo (x))",
        "Read(a;b)",
        "Skill(tidy)",
        "Task(gmail-reader)",
        "WebFetch(domain:example.com)",
    ] {
        check(fine, &[]);
    }
    for blank in ["", " ", "\t\n", "\u{3000}"] {
        check(blank, &["empty"]);
    }
    for broad in ["Bash(*)", "Bash( * )", "Bash(**)", "Bash(:*)"] {
        check(broad, &["too broad"]);
    }
    for sign in [";", "&", "&&", "|", "\n", "\r", "`", "$(", ">", "<", ">>"] {
        check(&format!("Bash(git log{sign} x)"), &["chaining"]);
    }
    check("Bash(* | *)", &["chaining"]);
    for broad in ["Read(*)", "WebFetch(*)", "mcp__docs__x(*)", "Write(*)"] {
        check(broad, &["overly broad"]);
    }
    for wrong in ["Bash(ls", "Bash)", "(ls)", "()", ")", "(", "Bash ls", "Bash (ls)", "Bash(ls) x", "a\0b"] {
        check(wrong, &["no pattern"]);
    }
    check("Bash()", &["brackets are empty"]);
    for unknown in ["Ünï(é)", "Bsh(ls)", "NotebookEdit"] {
        check(unknown, &["no tool has this name"]);
    }
    check("ping_user(x)", &["cannot be compared"]);
    check("WebFetch(example.com)", &["write a domain"]);
    check("Read(~/notes/**)", &["from the data directory on"]);
}

/// The issues of an excluding line are named, and the line still has its effect.
#[test]
fn issues_of_an_excluding_line_are_named() {
    let told = |text: &str| {
        let complaints = forbidden_diagnostics(&list(&[text]), &ListSource::Routine(id("mail")));
        complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    for fine in [
        "Bash",
        "Bash(ollim-bot cal *)",
        "Bash(*)",
        "Read(**.md)",
        "WebFetch(domain:x.org)",
        "mcp__notes",
        "mcp__discord__*",
    ] {
        assert_eq!(told(fine), "", "{fine}");
    }
    for (wrong, fate, why) in [
        ("Bash(ollim-bot cal", "forbids all that this tool does", "no pattern"),
        ("Bash(a && b)", "forbids all that this tool does", "chaining"),
        ("WebFetch(x.org)", "forbids all that this tool does", "write a domain"),
        ("Read(~/x)", "forbids all that this tool does", "from the data directory on"),
        ("ping_user(x)", "forbids all that this tool does", "cannot be compared"),
        ("Bsh(ls)", "forbids nothing", "no tool has this name"),
        ("", "forbids nothing", "empty"),
    ] {
        let told = told(wrong);
        assert!(told.starts_with("routine:mail: the tool pattern `"), "{told}");
        assert!(told.contains(fate) && told.contains(why), "{wrong}: {told}");
    }
}

/// TP-2: Only an overly broad line is a warning, and the text of a line cannot change its severity.
#[test]
fn only_overly_broad_lines_are_warnings() {
    let severities = |text: &str| issues_of(text).into_iter().map(PatternIssue::severity).collect::<Vec<_>>();
    assert_eq!(severities("Read(*)"), [Severity::Warning]);
    for wrong in ["", "Bash(*)", "Bash(a;b)", "Write(**)", "Bash(", "Bash()", "Bash(overly broad; rm)"] {
        assert_eq!(severities(wrong), [Severity::Error], "{wrong}");
    }
    for finding in ["", "Bash(*)", "Bash(a;b)", "Write(**)", "Bash(", "Bash()"].map(|text| issues_of(text)[0])
    {
        assert!(!finding.to_string().contains("overly broad"), "{finding}");
    }
}

/// TP-7, TP-8, TP-9: Globs that could write into `state/` are found in every spelling.
#[test]
fn a_line_that_could_write_into_state_is_an_error() {
    let could = |glob: &str| {
        let found = ["Write", "Edit"].map(|name| issues_of(&format!("{name}({glob})")));
        assert_eq!(found[0], found[1], "{glob}");
        assert!(!issues_of_read(glob).contains(&PatternIssue::WritesState), "{glob}");
        found[0].contains(&PatternIssue::WritesState)
    };
    for glob in [
        "**",
        "**.json",
        "**.jsonl",
        "state/**",
        "**/state/**",
        "*/*.json",
        "*/*",
        "*/?",
        "s?ate/**",
        "state/*",
        "./state/**",
        "././state/**",
        "./**",
        ".//state//**",
        "/**",
        "/people/**",
        "/people/me/.ollim/**",
        "/people/me/.ollim/state/*",
        "/people/*/.ollim/state/x",
        "/people/me/.ollim/**/*.json",
        "~/**",
        "~/.ollim/**",
        "~/.ollim/state/x",
        "~somebody/**",
        "routines/../state/**",
        "*/../state/**",
        "../.ollim/state/**",
        "**/../state/**",
        "state",
        "state/",
        "state/config.json",
        "./state/config.json",
        "~/.ollim/state/journal.db",
    ] {
        assert!(could(glob), "{glob}");
    }
    for glob in [
        "**.md",
        "routines/**",
        "skills/**",
        "*.md",
        "*.json",
        "./routines/**",
        "./*.json",
        "/tmp/**",
        "/state/**",
        "/people/me/.ollim/routines/**",
        "/people/me/.ollim/*.json",
        "/people/me/.ollimx/**",
        "~",
        "~/notes/**",
        "~/*.json",
        "~/.ollim/*.md",
        "../state/**",
        "state/../routines/**",
        "estate/**",
        "state.json",
        "State2/**",
        "notes/state/**",
    ] {
        assert!(!could(glob), "{glob}");
    }
    for bare in ["Write", "Edit", " Edit "] {
        assert_eq!(issues_of(bare), [PatternIssue::WritesState]);
    }
    assert!(PatternIssue::WritesState.to_string().contains("state/"));
}

fn issues_of_read(glob: &str) -> Vec<PatternIssue> {
    issues_of(&format!("Read({glob})"))
}

/// TP-9: Wildcard characters in the name of the data directory are literal, and an unknown home may
/// be any directory.
#[test]
fn the_data_directory_may_have_any_name() {
    let strange = Folders { data: "/srv/./a*b/x/../?/".to_owned(), home: None };
    let could = |glob: &str| validate(&format!("Write({glob})"), &strange) == [PatternIssue::WritesState];
    for glob in
        ["/srv/a*b/?/state/**", "state/**", "**.json", "/srv/*/*/state/x", "~/**", "~/?/state/**", "~/a*b/**"]
    {
        assert!(could(glob), "{glob}");
    }
    for glob in ["/srv/acb/x/state/**", "/srv/a*b/x/state/**", "routines/**", "**.md", "~/**.md"] {
        assert!(!could(glob), "{glob}");
    }
}

/// TP-10: A line with an error is left out, one with a warning is kept, and each issue names its
/// source.
#[test]
fn lines_with_errors_are_left_out() {
    let tools =
        list(&["WebFetch", "Bash(*)", " Read(*) ", "", "Write(**)", "Edit", "Write(**.md)", "Bash(a\n;b)"]);
    let left = effective_list(&tools, &ListSource::Routine(id("mail")), &folders());
    assert_eq!(left.lines, ["WebFetch", "Read(*)", "Write(**.md)"]);
    let told: Vec<_> = left.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 6);
    assert!(
        told[0].starts_with("routine:mail: the tool pattern `Bash(*)` is left out: it is too broad"),
        "{told:?}"
    );
    assert!(told[1].contains("` Read(*) ` is kept: it is overly broad"), "{told:?}");
    assert!(told[5].contains(r"`Bash(a\n;b)` is left out"), "{told:?}");
    let long = effective_list(&[format!("Bash({};)", "é".repeat(5000))], &ListSource::Main, &folders());
    assert!(long.diagnostics[0].to_string().chars().count() < 400);
}

/// TP-10: The names of sources.
#[test]
fn source_is_named_by_kind_and_name() {
    let name = || "x".to_owned();
    let sources = [
        ListSource::Main,
        ListSource::Subagent(name()),
        ListSource::Routine(id("x")),
        ListSource::Reminder(id("x")),
        ListSource::Skill(name()),
        ListSource::Webhook(id("x")),
    ];
    let names = sources.map(|source| source.to_string());
    assert_eq!(names, ["main", "subagent:x", "routine:x", "reminder:x", "skill:x", "webhook:x"]);
}

/// TP-12: The union of lists is in order and without duplicates; lists of jobs do not apply to the
/// main conversation.
#[test]
fn lists_are_merged_in_source_order() {
    let declared = |source: ListSource, tools: &[&str]| DeclaredList { source, tools: list(tools) };
    let lists = [
        declared(ListSource::Webhook(id("w")), &["W", "Bash(*)"]),
        declared(ListSource::Skill("s".to_owned()), &["S", "A"]),
        declared(ListSource::Reminder(id("m")), &["M", "R"]),
        declared(ListSource::Routine(id("r2")), &["R2"]),
        declared(ListSource::Routine(id("r1")), &["R", " A ", "Write"]),
        declared(ListSource::Subagent("a".to_owned()), &["A", "A"]),
        declared(ListSource::Main, &["Main"]),
    ];
    let everyone = merged_list(&lists, &folders());
    assert_eq!(everyone.lines, ["Main", "A", "R2", "R", "M", "S", "W"]);
    let wrong = everyone.diagnostics.iter().filter(|complaint| is_error(complaint));
    let wrong: Vec<_> = wrong.map(|complaint| complaint.source.to_string()).collect();
    assert_eq!(wrong, ["routine:r1", "webhook:w"]);
    assert_eq!(main_list(&lists, &folders()).lines, list(&["Main", "A", "S"]));
    assert_eq!(merged_list(&[], &folders()), EffectiveList::default());
}

/// TP-13: The list of the main conversation has no issues and contains the eight own tools.
#[test]
fn the_main_conversation_has_its_own_list() {
    let left = main_list(&[DeclaredList::main()], &folders());
    assert_eq!(left, EffectiveList { lines: list(&MAIN_TOOLS), diagnostics: vec![] });
    let own: Vec<_> = MAIN_TOOLS.iter().filter_map(|pattern| pattern.strip_prefix(OWN_SERVER)).collect();
    assert_eq!(
        own,
        [
            "discord_embed",
            "ping_user",
            "follow_up_chain",
            "save_context",
            "report_updates",
            "enter_fork",
            "exit_fork",
            "compact_session",
        ]
    );
    let others: Vec<_> = MAIN_TOOLS.into_iter().filter(|pattern| !pattern.starts_with(OWN_SERVER)).collect();
    assert_eq!(
        others.join(", "),
        "Bash(ollim-bot tasks *), Bash(ollim-bot cal *), Bash(ollim-bot reminder *), \
        Bash(ollim-bot gmail *), Bash(ollim-bot help), Bash(claude-history *), Read(**.md), Write(**.md), Edit(**.md), \
        Glob(**.md), Grep(**.md), WebFetch, WebSearch, mcp__docs__*, Task, Skill"
    );
}

/// TP-15: The help tool is first in a run's list unless the list contains it.
#[test]
fn the_list_of_a_run_always_has_help() {
    assert_eq!(with_help(list(&["A", "B"])), [HELP_TOOL, "A", "B"]);
    assert_eq!(with_help(list(&["A", HELP_TOOL, "B"])), ["A", HELP_TOOL, "B"]);
    assert_eq!(with_help(list(&["A", " Bash(ollim-bot help) "])).len(), 2);
    assert_eq!(with_help(Vec::new()), [HELP_TOOL]);
}

/// TP-7: A glob that is built to be slow is matched quickly.
#[test]
fn very_long_line_is_matched_quickly() {
    for part in ["*", "**", "**/", "*a", "?", "../", "(", ")", "~/", "\u{202e}é", "[", "{a,"] {
        let long = part.repeat(2_000);
        for text in [format!("Write({long})"), format!("Edit({long}"), format!("Bash({long})"), long.clone()]
        {
            let left = effective_list(&[text], &ListSource::Main, &folders());
            assert_eq!(left.lines.is_empty(), left.diagnostics.iter().any(is_error), "{part}");
        }
    }
}

fn is_error(complaint: &PatternDiagnostic) -> bool {
    complaint.issue.severity() == Severity::Error
}

proptest! {
    /// TP-10: Any line is parsed without a panic, and a line that allows something is in the valid
    /// list.
    #[test]
    fn allowing_line_has_no_error(text in any::<String>(), glob in "[~./*?a-zé()\\[\\]state]{0,24}") {
        for text in [text, format!("Write({glob})"), format!("Bash({glob}"), glob] {
            let left = effective_list(std::slice::from_ref(&text), &ListSource::Main, &folders());
            prop_assert_eq!(left.lines.is_empty(), left.diagnostics.iter().any(is_error));
            let allows = |name| Pattern::parse(&text).is_ok_and(|pattern| pattern.allows_tool(name));
            prop_assert!(!left.lines.is_empty() || ![text.trim(), "Write", "ping_user"].into_iter().any(allows));
        }
    }
}
