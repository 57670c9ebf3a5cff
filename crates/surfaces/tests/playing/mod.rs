//! Fakes for tests of the page: a journal in memory and an assistant that echoes messages.

mod history;
mod job_files;
mod lineage;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{
    Assistant, Effect, Event, Request, State, ToolPhase, TurnOutcome, TurnOutput, TurnRequest, TurnStart,
    Update,
};
use domain::compaction::ContextWindow;
use domain::conversation::{
    Block, Branch, Completeness, Conversation, Entry, EntryContent, EntryId, Json, Lineage, PathEntry,
    SessionId, Text, Usage,
};
use domain::cost::{Account, BudgetLimit, CostReport, CostSource, LedgerEntry, Micros, ModelCall};
use domain::explanation::{ExplanationReport, Subject};
use domain::failure::{Failure, InvalidReply};
use domain::occurrence::Occurrence;
use domain::pending_update::{PendingUpdate, UpdateId};
use domain::record::{PlanChange, Record};
use domain::rng::Rng;
use domain::tool::{Outcome, ServerToolKinds, ToolCall, ToolClass, ToolResult, ToolSpec};
use domain::turn::{TurnEnding, TurnId};
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Archive, Clock, Journal, ReadError, SideMessages, Surface, WriteError};
use futures_util::future::BoxFuture;
use surfaces::event_hub::EventHub;
use surfaces::web::health::{Health, HealthSource};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub struct InMemoryJournal(pub watch::Sender<Vec<Record>>);

impl Default for InMemoryJournal {
    fn default() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }
}

impl InMemoryJournal {
    /// Returns the entries on main, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        let records = self.0.borrow();
        let mut entries = Vec::new();
        for record in records.iter() {
            if let Record::EntryAppended(Branch::Main, entry) = record {
                entries.push(entry.clone());
            }
        }
        entries
    }
}

impl Journal for InMemoryJournal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        self.0.send_modify(|all| all.extend(records));
        Box::pin(async { Ok(()) })
    }

    fn path(&self, _head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        let entry = |entry: Entry| PathEntry { id: entry.id, content: Arc::new(entry.content) };
        Box::pin(async move { Ok(self.entries().into_iter().map(entry).collect()) })
    }

    fn recent_entries(
        &self,
        _branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        let mut entries = self.entries();
        entries.retain(|entry| before.is_none_or(|before| entry.id < before));
        let from = entries.len().saturating_sub(limit);
        Box::pin(async move { Ok(entries.split_off(from)) })
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        let lineage = lineage::lineage_of(&self.0.borrow(), limit);
        Box::pin(async { Ok(lineage) })
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        let entry = self.entries().into_iter().find(|entry| entry.id == id);
        Box::pin(async { Ok(entry) })
    }

    fn side_messages(
        &self,
        _: EntryId,
        _: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        Box::pin(async { Ok(SideMessages::default()) })
    }
}

