//! An independent implementation of the permission table: no more may run than it allows.

use domain::approval::{ApprovalId, Consent, Grant, Scope, Standing};
use domain::conversation::Json;
use domain::dice::Dice;
use domain::label::{Label, Realm};
use domain::permission::{Authority, Clock, Mode, decide};
use domain::phrase::Habits;
use domain::place::{Aside, Follow, Place};
use domain::schedule::ToolRule;
use domain::tool::{ServerKinds, ToolCall, ToolSpec};
use jiff::Timestamp;
use std::borrow::Cow;
use std::sync::LazyLock;

use crate::house::TOOLS;

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

/// Calls, and the column that each belongs to, by hand. `#` is any word.
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
enum May {
    Run,
    Ask,
    Not,
}

fn may(column: Column, Authority { place, knows, .. }: &Authority) -> May {
    let unattended = matches!(place, Place::Background(_));
    let tainted = knows.is_tainted();
    let private = knows.is_private();
    match column {
        C::Never => May::Not,
        C::Alarm if tainted && unattended => May::Not,
        C::Networked if tainted => May::Not,
        C::Harmless | C::Alarm | C::Note | C::Reversible | C::Typed => May::Run,
        C::Search if tainted && private => May::Ask,
        C::Search => May::Run,
        C::Authority | C::Destructive | C::Networked | C::Fetch | C::Server => May::Ask,
    }
}

struct Case {
    call: ToolCall,
    column: Column,
    authority: Authority,
    consent: Consent,
    granted: bool,
    /// The calls with an "always" of the user.
    said: Vec<ToolCall>,
}

fn specs() -> Vec<ToolSpec> {
    TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class }).to_vec()
}

fn clock() -> Option<Clock> {
    static CLOCK: LazyLock<Clock> = LazyLock::new(|| {
        let now = "2026-11-16T08:00[Europe/Madrid]".parse().expect("a time");
        Clock { now, habits: Habits::default(), routines: Vec::new(), undone: Vec::new() }
    });
    Some(CLOCK.clone())
}

fn label(dice: &mut Dice) -> Label {
    let realm = Realm::ALL[(dice.roll() % 11) as usize];
    [Label::PLAIN, Label::private(realm), Label::outside(realm), Label::both(realm)]
        [(dice.roll() % 4) as usize]
}

fn list(dice: &mut Dice) -> Vec<String> {
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
        .filter(|_| !dice.roll().is_multiple_of(3))
        .map(|name| (*name).to_owned())
        .collect()
}

fn rule(dice: &mut Dice) -> ToolRule {
    match dice.roll() % 5 {
        0 => ToolRule::Usual,
        1 => ToolRule::Except(list(dice)),
        _ => ToolRule::Only(list(dice)),
    }
}

fn call(dice: &mut Dice) -> (ToolCall, Column) {
    let (name, input, column) = CALLS[(dice.roll() % CALLS.len() as u64) as usize];
    let input = Json(input.replace('#', &format!("x{:x}", dice.roll() & 0xffff)));
    (ToolCall { id: "c".to_owned(), name: name.to_owned(), input }, column)
}

