//! Tests of the permission matrix, row by row.

use super::*;
use crate::label::{Label, Realm};
use std::borrow::Cow;

/// Tools of every class, and calls of every capability.
const TOOLS: [(&str, ToolClass); 12] = [
    ("report_updates", ToolClass::Own),
    ("inbox_add", ToolClass::Notes),
    ("schedule", ToolClass::Plans),
    ("Read", ToolClass::Reads),
    ("Write", ToolClass::Edits),
    ("inbox_remove", ToolClass::Acts),
    ("Task", ToolClass::Delegates),
    ("Bash", ToolClass::Shell),
    ("WebFetch", ToolClass::Fetches),
    ("WebSearch", ToolClass::Searches),
    ("mcp__notes__add", ToolClass::Foreign),
    ("ping_user", ToolClass::Own),
];

const TYPED: &str = "https://typed.example/a";

const CALLS: [(&str, &str); 23] = [
    ("Read", r#"{"file_path":"notes/a.md"}"#),
    ("Write", r#"{"file_path":"notes/a.md"}"#),
    ("Write", r#"{"file_path":"outside/a.md"}"#),
    ("Write", r#"{"file_path":"routines/a.md"}"#),
    ("inbox_add", r#"{"text":"milk"}"#),
    ("schedule", r#"{"words":"tea in 4 min"}"#),
    ("inbox_remove", r#"{"number":1}"#),
    ("Bash", r#"{"command":"ollim-bot mail unread"}"#),
    ("Bash", r#"{"command":"ollim-bot tasks add milk"}"#),
    ("Bash", r#"{"command":"ollim-bot tasks delete 1"}"#),
    ("Bash", r#"{"command":"ls notes"}"#),
    ("Bash", r#"{"command":"curl x","network":true}"#),
    ("WebFetch", r#"{"url":"https://typed.example/a"}"#),
    ("WebFetch", r#"{"url":"https://other.example/a"}"#),
    ("WebSearch", r#"{"query":"tea"}"#),
    ("mcp__notes__add", "{}"),
    ("Bash", r#"{"command":"ollim-bot config model x"}"#),
    ("schedule", r#"{"words":"stretch every day at 9"}"#),
    ("schedule", r#"{"words":"quiet hours 7-23"}"#),
    ("schedule", r#"{"words":"clear my inbox"}"#),
    ("Bash", r#"{"command":"ollim-bot add tea tomorrow at 9"}"#),
    ("Bash", r#"{"command":"ollim-bot add stretch every day at 9"}"#),
    ("Bash", r#"{"command":"ollim-bot add name Mallory"}"#),
];

/// The time at which planner text is read.
fn planner_clock() -> Option<PlannerClock> {
    let now = "2026-11-16T08:00[Europe/Madrid]".parse().expect("a time");
    Some(PlannerClock {
        now,
        habits: crate::phrase::Habits::default(),
        routines: Vec::new(),
        undone: Vec::new(),
    })
}

fn specs() -> Vec<ToolSpec> {
    TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class }).to_vec()
}

fn all_tools() -> ToolRule {
    let names =
        ["Read", "Write(**.md)", "inbox_add", "schedule", "inbox_remove", "Bash", "WebFetch", "WebSearch"];
    ToolRule::Only(list(&[&names[..], &["mcp__notes__add", "ping_user", "report_updates"]].concat()))
}

fn authority(place: Place, knows: Label) -> Authority {
    let tools = match place {
        Place::Background(_) => all_tools(),
        Place::Main(_) | Place::Fork => ToolRule::SameAsMain,
    };
    Authority {
        place,
        tools,
        mode: Mode::Ask,
        label: knows,
        links: vec![TYPED.to_owned()],
        request: None,
        server_kinds: ServerToolKinds::new(),
        clock: planner_clock(),
    }
}

/// Returns `+` if the call runs, `?` if the user is asked now or by a card, and `-` if it never
/// runs.
fn sign(name: &str, input: &str, authority: &Authority) -> char {
    match decide(&call(name, input), &specs(), authority, &Consent::default()) {
        None => '?',
        Some(decision) if decision.refusal().is_none() => '+',
        Some(_) => '-',
    }
}

fn row(place: Place, knows: Label) -> String {
    CALLS.iter().map(|(name, input)| sign(name, input, &authority(place, knows))).collect()
}

/// I3: Every cell. Outside text never causes an action of the lower rows without an approval.
#[test]
fn every_cell_is_as_specified() {
    let plain = Label::PLAIN;
    let private = Label::private(Realm::Chat);
    let web = Label::outside(Realm::Web);
    let both = Label::both(Realm::Mail);
    // Read, note, outside note, routine | inbox, plan, remove | mail, add, delete | sandbox,
    // network | typed, other, search, server | config | words: repeats, quiet hours, clear | add:
    // once, repeats, name
    assert_eq!(row(MAIN, plain), "+++?++?++?+?+?+?-???+??");
    assert_eq!(row(MAIN, private), "+++?++?++?+?+?+?-???+??");
    assert_eq!(row(MAIN, web), "+++?++?++?+-+?+?-???+??");
    assert_eq!(row(MAIN, both), "+++?++?++?+-+???-???+??");
    assert_eq!(row(Place::Fork, private), row(MAIN, private));
    assert_eq!(row(Place::Fork, both), row(MAIN, both));
    assert_eq!(row(BACKGROUND, plain), row(MAIN, plain));
    assert_eq!(row(BACKGROUND, private), row(BACKGROUND, plain));
    assert_eq!(row(BACKGROUND, web), row(MAIN, web));
    assert_eq!(row(BACKGROUND, both), row(MAIN, both));
}

/// Authority files are only changed with an approval, even by a job that may write files of their
/// kind, and in the mode that edits files without asking.
#[test]
fn authority_files_need_an_approval() {
    let edit = |path: &str, place, knows| {
        let tools = ToolRule::Only(list(&["Write(**.md)", "Write(**.toml)", "Write(**.json)"]));
        let input = format!(r#"{{"file_path":{path:?}}}"#);
        sign("Write", &input, &Authority { tools, mode: Mode::AcceptEdits, ..authority(place, knows) })
    };
    for knows in [Label::PLAIN, Label::both(Realm::Mail)] {
        for path in ["routines/a.md", "mcp.json", "CLAUDE.md", "settings.toml", "./Prices.toml"] {
            assert_eq!((edit(path, BACKGROUND, knows), edit(path, MAIN, knows)), ('?', '?'), "{path}");
        }
        assert_eq!(edit("notes/list.toml", BACKGROUND, knows), '+');
    }
}

/// With outside text and private data, only a search that the user asked for in this turn runs:
/// every significant word of it is theirs.
#[test]
fn requested_search_runs_after_outside_text() {
    let search = |query: &str, (place, request): (Place, Option<&str>), knows| {
        let authority = Authority { request: request.map(str::to_owned), ..authority(place, knows) };
        sign("WebSearch", &format!("{{\"query\":\"{query}\"}}"), &authority)
    };
    let both = Label::both(Realm::Mail);
    let asked = |query: &str, request: &str| search(query, (MAIN, Some(request)), both);
    assert_eq!(asked("Trains to Lisbon", "look up trains to Lisbon, please"), '+');
    assert_eq!(asked("the trains in Lisbon?", "are there trains near lisbon"), '+');
    assert_eq!(asked("Zug nach Köln", "such einen Zug nach köln"), '+');
    let request = "look up trains to lisbon, please";
    for query in [
        "trains to lisbon 4711",
        "trains to lisbon for anna",
        "trains to lisbon evil.example",
        "train-s to lisbon",
        "trains\u{200b}\u{200b} to lisbon",
        "the",
        "",
    ] {
        assert_eq!(asked(query, request), '?', "{query:?}");
    }
    assert_eq!(asked("Trains to Lisbon", "what does the mail say?"), '?');
    assert_eq!(search("Trains to Lisbon", (MAIN, None), both), '?');
    assert_eq!(search("my pin 4711", (MAIN, None), Label::outside(Realm::Web)), '+');
    assert_eq!(search("my pin 4711", (MAIN, None), Label::private(Realm::Chat)), '+');
    // In the background the job's file is the user's request; every other search leaves a card.
    assert_eq!(search("trains to lisbon", (BACKGROUND, Some(request)), both), '+');
    assert_eq!(search("trains to lisbon 4711", (BACKGROUND, Some(request)), both), '?');
}

/// A routine without tools is added at once if the user asks for it and no outside text can be the
/// cause.
#[test]
fn requested_routine_without_tools_is_free() {
    let add = |more: &str, request: Option<&str>, knows| {
        let request = request.map(str::to_owned);
        let input = format!("{{\"command\":\"ollim-bot routine add -m tea --cron '0 9 * * *'{more}\"}}");
        sign("Bash", &input, &Authority { request, ..authority(MAIN, knows) })
    };
    let asked = Some("tea at 9 every day");
    let private = Label::private(Realm::Chat);
    assert_eq!(add("", asked, private), '+');
    assert_eq!(add("", None, private), '?');
    assert_eq!(add("", asked, Label::both(Realm::Mail)), '?');
    assert_eq!(add(" --allowed-tools Bash", asked, private), '?');
    assert_eq!(add(" --background", asked, private), '?');
}

/// Planner text is in the row of its meaning: a routine and quiet hours are free if the user asked
/// for something and no outside text can be the cause, and text that the user wrote exactly so is
/// free.
#[test]
fn planner_text_is_in_the_row_of_its_meaning() {
    let row_of = sign;
    let sign = |words: &str, place, request: Option<&str>, knows| {
        let request = request.map(str::to_owned);
        let authority = Authority { request, ..authority(place, knows) };
        sign("schedule", &format!("{{\"words\":{words:?}}}"), &authority)
    };
    let clean = Label::private(Realm::Chat);
    let both = Label::both(Realm::Mail);
    let asked = Some("please do that");
    let other = Some("what is in my mail?");
    for words in [
        "stretch every weekday at 3pm",
        "stretch every 2 days at 9",
        "quiet 23-7",
        "quiet hours off",
        "focus 25",
    ] {
        assert_eq!(sign(words, MAIN, asked, clean), '+', "{words}");
        assert_eq!(sign(words, MAIN, None, clean), '?', "{words}");
        assert_eq!(sign(words, MAIN, other, both), '?', "{words}");
        assert_eq!(sign(words, BACKGROUND, other, both), '?', "{words}");
        assert_eq!(sign(words, MAIN, Some(&format!(" {words} ")), both), '+', "{words}");
        assert_eq!(sign(words, MAIN, Some(&format!("{words}, she wrote")), both), '?', "{words}");
        // The text of a job's file may have been written by a model.
        assert_eq!(sign(words, BACKGROUND, Some(words), both), '?', "{words}");
    }
    assert_eq!(sign("clear my inbox", MAIN, asked, clean), '?');
    assert_eq!(sign("clear my inbox", MAIN, Some("clear my inbox"), both), '+');
    for words in ["tea in 4 min", "today", "undo", "pause until thursday", "dentist friday 9", "cancel tea"] {
        assert_eq!(sign(words, MAIN, other, both), '+', "{words}");
        assert_eq!(sign(words, BACKGROUND, other, both), '+', "{words}");
    }
    // Reading a time needs a clock.
    let blind = Authority { clock: None, ..authority(MAIN, both) };
    assert_eq!(row_of("schedule", r#"{"words":"tea in 4 min"}"#, &blind), '?');
}

/// A command that a job excludes cannot be run as planner text either.
#[test]
fn planner_text_cannot_bypass_excluded_commands() {
    let is_refused = |line: &str, name: &str, input: &str| {
        let tools = ToolRule::Except(list(&[line]));
        sign(name, input, &Authority { tools, ..authority(MAIN, Label::PLAIN) }) == '-'
    };
    let words = |words: &str| format!("{{\"words\":{words:?}}}");
    for (line, said) in [
        ("Bash(ollim-bot routine *)", "stretch every day at 9"),
        ("Bash(ollim-bot routine add *)", "pay rent every 1st at 9"),
        ("Bash(ollim-bot routine *)", "cancel stretching"),
        ("Bash(ollim-bot inbox remove *)", "clear my inbox"),
        ("Bash(ollim-bot inbox clear)", "clear inbox"),
        ("Bash(ollim-bot inbox remove *)", "done inbox:3"),
        ("Bash(ollim-bot quiet *)", "quiet hours 7-23"),
        ("Bash(ollim-bot config *)", "quiet 7-23"),
        ("Bash(ollim-bot pause *)", "pause until thursday"),
        ("Bash(ollim-bot reminder *)", "tea in 4 min"),
        ("Bash(ollim-bot *)", "today"),
    ] {
        assert!(is_refused(line, "schedule", &words(said)), "{line}: {said}");
    }
    for (line, said) in [
        ("Bash(ollim-bot routine *)", "tea in 4 min"),
        ("Bash(ollim-bot inbox remove *)", "stretch every day at 9"),
        ("Bash(ollim-bot quiet *)", "pause until thursday"),
    ] {
        assert!(!is_refused(line, "schedule", &words(said)), "{line}: {said}");
    }
    let add = r#"{"command":"ollim-bot add stretch every day at 9"}"#;
    assert!(is_refused("Bash(ollim-bot routine *)", "Bash", add));
    assert!(!is_refused("Bash(ollim-bot inbox *)", "Bash", add));
}

/// I3: A job that names a host may reach it without outside text, and no other host.
#[test]
fn named_host_is_reached_without_outside_text() {
    let fetch = |knows, url: &str| {
        let tools = ToolRule::Only(list(&["WebFetch(domain:news.example)"]));
        let request = Some("tell me the news".to_owned());
        let authority = Authority { tools, request, ..authority(BACKGROUND, knows) };
        sign("WebFetch", &format!("{{\"url\":{url:?}}}"), &authority)
    };
    let private = Label::private(Realm::Chat);
    let both = Label::both(Realm::Mail);
    assert_eq!(fetch(private, "https://news.example/today"), '+');
    assert_eq!(fetch(private, "https://uk.news.example./today"), '+');
    assert_eq!(fetch(both, "https://news.example/today"), '?');
    for other in [
        "https://news.example@evil.example/",
        "https://evil.example/news.example",
        "https://xnews.example/",
        "https://news.example.evil.example/",
        "file:///etc/passwd",
        "https:evil.example/x://news.example/",
        "news.example",
        "https:news.example",
    ] {
        assert_eq!(fetch(private, other), '-', "{other}");
    }
}

/// I5, PM-14: With outside text, a standing approval covers none of the lower rows, and no mode
/// helps. A grant for exactly this call does.
#[test]
fn standing_approval_does_not_apply_with_outside_text() {
    for (name, input) in CALLS {
        let consent = always_consent(&call(name, input));
        for mode in Mode::ALL {
            let clean = Authority { mode, ..authority(MAIN, Label::PLAIN) };
            let tainted = Authority { mode, ..authority(MAIN, Label::both(Realm::Mail)) };
            let allowed = |authority: &Authority, consent: &Consent| {
                let decision = decide(&call(name, input), &specs(), authority, consent);
                decision.is_some_and(|decision| decision.refusal().is_none())
            };
            let class =
                TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, class)| *class).expect("a tool");
            let grave =
                tool_action_at(&call(name, input), class, planner_clock().as_ref()).capability.is_grave()
                    && !input.contains(TYPED);
            assert!(!(grave && allowed(&tainted, &consent)), "{name} {input} in {mode:?}");
            let unasked = allowed(&tainted, &Consent::default());
            assert_eq!(allowed(&tainted, &consent), unasked, "{name} {input} in {mode:?}");
            assert!(!allowed(&tainted, &consent) || allowed(&clean, &consent), "{name} {input} in {mode:?}");
            let grant = Grant { id: ApprovalId(1), call: call(name, input), expires_at: Timestamp::MAX };
            let exactly = Consent { grants: vec![grant], ..Consent::default() };
            let shut = input.contains("network") || input.contains("config");
            assert_eq!(allowed(&tainted, &exactly), !shut, "{name} {input} in {mode:?}");
        }
    }
}

/// I12: A subagent may do no more than its caller, and keeps the caller's label.
#[test]
fn subagent_has_no_more_permissions_than_its_caller() {
    let lists =
        [all_tools(), ToolRule::Only(list(&["Read", "Bash(ollim-bot tasks *)"])), ToolRule::Only(Vec::new())];
    let labels =
        [Label::PLAIN, Label::private(Realm::Chat), Label::outside(Realm::Web), Label::both(Realm::Mail)];
    for (outer, inner) in lists.iter().flat_map(|outer| lists.iter().map(move |inner| (outer, inner))) {
        for knows in labels {
            let parent = Authority { tools: outer.clone(), ..authority(BACKGROUND, knows) };
            let tools = ToolRule::Intersection(Box::new(outer.clone()), Box::new(inner.clone()));
            let child = Authority { tools, ..parent.clone() };
            for (name, input) in CALLS {
                let above = sign(name, input, &parent);
                let below = sign(name, input, &child);
                assert!(below == '-' || below == above, "{name} {input}: {above} lends {below}");
            }
        }
    }
}

/// An object with a duplicate key is refused, because readers would disagree about it.
#[test]
fn ambiguous_input_is_refused() {
    for (name, input) in [
        ("Bash", r#"{"command":"ollim-bot help","command":"ollim-bot tasks delete 1"}"#),
        ("Bash", "not json"),
        ("WebFetch", r#"{"url":"https://typed.example/a","url":"https://evil.example"}"#),
        ("Read", "[]"),
        ("mcp__notes__add", ""),
    ] {
        assert_eq!(sign(name, input, &authority(MAIN, Label::PLAIN)), '-', "{name} {input}");
    }
}

/// A critical ping is refused in a run with outside text.
#[test]
fn critical_ping_is_refused_with_outside_text() {
    let ping =
        |knows| sign("ping_user", r#"{"message":"now!","critical":true}"#, &authority(BACKGROUND, knows));
    assert_eq!((ping(Label::PLAIN), ping(Label::private(Realm::Chat))), ('+', '+'));
    assert_eq!((ping(Label::outside(Realm::Web)), ping(Label::both(Realm::Mail))), ('-', '-'));
}

/// A server tool is decided by its accepted kind, without and with outside text.
#[test]
fn server_tool_is_in_the_row_of_its_kind() {
    let name = "mcp__bank__do";
    let specs = vec![ToolSpec {
        name: "mcp",
        description: Cow::Borrowed(""),
        schema: "{}",
        class: ToolClass::Foreign,
    }];
    let input = r#"{"tool":"mcp__bank__do","input":{"amount":"10"}}"#;
    let signs = |kind: Option<ServerToolKind>, input: &str| {
        let sign = |knows| {
            let kinds = kind.map(|kind| (name.to_owned(), kind)).into_iter().collect();
            let authority = Authority { server_kinds: kinds, ..authority(MAIN, knows) };
            match decide(&call("mcp", input), &specs, &authority, &Consent::default()) {
                None => '?',
                Some(decision) if decision.refusal().is_none() => '+',
                Some(_) => '-',
            }
        };
        [sign(Label::PLAIN), sign(Label::both(Realm::Server))].into_iter().collect::<String>()
    };
    assert_eq!(signs(None, input), "??");
    assert_eq!(signs(Some(ServerToolKind::Read), input), "++");
    assert_eq!(signs(Some(ServerToolKind::Own), input), "++");
    assert_eq!(signs(Some(ServerToolKind::Search), input), "+?");
    assert_eq!(signs(Some(ServerToolKind::Fetch), input), "??");
    assert_eq!(signs(Some(ServerToolKind::Send), input), "??");
    // The kind belongs to one tool, and a call that names its tool twice has none.
    let other = r#"{"tool":"mcp__bank__other","input":{}}"#;
    assert_eq!(signs(Some(ServerToolKind::Read), other), "??");
    let twice = r#"{"tool":"mcp__bank__do","tool":"mcp__bank__other","input":{}}"#;
    assert_eq!(signs(Some(ServerToolKind::Read), twice), "--");
}

/// A server tool opens an address without asking only if the user wrote exactly that address in
/// this turn, and the call contains nothing else.
#[test]
fn server_tool_opens_the_address_that_the_user_wrote() {
    let specs =
        [ToolSpec { name: "mcp", description: Cow::Borrowed(""), schema: "{}", class: ToolClass::Foreign }];
    let opens = |input: &str, request: Option<&str>| {
        let kinds = ServerToolKinds::from([("mcp__web__open".to_owned(), ServerToolKind::Fetch)]);
        let request = request.map(str::to_owned);
        let authority =
            Authority { server_kinds: kinds, request, ..authority(MAIN, Label::both(Realm::Server)) };
        let input = format!(r#"{{"tool":"mcp__web__open","input":{input}}}"#);
        decide(&call("mcp", &input), &specs, &authority, &Consent::default()).is_some()
    };
    let request = Some("Please read www.news.example, and tell me.");
    assert!(opens(r#"{"url":"www.news.example"}"#, request));
    assert!(!opens(r#"{"url":"www.news.example"}"#, None));
    assert!(!opens(r#"{"url":"www.news.example/?q=secret"}"#, request));
    assert!(!opens(r#"{"url":"www.news.example","body":"secret"}"#, request));
    assert!(!opens(r#"{"url":["www.news.example"]}"#, request));
    assert!(!opens(r#"{"url":""}"#, request));
    // Seen or earlier addresses are for the own fetch tool, which sends no credentials.
    assert!(!opens(&format!(r#"{{"url":"{TYPED}"}}"#), request));
}

/// Settings are authority: a change needs an approval, in the background through a card, and only
/// the user changes the permission mode.
#[test]
fn a_command_that_changes_a_setting_asks() {
    let bash = |command: &str, authority: &Authority| {
        sign("Bash", &format!("{{\"command\":{command:?}}}"), authority)
    };
    let mail = Label::both(Realm::Mail);
    for (place, knows) in [(MAIN, Label::PLAIN), (MAIN, mail), (BACKGROUND, Label::PLAIN), (BACKGROUND, mail)]
    {
        for mode in [Mode::Ask, Mode::AcceptEdits, Mode::Bypass] {
            let authority = Authority { mode, ..authority(place, knows) };
            for change in [
                "ollim-bot config model.main opus",
                "ollim-bot config daily_limit 50",
                "ollim-bot quiet 23-7",
                "ollim-bot quiet for 2h",
                "ollim-bot focus 25 taxes",
                "ollim-bot focus off",
            ] {
                assert_eq!(bash(change, &authority), '?', "{change} {authority:?}");
            }
            for never in [
                "ollim-bot config permission_mode bypassPermissions",
                "ollim-bot config --json permission_mode default",
                "ollim-bot google connect",
                "ollim-bot mcp-servers accept notes",
            ] {
                assert_eq!(bash(never, &authority), '-', "{never} {authority:?}");
            }
            for read in ["ollim-bot config", "ollim-bot config model.main", "ollim-bot quiet"] {
                assert_eq!(bash(read, &authority), '+', "{read} {authority:?}");
            }
        }
    }
    // Quiet hours and focus that the user asked for in this turn need no approval in a conversation
    // without outside text.
    let request = Some("mute me while I do my taxes".to_owned());
    let asked = Authority { request, ..authority(MAIN, Label::PLAIN) };
    assert_eq!(bash("ollim-bot focus 25 taxes", &asked), '+');
    assert_eq!(bash("ollim-bot config model.main opus", &asked), '?');
    let tainted = Authority { label: mail, ..asked };
    assert_eq!(bash("ollim-bot focus 25 taxes", &tainted), '?');
}

/// A text that cancels an item has the same capability as the item itself.
#[test]
fn words_that_cancel_a_routine_are_in_its_row() {
    use crate::schedule::{
        Cron, ItemId, JobSpec, JobTarget, PlannedJob, Prompt, Recurrence, Routine, RunOptions,
    };
    let routine = |id: &str, words: &str, charter: JobTarget| {
        let rhythm = Recurrence::new(Cron::parse("0 9 * * *").expect("a rhythm"));
        let id = ItemId::parse(id).expect("an id");
        let routine = Routine { target: charter, ..Routine::new(id, rhythm, Prompt::new(words)) };
        std::sync::Arc::new(PlannedJob { spec: JobSpec::Routine(routine), file: String::new() })
    };
    let tools = RunOptions { tools: ToolRule::Only(list(&["WebFetch"])), ..RunOptions::default() };
    let stretch = routine("a1a1a1a1", "stretch", JobTarget::main());
    let mail = routine("b2b2b2b2", "read my mail", JobTarget::Isolated(tools));
    let clock = PlannerClock {
        routines: vec![stretch.clone(), mail.clone()],
        undone: Vec::new(),
        ..planner_clock().expect("a clock")
    };
    let says = |words: &str, clock: &PlannerClock, knows: Label, request: Option<&str>| {
        let request = request.map(str::to_owned);
        let authority = Authority { request, clock: Some(clock.clone()), ..authority(MAIN, knows) };
        let add = format!("{{\"command\":\"ollim-bot add {words}\"}}");
        let signs = [
            sign("schedule", &format!("{{\"words\":{words:?}}}"), &authority),
            sign("Bash", &add, &authority),
        ];
        assert_eq!(signs[0], signs[1], "{words}");
        signs[0]
    };
    let (plain, outside) = (Label::PLAIN, Label::both(Realm::Mail));
    let asked = Some("I do not want that any more");
    for knows in [plain, outside] {
        for words in ["cancel mail", "cancel read my mail", "cancel b2b2b2b2", "cancel b2b2"] {
            assert_eq!(says(words, &clock, knows, asked), '?', "{words}");
            assert_eq!(says(words, &clock, knows, Some(words)), '+', "the user's own words: {words}");
        }
        assert_eq!(says("cancel dentist", &clock, knows, asked), '+', "a reminder");
        assert_eq!(says("cancel stretch", &clock, knows, None), '?');
    }
    assert_eq!(says("cancel stretch", &clock, plain, asked), '+');
    assert_eq!(says("cancel stretch", &clock, outside, asked), '?');
    // `undo` and `never mind` revert the last change, whichever it was.
    for (undone, expected) in [(vec![mail], '?'), (vec![stretch], '+'), (Vec::new(), '+')] {
        let clock = PlannerClock { undone, ..clock.clone() };
        assert_eq!(says("undo", &clock, plain, asked), expected);
        assert_eq!(says("never mind", &clock, plain, asked), expected);
    }
}
