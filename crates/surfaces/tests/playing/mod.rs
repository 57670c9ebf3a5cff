//! Fakes for tests of the page: a journal in memory and an assistant that echoes messages.

mod files;
mod lineage;
mod looking_back;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{
    Assistant, Doing, Effect, Ended, Event, Left, Memory, Progress, Request, Shown, Start,
};
use domain::compaction::Room;
use domain::conversation::{
    Block, Branch, Conversation, Entry, EntryId, Json, Lineage, PathEntry, Reach, Said, SessionId, Text,
    Usage,
};
use domain::cost::{Account, Call, Limit, Micros, Report, Source, Spent};
use domain::dice::Dice;
use domain::explanation::{Explained, Subject};
use domain::failure::{Failure, Unsaid};
use domain::occurrence::Occurrence;
use domain::record::{PlanChange, Record};
use domain::report::{Report as Update, ReportId};
use domain::tool::{Class, Outcome, ServerKinds, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Ending, TurnId};
use engine::desk::{Desk, Letter};
use engine::ports::{Archive, Clock, Journal, Margin, Surface, Unreadable, Unwritten};
use futures_util::future::BoxFuture;
use surfaces::stage::Stage;
use surfaces::web::vitals::{Health, Vitals};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub struct Ledger(pub watch::Sender<Vec<Record>>);

impl Default for Ledger {
    fn default() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }
}

impl Ledger {
    /// Returns the entries on main, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        let records = self.0.borrow();
        let mut entries = Vec::new();
        for record in records.iter() {
            if let Record::Said(Branch::Main, entry) = record {
                entries.push(entry.clone());
            }
        }
        entries
    }
}

impl Journal for Ledger {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        self.0.send_modify(|all| all.extend(records));
        Box::pin(async { Ok(()) })
    }

    fn path(&self, _head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        let entry = |entry: Entry| PathEntry { id: entry.id, said: Arc::new(entry.said) };
        Box::pin(async move { Ok(self.entries().into_iter().map(entry).collect()) })
    }

    fn recent(
        &self,
        _branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        let mut entries = self.entries();
        entries.retain(|entry| before.is_none_or(|before| entry.id < before));
        let from = entries.len().saturating_sub(limit);
        Box::pin(async move { Ok(entries.split_off(from)) })
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        let lineage = lineage::of(&self.0.borrow(), limit);
        Box::pin(async { Ok(lineage) })
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        let entry = self.entries().into_iter().find(|entry| entry.id == id);
        Box::pin(async { Ok(entry) })
    }

    fn beside(&self, _: EntryId, _: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        Box::pin(async { Ok(Margin::default()) })
    }
}

impl Archive for Ledger {
    fn reports(&self) -> BoxFuture<'_, Result<Vec<Update>, Unreadable>> {
        let at = "2026-11-15T07:00:00Z".parse().unwrap();
        let from = "routine:mail".to_owned();
        let text = "two mails need an answer".to_owned();
        Box::pin(async move {
            Ok(vec![Update { id: ReportId(3), at, from, text, label: domain::label::Label::PLAIN }])
        })
    }

    fn spent(&self, now: jiff::Zoned, days: u16) -> BoxFuture<'_, Result<Report, Unreadable>> {
        Box::pin(async move { Ok(Report::new(&now, days, Limit::default())) })
    }

    fn explain(
        &self,
        _subject: Subject,
        _zone: jiff::tz::TimeZone,
    ) -> BoxFuture<'_, Result<Option<Explained>, Unreadable>> {
        Box::pin(async { Ok(None) })
    }

    fn occurrences(
        &self,
        of: Option<Source>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, Unreadable>> {
        let mut newest = BTreeMap::new();
        for record in self.0.borrow().iter() {
            if let Record::Plan(PlanChange::Occurred(occurrence)) = record {
                newest.insert(occurrence.key.clone(), occurrence.clone());
            }
        }
        let mut found: Vec<Occurrence> = newest.into_values().collect();
        found.retain(|one| of.as_ref().is_none_or(|of| one.key.source == *of));
        found.sort_by_key(|one| std::cmp::Reverse((one.since, one.key.due)));
        found.truncate(usize::try_from(limit).unwrap());
        Box::pin(async { Ok(found) })
    }
}