fn case(dice: &mut Dice) -> Case {
    let (call, column) = call(dice);
    let place = match dice.roll() % 4 {
        0 => Place::Main(Follow::Alone),
        1 => Place::Fork,
        2 => Place::Background(Aside::Forked(Follow::Alone)),
        _ => Place::Background(Aside::Isolated(Follow::Alone)),
    };
    let tools = match place {
        Place::Background(_) => rule(dice),
        Place::Main(_) | Place::Fork => ToolRule::Usual,
    };
    let mode = Mode::ALL[(dice.roll() % 4) as usize];
    let links = vec!["https://typed.example/page".to_owned()];
    let authority = Authority {
        place,
        tools,
        mode,
        knows: label(dice),
        links,
        request: None,
        kinds: ServerKinds::new(),
        clock: clock(),
    };
    let mut said: Vec<ToolCall> = (0..2).map(|_| crate::policy::call(dice).0).collect();
    if dice.roll().is_multiple_of(4) {
        said.push(call.clone());
    }
    let standing = |(number, said): (u64, &ToolCall)| {
        let tool = said.name.clone();
        let scope = Scope::of(said);
        Standing { id: ApprovalId(number), tool, scope, until: Timestamp::MAX }
    };
    let always = (2..).zip(&said).map(standing).collect();
    let granted = dice.roll().is_multiple_of(8);
    let grant = Grant { id: ApprovalId(1), call: call.clone(), until: Timestamp::MAX };
    let grants = if granted { vec![grant] } else { Vec::new() };
    Case { call, column, authority, consent: Consent { always, grants }, granted, said }
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
fn was_allowed(case: &Case) -> bool {
    let Authority { mode, knows, place, .. } = &case.authority;
    let clean = !knows.is_tainted();
    match place {
        Place::Background(_) => false,
        Place::Main(_) | Place::Fork => {
            let mode = match mode {
                Mode::Bypass => case.column != C::Authority,
                Mode::AcceptEdits => case.column == C::Note,
                Mode::DontAsk | Mode::Ask => false,
            };
            let always = || case.said.iter().any(|said| is_same(said, &case.call, case.column));
            case.granted || (clean && (mode || always()))
        }
    }
}

/// I1: For 100,000 random calls in any place, with any label and any earlier approvals, no more
/// runs than the table allows.
#[test]
fn what_runs_is_never_more_than_the_table_says() {
    let tools = specs();
    let mut dice = Dice::new(41);
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
            assert_ne!(may(*column, authority), May::Not, "{number}: {call:?} {authority:?}");
            continue;
        };
        if decision.refusal().is_some() {
            refused += 1;
            continue;
        }
        ran += 1;
        stood += usize::from(decision.rule.id() == "standing");
        assert_eq!(decision.knows, authority.knows, "what was known is written down with it");
        let runs = match may(*column, authority) {
            May::Run => true,
            May::Ask => was_allowed(&case),
            May::Not => false,
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
fn weight(call: &ToolCall, tools: &[ToolSpec], authority: &Authority) -> u8 {
    match decide(call, tools, authority, &Consent::default()) {
        Some(decision) if decision.refusal().is_some() => 0,
        None => 1,
        Some(_) => 2,
    }
}

/// I12: In 10,000 chains of runs and subagents each has no more permissions than its caller, and
/// keeps its label.
#[test]
fn nobody_in_a_family_may_do_more_than_who_sent_them() {
    let tools = specs();
    let mut dice = Dice::new(17);
    let mut less = 0;
    for number in 0..10_000 {
        let from_main = dice.roll().is_multiple_of(2);
        // A conversation with the user has a private label.
        let knows =
            if from_main { label(&mut dice).join(Label::private(Realm::Chat)) } else { label(&mut dice) };
        let mode = Mode::Ask;
        let links = vec!["https://typed.example/page".to_owned()];
        let place = Place::Background(Aside::Forked(Follow::Alone));
        let mut parent = if from_main {
            let place = Place::Main(Follow::Alone);
            let tools = ToolRule::Usual;
            Authority {
                place,
                tools,
                mode,
                knows,
                links,
                request: None,
                kinds: ServerKinds::new(),
                clock: clock(),
            }
        } else {
            Authority {
                place,
                tools: rule(&mut dice),
                mode,
                knows,
                links,
                request: None,
                kinds: ServerKinds::new(),
                clock: clock(),
            }
        };
        for depth in 0..=dice.roll() % 3 {
            let own = Box::new(ToolRule::Only(list(&mut dice)));
            let is_run = matches!(parent.place, Place::Background(_));
            let tools_of_child =
                if is_run { ToolRule::Within(Box::new(parent.tools.clone()), own) } else { *own };
            let place = Place::Background(Aside::Isolated(Follow::Alone));
            let knows = parent.knows.join(label(&mut dice));
            let links = parent.links.clone();
            let child = Authority { place, tools: tools_of_child, knows, links, ..parent.clone() };
            for _ in 0..4 {
                let (call, _) = call(&mut dice);
                // Tools that only work in the background are not compared.
                if ["ping_user", "report_updates", "save_context"].contains(&call.name.as_str()) {
                    continue;
                }
                let above = weight(&call, &tools, &parent);
                let below = weight(&call, &tools, &child);
                less += usize::from(below < above);
                assert!(below <= above, "{number}/{depth}: {call:?}\n{parent:?}\n{child:?}");
            }
            parent = child;
        }
    }
    assert!(less > 5_000, "{less}");
}
