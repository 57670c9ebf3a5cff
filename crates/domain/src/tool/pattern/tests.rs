//! Tests of issues in lines, and of valid lines in lists.

use proptest::prelude::*;

use super::*;
use crate::schedule::ItemId;

fn folders() -> Folders {
    Folders { data: "/people/me/.ollim".to_owned(), home: Some("/people/me".to_owned()) }
}

fn found(text: &str) -> Vec<Finding> {
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
fn a_line_is_told_what_is_wrong_with_it() {
    let check = |text: &str, words: &[&str]| {
        let findings = found(text);
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
fn a_line_that_forbids_is_told_what_is_wrong_with_it() {
    let told = |text: &str| {
        let complaints = forbidden_complaints(&list(&[text]), &Source::Routine(id("mail")));
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
fn all_but_the_overly_broad_are_errors() {
    let severities = |text: &str| found(text).into_iter().map(Finding::severity).collect::<Vec<_>>();
    assert_eq!(severities("Read(*)"), [Severity::Warning]);
    for wrong in ["", "Bash(*)", "Bash(a;b)", "Write(**)", "Bash(", "Bash()", "Bash(overly broad; rm)"] {
        assert_eq!(severities(wrong), [Severity::Error], "{wrong}");
    }
    for finding in ["", "Bash(*)", "Bash(a;b)", "Write(**)", "Bash(", "Bash()"].map(|text| found(text)[0]) {
        assert!(!finding.to_string().contains("overly broad"), "{finding}");
    }
}

/// TP-7, TP-8, TP-9: Globs that could write into `state/` are found in every spelling.
#[test]
fn a_line_that_could_write_into_state_is_an_error() {
    let could = |glob: &str| {
        let found = ["Write", "Edit"].map(|name| found(&format!("{name}({glob})")));
        assert_eq!(found[0], found[1], "{glob}");
        assert!(!found_in_read(glob).contains(&Finding::State), "{glob}");
        found[0].contains(&Finding::State)
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
        assert_eq!(found(bare), [Finding::State]);
    }
    assert!(Finding::State.to_string().contains("state/"));
}

fn found_in_read(glob: &str) -> Vec<Finding> {
    found(&format!("Read({glob})"))
}

/// TP-9: Wildcard characters in the name of the data directory are literal, and an unknown home may
/// be any directory.
#[test]
fn the_data_directory_may_have_any_name() {
    let strange = Folders { data: "/srv/./a*b/x/../?/".to_owned(), home: None };
    let could = |glob: &str| validate(&format!("Write({glob})"), &strange) == [Finding::State];
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
fn a_list_is_what_is_left_of_it() {
    let tools =
        list(&["WebFetch", "Bash(*)", " Read(*) ", "", "Write(**)", "Edit", "Write(**.md)", "Bash(a\n;b)"]);
    let left = effective(&tools, &Source::Routine(id("mail")), &folders());
    assert_eq!(left.kept, ["WebFetch", "Read(*)", "Write(**.md)"]);
    let told: Vec<_> = left.complaints.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 6);
    assert!(
        told[0].starts_with("routine:mail: the tool pattern `Bash(*)` is left out: it is too broad"),
        "{told:?}"
    );
    assert!(told[1].contains("` Read(*) ` is kept: it is overly broad"), "{told:?}");
    assert!(told[5].contains(r"`Bash(a\n;b)` is left out"), "{told:?}");
    let long = effective(&[format!("Bash({};)", "é".repeat(5000))], &Source::Main, &folders());
    assert!(long.complaints[0].to_string().chars().count() < 400);
}

/// TP-10: The names of sources.
#[test]
fn a_source_is_named_by_its_kind_and_its_name() {
    let name = || "x".to_owned();
    let sources = [
        Source::Main,
        Source::Subagent(name()),
        Source::Routine(id("x")),
        Source::Reminder(id("x")),
        Source::Skill(name()),
        Source::Webhook(id("x")),
    ];
    let names = sources.map(|source| source.to_string());
    assert_eq!(names, ["main", "subagent:x", "routine:x", "reminder:x", "skill:x", "webhook:x"]);
}

/// TP-12: The union of lists is in order and without duplicates; lists of jobs do not apply to the
/// main conversation.
#[test]
fn lists_come_together_in_the_order_of_their_sources() {
    let declared = |source: Source, tools: &[&str]| Declared { source, tools: list(tools) };
    let lists = [
        declared(Source::Webhook(id("w")), &["W", "Bash(*)"]),
        declared(Source::Skill("s".to_owned()), &["S", "A"]),
        declared(Source::Reminder(id("m")), &["M", "R"]),
        declared(Source::Routine(id("r2")), &["R2"]),
        declared(Source::Routine(id("r1")), &["R", " A ", "Write"]),
        declared(Source::Subagent("a".to_owned()), &["A", "A"]),
        declared(Source::Main, &["Main"]),
    ];
    let everyone = for_everyone(&lists, &folders());
    assert_eq!(everyone.kept, ["Main", "A", "R2", "R", "M", "S", "W"]);
    let wrong = everyone.complaints.iter().filter(|complaint| is_error(complaint));
    let wrong: Vec<_> = wrong.map(|complaint| complaint.source.to_string()).collect();
    assert_eq!(wrong, ["routine:r1", "webhook:w"]);
    assert_eq!(for_main(&lists, &folders()).kept, list(&["Main", "A", "S"]));
    assert_eq!(for_everyone(&[], &folders()), Effective::default());
}

/// TP-13: The list of the main conversation has no issues and contains the eight own tools.
#[test]
fn the_main_conversation_has_its_own_list() {
    let left = for_main(&[Declared::main()], &folders());
    assert_eq!(left, Effective { kept: list(&MAIN), complaints: vec![] });
    let own: Vec<_> = MAIN.iter().filter_map(|pattern| pattern.strip_prefix(OWN_SERVER)).collect();
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
    let others: Vec<_> = MAIN.into_iter().filter(|pattern| !pattern.starts_with(OWN_SERVER)).collect();
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
    assert_eq!(with_help(list(&["A", "B"])), [HELP, "A", "B"]);
    assert_eq!(with_help(list(&["A", HELP, "B"])), ["A", HELP, "B"]);
    assert_eq!(with_help(list(&["A", " Bash(ollim-bot help) "])).len(), 2);
    assert_eq!(with_help(Vec::new()), [HELP]);
}

/// TP-7: A glob that is built to be slow is matched quickly.
#[test]
fn a_very_long_line_is_read_like_any_other() {
    for part in ["*", "**", "**/", "*a", "?", "../", "(", ")", "~/", "\u{202e}é", "[", "{a,"] {
        let long = part.repeat(2_000);
        for text in [format!("Write({long})"), format!("Edit({long}"), format!("Bash({long})"), long.clone()]
        {
            let left = effective(&[text], &Source::Main, &folders());
            assert_eq!(left.kept.is_empty(), left.complaints.iter().any(is_error), "{part}");
        }
    }
}

fn is_error(complaint: &Complaint) -> bool {
    complaint.finding.severity() == Severity::Error
}

proptest! {
    /// TP-10: Any line is parsed without a panic, and a line that allows something is in the valid
    /// list.
    #[test]
    fn what_allows_something_has_no_error(text in any::<String>(), glob in "[~./*?a-zé()\\[\\]state]{0,24}") {
        for text in [text, format!("Write({glob})"), format!("Bash({glob}"), glob] {
            let left = effective(std::slice::from_ref(&text), &Source::Main, &folders());
            prop_assert_eq!(left.kept.is_empty(), left.complaints.iter().any(is_error));
            let allows = |name| Pattern::read(&text).is_ok_and(|pattern| pattern.allows(name));
            prop_assert!(!left.kept.is_empty() || ![text.trim(), "Write", "ping_user"].into_iter().any(allows));
        }
    }
}
