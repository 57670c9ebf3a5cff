//! An independent implementation of the permission table: no more may run than it allows.

use domain::approval::{ApprovalId, Consent, Grant, Scope, StandingApproval};
use domain::conversation::Json;
use domain::label::{Label, Realm};
use domain::permission::{Authority, Mode, PlannerClock, decide};
use domain::phrase::Habits;
use domain::place::{BackgroundPlace, ChainPosition, Place};
use domain::rng::Rng;
use domain::schedule::ToolRule;
use domain::tool::{ServerToolKinds, ToolCall, ToolSpec};
use jiff::Timestamp;
use std::borrow::Cow;
use std::sync::LazyLock;

use crate::harness::TOOLS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// It notifies the user, reads, writes a note with outside text, or runs in the sandbox.
    Harmless,
    Alarm,
    Note,
    Authority,
    Reversible,
    Destructive,
    Typed,
    Fetch,
    Search,
    Server,
    Networked,
    Never,
}

use Column as C;

/// Calls with the column that each belongs to, assigned manually. `#` is any word.
const CALLS: [(&str, &str, Column); 43] = [
    ("report_updates", r##"{"message":"#"}"##, C::Harmless),
    ("ping_user", r##"{"message":"#"}"##, C::Harmless),
    ("ping_user", r##"{"message":"#","critical":true}"##, C::Alarm),
    ("Task", r##"{"subagent_type":"reader","prompt":"#"}"##, C::Harmless),
    ("save_context", "{}", C::Reversible),
    ("inbox_add", r##"{"text":"#"}"##, C::Note),
    ("inbox_remove", r##"{"number":1}"##, C::Destructive),
    ("schedule", r##"{"words":"# tomorrow at 9"}"##, C::Reversible),
    ("schedule", r##"{"words":"# every day at 9"}"##, C::Authority),
    ("schedule", r##"{"words":"quiet hours 7-23"}"##, C::Authority),
    ("schedule", r##"{"words":"clear my inbox"}"##, C::Destructive),
    ("Read", r##"{"file_path":"notes/#.md"}"##, C::Harmless),
    ("Read", r##"{"file_path":"outside/#.md"}"##, C::Harmless),
    ("Write", r##"{"file_path":"notes/#.md"}"##, C::Note),
    ("Write", r##"{"file_path":"outside/#.md"}"##, C::Harmless),
    ("Write", r##"{"file_path":"./Routines/#.md"}"##, C::Authority),
    ("Write", r##"{"file_path":"outside/../reminders./#.md"}"##, C::Authority),
    ("Edit", r##"{"file_path":".claude/agents/#.md"}"##, C::Authority),
    ("Edit", r##"{"file_path":"MCP.json"}"##, C::Authority),
    ("Edit", r##"{"file_path":"./Settings.toml"}"##, C::Authority),
    ("Write", r##"{"file_path":"notes/../STATE/#.json"}"##, C::Never),
    ("Write", "{}", C::Never),
    ("Bash", r##"{"command":"ollim-bot mail search #"}"##, C::Harmless),
    ("Bash", r##"{"command":"ollim-bot tasks add #"}"##, C::Reversible),
    ("Bash", r##"{"command":"ollim-bot cal delete #"}"##, C::Destructive),
    ("Bash", r##"{"command":"ollim-bot add # on friday at 9"}"##, C::Reversible),
    ("Bash", r##"{"command":"ollim-bot add # every monday at 9"}"##, C::Authority),
    ("Bash", r##"{"command":"ollim-bot add clear inbox"}"##, C::Destructive),
    ("Bash", r##"{"command":"ollim-bot routine add -m #"}"##, C::Authority),
    ("Bash", r##"{"command":"ollim-bot config model #"}"##, C::Never),
    ("Bash", r##"{"command":"ollim-bot config model.main #"}"##, C::Authority),
    ("Bash", r##"{"command":"ollim-bot config permission_mode bypassPermissions"}"##, C::Never),
    ("Bash", r##"{"command":"ollim-bot config model.main"}"##, C::Harmless),
    ("Bash", r##"{"command":"ollim-bot quiet 23-7"}"##, C::Authority),
    ("Bash", r##"{"command":"ollim-bot focus 25 #"}"##, C::Authority),
    ("schedule", r##"{"words":"focus 25 #"}"##, C::Authority),
    ("Bash", r##"{"command":"ollim-bot tasks add #; ls"}"##, C::Harmless),
    ("Bash", r##"{"command":"curl #","network":true}"##, C::Networked),
    ("WebFetch", r##"{"url":"https://typed.example/page"}"##, C::Typed),
    ("WebFetch", r##"{"url":"https://#.example/page"}"##, C::Fetch),
    ("WebSearch", r##"{"query":"#"}"##, C::Search),
    ("mcp__notes__add", r##"{"text":"#"}"##, C::Server),
    ("no_such_tool", "{}", C::Never),
];

/// The expected decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Run,
    Ask,
    Not,
}

fn expected_decision(column: Column, Authority { place, label: knows, .. }: &Authority) -> Expected {
    let unattended = matches!(place, Place::Background(_));
    let tainted = knows.is_tainted();
    let private = knows.is_private();
    match column {
        C::Never => Expected::Not,
        C::Alarm if tainted && unattended => Expected::Not,
        C::Networked if tainted => Expected::Not,
        C::Harmless | C::Alarm | C::Note | C::Reversible | C::Typed => Expected::Run,
        C::Search if tainted && private => Expected::Ask,
        C::Search => Expected::Run,
        C::Authority | C::Destructive | C::Networked | C::Fetch | C::Server => Expected::Ask,
    }
}

struct Case {
    call: ToolCall,
    column: Column,
    authority: Authority,
    consent: Consent,
    granted: bool,
    /// The calls with an "always" of the user.
    always_calls: Vec<ToolCall>,
}

fn specs() -> Vec<ToolSpec> {
    TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class }).to_vec()
}

fn clock() -> Option<PlannerClock> {
    static CLOCK: LazyLock<PlannerClock> = LazyLock::new(|| {
        let now = "2026-11-16T08:00[Europe/Madrid]".parse().expect("a time");
        PlannerClock { now, habits: Habits::default(), routines: Vec::new(), undone: Vec::new() }
    });
    Some(CLOCK.clone())
}

fn label(dice: &mut Rng) -> Label {
    let realm = Realm::ALL[(dice.next_u64() % 11) as usize];
    [Label::PLAIN, Label::private(realm), Label::outside(realm), Label::both(realm)]
        [(dice.next_u64() % 4) as usize]
}

fn list(dice: &mut Rng) -> Vec<String> {
    let names = ["Bash", "Read", "Write(**.md)", "Edit(**.md)", "WebFetch", "WebSearch", "mcp__notes__add"];
    let own = [
        "schedule",
        "inbox_add",
        "inbox_remove",
        "Task",
        "report_updates",
        "ping_user",
        "Bash(ollim-bot tasks *)",
    ];
    names
        .iter()
        .chain(&own)
        .filter(|_| !dice.next_u64().is_multiple_of(3))
        .map(|name| (*name).to_owned())
        .collect()
}

fn tool_rule(dice: &mut Rng) -> ToolRule {
    match dice.next_u64() % 5 {
        0 => ToolRule::SameAsMain,
        1 => ToolRule::Except(list(dice)),
        _ => ToolRule::Only(list(dice)),
    }
}

fn call(dice: &mut Rng) -> (ToolCall, Column) {
    let (name, input, column) = CALLS[(dice.next_u64() % CALLS.len() as u64) as usize];
    let input = Json(input.replace('#', &format!("x{:x}", dice.next_u64() & 0xffff)));
    (ToolCall { id: "c".to_owned(), name: name.to_owned(), input }, column)
}

fn case(dice: &mut Rng) -> Case {
    let (call, column) = call(dice);
    let place = match dice.next_u64() % 4 {
        0 => Place::Main(ChainPosition::NotInChain),
        1 => Place::Fork,
        2 => Place::Background(BackgroundPlace::Forked(ChainPosition::NotInChain)),
        _ => Place::Background(BackgroundPlace::Isolated(ChainPosition::NotInChain)),
    };
    let tools = match place {
        Place::Background(_) => tool_rule(dice),
        Place::Main(_) | Place::Fork => ToolRule::SameAsMain,
    };
    let mode = Mode::ALL[(dice.next_u64() % 4) as usize];
    let links = vec!["https://typed.example/page".to_owned()];
    let authority = Authority {
        place,
        tools,
        mode,
        label: label(dice),
        links,
        request: None,
        server_kinds: ServerToolKinds::new(),
        clock: clock(),
    };
    let mut said: Vec<ToolCall> = (0..2).map(|_| crate::policy::call(dice).0).collect();
    if dice.next_u64().is_multiple_of(4) {
        said.push(call.clone());
    }
    let standing = |(number, said): (u64, &ToolCall)| {
        let tool = said.name.clone();
        let scope = Scope::of(said);
        StandingApproval { id: ApprovalId(number), tool, scope, expires_at: Timestamp::MAX }
    };
    let always = (2..).zip(&said).map(standing).collect();
    let granted = dice.next_u64().is_multiple_of(8);
    let grant = Grant { id: ApprovalId(1), call: call.clone(), expires_at: Timestamp::MAX };
    let grants = if granted { vec![grant] } else { Vec::new() };
    Case {
        call,
        column,
        authority,
        consent: Consent { standing: always, grants },
        granted,
        always_calls: said,
    }
}

/// Returns whether an "always" to `said` covers `call`: the same input, the same note, or the same
/// site.
fn is_same(said: &ToolCall, call: &ToolCall, column: Column) -> bool {
    let start = |call: &ToolCall| call.input.0.split('/').take(3).map(str::to_owned).collect::<Vec<_>>();
    said.name == call.name
        && (said.input == call.input
            || (column == C::Note && said.input.text("file_path") == call.input.text("file_path"))
            || (matches!(column, C::Fetch | C::Typed) && start(said) == start(call)))
}

/// Returns whether an earlier permission covers a call that would be asked for.
fn has_prior_permission(case: &Case) -> bool {
    let Authority { mode, label: knows, place, .. } = &case.authority;
    let clean = !knows.is_tainted();
    match place {
        Place::Background(_) => false,
        Place::Main(_) | Place::Fork => {
            let mode = match mode {
                Mode::Bypass => case.column != C::Authority,
                Mode::AcceptEdits => case.column == C::Note,
                Mode::DontAsk | Mode::Ask => false,
            };
            let always = || case.always_calls.iter().any(|said| is_same(said, &case.call, case.column));
            case.granted || (clean && (mode || always()))
        }
    }
}

/// I1: For 100,000 random calls in any place, with any label and any earlier approvals, no more
/// runs than the table allows.
#[test]
fn no_more_runs_than_the_table_allows() {
    let tools = specs();
    let mut dice = Rng::new(41);
    let mut ran = 0;
    let mut asked = 0;
    let mut refused = 0;
    let mut stood = 0;
    for number in 0..100_000 {
        let case = case(&mut dice);
        let Case { call, column, authority, consent, .. } = &case;
        let unattended = matches!(authority.place, Place::Background(_));
        let Some(decision) = decide(call, &tools, authority, consent) else {
            asked += 1;
            assert_ne!(
                expected_decision(*column, authority),
                Expected::Not,
                "{number}: {call:?} {authority:?}"
            );
            continue;
        };
        if decision.refusal().is_some() {
            refused += 1;
            continue;
        }
        ran += 1;
        stood += usize::from(decision.rule.id() == "standing");
        assert_eq!(decision.label, authority.label, "what was known is written down with it");
        let runs = match expected_decision(*column, authority) {
            Expected::Run => true,
            Expected::Ask => has_prior_permission(&case),
            Expected::Not => false,
        };
        assert!(runs, "{number}: {call:?} ran as {column:?} with {authority:?} and {consent:?}");
        let own = ["report_updates", "ping_user", "save_context"].contains(&call.name.as_str());
        if let (ToolRule::Only(listed), true) = (&authority.tools, unattended) {
            let named = listed.iter().any(|line| line.split('(').next() == Some(&call.name));
            assert!(named || own, "{number}: nobody declared {call:?}: {listed:?}");
        }
    }
    assert!(
        ran > 10_000 && asked > 10_000 && refused > 10_000 && stood > 300,
        "{ran} ran, {asked} asked, {refused} refused, {stood} of what ran was always allowed"
    );
}

/// Returns the level of a decision.
fn permission_level(call: &ToolCall, tools: &[ToolSpec], authority: &Authority) -> u8 {
    match decide(call, tools, authority, &Consent::default()) {
        Some(decision) if decision.refusal().is_some() => 0,
        None => 1,
        Some(_) => 2,
    }
}

/// I12: In 10,000 chains of runs and subagents each has no more permissions than its caller, and
/// keeps its label.
#[test]
fn subagent_never_exceeds_its_caller() {
    let tools = specs();
    let mut dice = Rng::new(17);
    let mut less = 0;
    for number in 0..10_000 {
        let from_main = dice.next_u64().is_multiple_of(2);
        // A conversation with the user has a private label.
        let knows =
            if from_main { label(&mut dice).join(Label::private(Realm::Chat)) } else { label(&mut dice) };
        let mode = Mode::Ask;
        let links = vec!["https://typed.example/page".to_owned()];
        let place = Place::Background(BackgroundPlace::Forked(ChainPosition::NotInChain));
        let mut parent = if from_main {
            let place = Place::Main(ChainPosition::NotInChain);
            let tools = ToolRule::SameAsMain;
            Authority {
                place,
                tools,
                mode,
                label: knows,
                links,
                request: None,
                server_kinds: ServerToolKinds::new(),
                clock: clock(),
            }
        } else {
            Authority {
                place,
                tools: tool_rule(&mut dice),
                mode,
                label: knows,
                links,
                request: None,
                server_kinds: ServerToolKinds::new(),
                clock: clock(),
            }
        };
        for depth in 0..=dice.next_u64() % 3 {
            let own = Box::new(ToolRule::Only(list(&mut dice)));
            let is_run = matches!(parent.place, Place::Background(_));
            let tools_of_child =
                if is_run { ToolRule::Intersection(Box::new(parent.tools.clone()), own) } else { *own };
            let place = Place::Background(BackgroundPlace::Isolated(ChainPosition::NotInChain));
            let knows = parent.label.join(label(&mut dice));
            let links = parent.links.clone();
            let child = Authority { place, tools: tools_of_child, label: knows, links, ..parent.clone() };
            for _ in 0..4 {
                let (call, _) = call(&mut dice);
                // Tools that only work in the background are not compared.
                if ["ping_user", "report_updates", "save_context"].contains(&call.name.as_str()) {
                    continue;
                }
                let above = permission_level(&call, &tools, &parent);
                let below = permission_level(&call, &tools, &child);
                less += usize::from(below < above);
                assert!(below <= above, "{number}/{depth}: {call:?}\n{parent:?}\n{child:?}");
            }
            parent = child;
        }
    }
    assert!(less > 5_000, "{less}");
}