impl Archive for InMemoryJournal {
    fn reports(&self) -> BoxFuture<'_, Result<Vec<PendingUpdate>, ReadError>> {
        let at = "2026-11-15T07:00:00Z".parse().unwrap();
        let from = "routine:mail".to_owned();
        let text = "two mails need an answer".to_owned();
        Box::pin(async move {
            Ok(vec![PendingUpdate {
                id: UpdateId(3),
                at,
                source: from,
                text,
                label: domain::label::Label::PLAIN,
            }])
        })
    }

    fn spending(&self, now: jiff::Zoned, days: u16) -> BoxFuture<'_, Result<CostReport, ReadError>> {
        Box::pin(async move { Ok(CostReport::new(&now, days, BudgetLimit::default())) })
    }

    fn explain(
        &self,
        _subject: Subject,
        _zone: jiff::tz::TimeZone,
    ) -> BoxFuture<'_, Result<Option<ExplanationReport>, ReadError>> {
        Box::pin(async { Ok(None) })
    }

    fn occurrences(
        &self,
        of: Option<CostSource>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, ReadError>> {
        let mut newest = BTreeMap::new();
        for record in self.0.borrow().iter() {
            if let Record::Plan(PlanChange::Occurrence(occurrence)) = record {
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

pub use job_files::FakeJobFiles;

/// Health and cost with fixed values.
pub struct FakeHealth(pub watch::Sender<String>);

impl HealthSource for FakeHealth {
    fn cost(&self, days: u16) -> BoxFuture<'_, Result<CostReport, ReadError>> {
        let now: jiff::Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let limit = BudgetLimit { money: Some(Micros(5_000_000)), tokens: None };
        let mut report = CostReport::new(&now, days, limit);
        let usage = Usage { input: 10, cache_read: 90, cache_write: 0, cache_write_1h: 0, output: 5 };
        let spent = LedgerEntry {
            at: now.timestamp(),
            branch: Branch::Main,
            turn: TurnId(1),
            account: Account::answer_on(&Branch::Main),
            call: ModelCall { model: "played".to_owned(), usage },
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
                model: "played".to_owned(),
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
    class: ToolClass::Own,
}];

/// Dependencies of an assistant that echoes messages.
pub struct FakeAssistant {
    pub journal: Arc<InMemoryJournal>,
    pub event_hub: Arc<EventHub>,
    pub clock: Arc<dyn Clock>,
    pub assistant: AssistantHandle,
    /// Delay between two words.
    pub word_delay: Duration,
    /// While this is true, tools and answers do not finish. A browser polls the page only every
    /// half second on a busy machine, so a test controls the end itself.
    pub paused: watch::Sender<bool>,
}

type Turns = JoinSet<(TurnId, TurnOutcome)>;

/// Runs an assistant with the stored messages `history` until the channel is closed.
pub async fn run(fake: Arc<FakeAssistant>, mut rx: mpsc::Receiver<Input>, history: Vec<String>) {
    let mut assistant = load(&fake, history).await;
    let mut turns = Turns::new();
    let mut stops: BTreeMap<TurnId, CancellationToken> = BTreeMap::new();
    loop {
        tokio::select! {
            input = rx.recv() => match input {
                Some(Input::Request(request, reply)) => {
                    let (answer, effects) = assistant.handle(request, &fake.clock.now());
                    execute(&fake, effects, &mut turns, &mut stops).await;
                    let _ = reply.send(answer);
                }
                Some(Input::Event(event)) => {
                    let effects = assistant.on_event(event, &fake.clock.now());
                    execute(&fake, effects, &mut turns, &mut stops).await;
                }
                None => return,
            },
            Some(Ok((turn, ended))) = turns.join_next() => {
                let effects = assistant.on_event(Event::TurnEnded(turn, ended), &fake.clock.now());
                execute(&fake, effects, &mut turns, &mut stops).await;
            }
        }
    }
}

async fn load(fake: &FakeAssistant, history: Vec<String>) -> Assistant {
    let now = fake.clock.now();
    let mut conversation = Conversation::new(BTreeMap::new(), EntryId(1));
    if !history.is_empty() {
        let session = SessionId::parse("0f0e0d0c-played").unwrap();
        conversation.create(Branch::Main, session, now.timestamp());
    }
    for text in history {
        let said = EntryContent::Assistant(vec![Block::Text(text)], Completeness::Complete);
        let entry = conversation.append(&Branch::Main, said, now.timestamp()).unwrap();
        fake.journal.write(vec![Record::EntryAppended(Branch::Main, entry)]).await.unwrap();
    }
    Assistant::new(State::new(conversation), Arc::from(TOOLS), ContextWindow::DEFAULT, Rng::new(7))
}

async fn execute(
    fake: &Arc<FakeAssistant>,
    effects: Vec<Effect>,
    turns: &mut Turns,
    stops: &mut BTreeMap<TurnId, CancellationToken>,
) {
    for effect in effects {
        match effect {
            Effect::Write(records) => fake.journal.write(records).await.unwrap(),
            Effect::Show(shown) => fake.event_hub.show(&shown),
            Effect::Interrupt(turn) => stops[&turn].cancel(),
            // Not used by these tests.
            Effect::Decide(..)
            | Effect::ReturnResult(..)
            | Effect::CarryOut(_)
            | Effect::LoadSkills(..)
            | Effect::Prioritize(_) => {}
            Effect::StartTurn(start) => {
                let stop = CancellationToken::new();
                stops.insert(start.turn, stop.clone());
                let fake = fake.clone();
                turns.spawn(async move { (start.turn, answer(&fake, start, stop).await) });
            }
        }
    }
}

/// Echoes the message; `!tool`, `!fail` and `!forever` have the effect they name.
async fn answer(fake: &FakeAssistant, start: TurnStart, stop: CancellationToken) -> TurnOutcome {
    let message =
        fake.journal.entries().iter().find(|entry| entry.id == start.from).map(|e| e.content.text());
    let message = message.unwrap_or_default();
    let finished = |said, ending| {
        let left = TurnOutput::Contents(said);
        let usage = Usage::default();
        TurnOutcome { output: left, ending, usage, unrecorded_calls: Vec::new() }
    };
    if message.starts_with("!tool") {
        run_tool(fake, start.turn).await;
    }
    if message.starts_with("!fail") {
        return finished(Vec::new(), TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Empty)));
    }
    let mut said = String::new();
    let endless = message.starts_with("!forever").then(|| (0..).map(|number| format!("word {number} ")));
    let words: Box<dyn Iterator<Item = String> + Send> = match endless {
        Some(endless) => Box::new(endless),
        None => Box::new(message.split_inclusive(' ').map(str::to_owned)),
    };
    for word in words {
        if stop.run_until_cancelled(tokio::time::sleep(fake.word_delay)).await.is_none() {
            let half = EntryContent::Assistant(vec![Block::Text(said)], Completeness::Interrupted);
            return finished(vec![half], TurnEnding::Interrupted);
        }
        said.push_str(&word);
        fake.event_hub.show(&Update::Delta { turn: start.turn, text: word });
    }
    if stop.run_until_cancelled(wait_while_paused(fake)).await.is_none() {
        let half = EntryContent::Assistant(vec![Block::Text(said)], Completeness::Interrupted);
        return finished(vec![half], TurnEnding::Interrupted);
    }
    finished(
        vec![EntryContent::Assistant(vec![Block::Text(said)], Completeness::Complete)],
        TurnEnding::Finished,
    )
}

/// Waits until `paused` is false.
async fn wait_while_paused(fake: &FakeAssistant) {
    let _ = fake.paused.subscribe().wait_for(|held| !held).await;
}

async fn run_tool(fake: &FakeAssistant, turn: TurnId) {
    let call = ToolCall {
        id: format!("call-{}", turn.0),
        name: "read_calendar".to_owned(),
        input: Json("{}".to_owned()),
    };
    fake.assistant
        .ask(Request::Turn(
            turn,
            TurnRequest::MayRun {
                blocks: vec![Block::Call(call.clone())],
                model_calls: Vec::new(),
                kinds: ServerToolKinds::new(),
                max_calls: 1,
            },
        ))
        .await;
    fake.event_hub.show(&Update::ToolProgress { turn, tool: call.name.clone(), phase: ToolPhase::Running });
    tokio::time::sleep(fake.word_delay * 20).await;
    wait_while_paused(fake).await;
    let result = ToolResult {
        call: call.id,
        text: "15:00 dentist".to_owned(),
        outcome: Outcome::Done,
        label: domain::label::Label::PLAIN,
    };
    fake.assistant.ask(Request::Turn(turn, TurnRequest::CallsDone(vec![result]))).await;
}