pub use files::Shelf;

/// Health and cost with fixed values.
pub struct Well(pub watch::Sender<String>);

impl Vitals for Well {
    fn cost(&self, days: u16) -> BoxFuture<'_, Result<Report, Unreadable>> {
        let now: jiff::Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let limit = Limit { money: Some(Micros(5_000_000)), tokens: None };
        let mut report = Report::new(&now, days, limit);
        let usage = Usage { input: 10, cache_read: 90, cache_write: 0, cache_write_1h: 0, output: 5 };
        let spent = Spent {
            at: now.timestamp(),
            branch: Branch::Main,
            turn: TurnId(1),
            account: Account::answer_on(&Branch::Main),
            call: Call { model: "played".to_owned(), usage },
            cost: Some(Micros(1_250_000)),
        };
        report.add(&spent, now.date());
        Box::pin(async { Ok(report) })
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        let page = self.0.borrow().clone();
        Box::pin(async {
            Health {
                version: "0.1.0".to_owned(),
                pid: std::process::id(),
                brain: "played".to_owned(),
                zone: "Europe/Madrid".to_owned(),
                data_dir: "/nowhere".to_owned(),
                page,
                surfaces: vec!["terminal".to_owned(), "page".to_owned()],
                discord: None,
                session: None,
                notices: Vec::new(),
            }
        })
    }
}

const TOOLS: [ToolSpec; 1] = [ToolSpec {
    name: "read_calendar",
    description: Cow::Borrowed("Reads the calendar."),
    schema: "{}",
    class: Class::Own,
}];

/// Dependencies of an assistant that echoes messages.
pub struct House {
    pub journal: Arc<Ledger>,
    pub stage: Arc<Stage>,
    pub clock: Arc<dyn Clock>,
    pub desk: Desk,
    /// Delay between two words.
    pub pace: Duration,
    /// While this is true, tools and answers do not finish. A browser polls the page only every
    /// half second on a busy machine, so a test controls the end itself.
    pub held: watch::Sender<bool>,
}

type Turns = JoinSet<(TurnId, Ended)>;

/// Runs an assistant with the stored messages `history` until the channel is closed.
pub async fn play(house: Arc<House>, mut pile: mpsc::Receiver<Letter>, history: Vec<String>) {
    let mut assistant = wake(&house, history).await;
    let mut turns = Turns::new();
    let mut stops: BTreeMap<TurnId, CancellationToken> = BTreeMap::new();
    loop {
        tokio::select! {
            letter = pile.recv() => match letter {
                Some(Letter::Asked(request, reply)) => {
                    let (answer, effects) = assistant.asked(request, &house.clock.now());
                    perform(&house, effects, &mut turns, &mut stops).await;
                    let _ = reply.send(answer);
                }
                Some(Letter::Happened(event)) => {
                    let effects = assistant.on(event, &house.clock.now());
                    perform(&house, effects, &mut turns, &mut stops).await;
                }
                None => return,
            },
            Some(Ok((turn, ended))) = turns.join_next() => {
                let effects = assistant.on(Event::TurnEnded(turn, ended), &house.clock.now());
                perform(&house, effects, &mut turns, &mut stops).await;
            }
        }
    }
}

async fn wake(house: &House, history: Vec<String>) -> Assistant {
    let now = house.clock.now();
    let mut conversation = Conversation::new(BTreeMap::new(), EntryId(1));
    if !history.is_empty() {
        let session = SessionId::read("0f0e0d0c-played").unwrap();
        conversation.create(Branch::Main, session, now.timestamp());
    }
    for text in history {
        let said = Said::Assistant(vec![Block::Text(text)], Reach::Whole);
        let entry = conversation.say(&Branch::Main, said, now.timestamp()).unwrap();
        house.journal.write(vec![Record::Said(Branch::Main, entry)]).await.unwrap();
    }
    Assistant::new(Memory::of(conversation), Arc::from(TOOLS), Room::HOUSE, Dice::new(7))
}

async fn perform(
    house: &Arc<House>,
    effects: Vec<Effect>,
    turns: &mut Turns,
    stops: &mut BTreeMap<TurnId, CancellationToken>,
) {
    for effect in effects {
        match effect {
            Effect::Write(records) => house.journal.write(records).await.unwrap(),
            Effect::Show(shown) => house.stage.show(&shown),
            Effect::Interrupt(turn) => stops[&turn].cancel(),
            // Not used by these tests.
            Effect::Decide(..)
            | Effect::Answer(..)
            | Effect::Carry(_)
            | Effect::LoadSkills(..)
            | Effect::Hurry(_) => {}
            Effect::StartTurn(start) => {
                let stop = CancellationToken::new();
                stops.insert(start.turn, stop.clone());
                let house = house.clone();
                turns.spawn(async move { (start.turn, answer(&house, start, stop).await) });
            }
        }
    }
}

/// Echoes the message; `!tool`, `!fail` and `!forever` have the effect they name.
async fn answer(house: &House, start: Start, stop: CancellationToken) -> Ended {
    let heard = house.journal.entries().iter().find(|entry| entry.id == start.from).map(|e| e.said.text());
    let heard = heard.unwrap_or_default();
    let finished = |said, ending| {
        let left = Left::Said(said);
        let usage = Usage::default();
        Ended { left, ending, usage, spent: Vec::new() }
    };
    if heard.starts_with("!tool") {
        consult(house, start.turn).await;
    }
    if heard.starts_with("!fail") {
        return finished(Vec::new(), Ending::Failed(Failure::Unsaid(Unsaid::Empty)));
    }
    let mut said = String::new();
    let endless = heard.starts_with("!forever").then(|| (0..).map(|number| format!("word {number} ")));
    let words: Box<dyn Iterator<Item = String> + Send> = match endless {
        Some(endless) => Box::new(endless),
        None => Box::new(heard.split_inclusive(' ').map(str::to_owned)),
    };
    for word in words {
        if stop.run_until_cancelled(tokio::time::sleep(house.pace)).await.is_none() {
            let half = Said::Assistant(vec![Block::Text(said)], Reach::Cut);
            return finished(vec![half], Ending::Interrupted);
        }
        said.push_str(&word);
        house.stage.show(&Shown::Delta { turn: start.turn, text: word });
    }
    if stop.run_until_cancelled(released(house)).await.is_none() {
        let half = Said::Assistant(vec![Block::Text(said)], Reach::Cut);
        return finished(vec![half], Ending::Interrupted);
    }
    finished(vec![Said::Assistant(vec![Block::Text(said)], Reach::Whole)], Ending::Finished)
}

/// Waits until `paused` is false.
async fn released(house: &House) {
    let _ = house.held.subscribe().wait_for(|held| !held).await;
}

async fn consult(house: &House, turn: TurnId) {
    let call = ToolCall {
        id: format!("call-{}", turn.0),
        name: "read_calendar".to_owned(),
        input: Json("{}".to_owned()),
    };
    house
        .desk
        .ask(Request::Turn(
            turn,
            Progress::MayRun {
                blocks: vec![Block::Call(call.clone())],
                spent: Vec::new(),
                kinds: ServerKinds::new(),
                most: 1,
            },
        ))
        .await;
    house.stage.show(&Shown::Working { turn, tool: call.name.clone(), doing: Doing::Runs });
    tokio::time::sleep(house.pace * 20).await;
    released(house).await;
    let result = ToolResult {
        call: call.id,
        text: "15:00 dentist".to_owned(),
        outcome: Outcome::Done,
        label: domain::label::Label::PLAIN,
    };
    house.desk.ask(Request::Turn(turn, Progress::Ran(vec![result]))).await;
}
