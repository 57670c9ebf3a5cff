//! Queries on past pings, start delays and entries.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::Arc;

use domain::attention::{AttentionChange, DeferReason, Deferred, DeferredId};
use domain::card::{Card, CardId, CardState, FollowUpState};
use domain::conversation::{Branch, Entry, EntryContent, EntryId, Json, UserInput};
use domain::cost::CostSource;
use domain::inbox::{InboxItem, InboxItemId};
use domain::label::Label;
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState};
use domain::outbox::OutboxKey;
use domain::permission::{AllowReason, Decision};
use domain::record::{
    Address, InboxChange, Message, MessageChange, MessageId, PingCharge, PlanChange, Record, ReplyTo,
    SentChange, ShownMessage, StateChange, SurfaceName, TurnChange, TurnClosed, TurnOpened as Begun,
};
use domain::schedule::{ItemId, Lateness};
use domain::sent_messages::SentId;
use domain::tool::{Outcome, ShownContent, ToolCall, ToolResult};
use domain::turn::{TurnEnding, TurnId};
use engine::ports::{History, Journal as _, PingOutcome, SearchQuery};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::disk::RealDisk;
use journal::{OpenParams, OpenedJournal, Paths, open};

fn minute(minute: i64) -> Timestamp {
    Timestamp::constant(1_794_700_000, 0) + SignedDuration::from_mins(minute)
}

fn open_journal(dir: &tempfile::TempDir) -> OpenedJournal {
    let paths = Paths::new(dir.path());
    open(OpenParams { paths, disk: Arc::new(RealDisk), zone: TimeZone::UTC, now: minute(0), pid: 1 }).unwrap()
}

fn entry(id: u64, at: i64, said: EntryContent) -> Entry {
    Entry {
        id: EntryId(id),
        parent: None,
        at: minute(at),
        content: said,
        own_label: domain::label::Label::PLAIN,
        label: domain::label::Label::PLAIN,
    }
}

fn user_message(text: &str) -> EntryContent {
    EntryContent::User(UserInput { preface: String::new(), text: text.to_owned(), images: Vec::new() })
}

fn message(id: u64, at: i64, to: Address) -> Record {
    let id = MessageId(id);
    let surface = SurfaceName::Page;
    let text = "words".to_owned();
    let message = Message {
        id,
        at: minute(at),
        surface,
        address: to,
        text,
        images: Vec::new(),
        external_id: None,
        label: Label::PLAIN,
    };
    Record::Message(MessageChange::Received(message))
}

/// A run of `mail` that was due at `due`, began a minute later, and tried to ping.
fn run_records(number: u64, due: i64, shows: Option<&str>) -> Vec<Record> {
    let branch = Branch::fork(&format!("run{number}")).unwrap();
    let source = CostSource::Routine("mail".to_owned());
    let key = OccurrenceKey { source: source.clone(), due: minute(due) };
    let running = Occurrence {
        key,
        name: "my mail".to_owned(),
        prompt: String::new(),
        lateness: Lateness::OnTime,
        tries: 1,
        state: OccurrenceState::Running(branch.clone()),
        since: minute(due + 1),
        shown_verbatim: false,
    };
    let ended =
        Occurrence { state: OccurrenceState::Ended(OccurrenceEnd::Done(String::new())), ..running.clone() };
    let turn = TurnId(number);
    let at = minute(due + 1);
    let input = Json("{\"message\":\"the bill is due\"}".to_owned());
    let call = ToolCall { id: format!("call-{number}"), name: "ping_user".to_owned(), input };
    let decision = Decision::allowed(&call, AllowReason::OwnTool);
    let mut records = vec![
        Record::Plan(PlanChange::Occurrence(running)),
        message(number, due + 1, Address::Branch(branch.clone())),
        Record::Turn(TurnChange::Opened(Begun {
            turn,
            branch: branch.clone(),
            message: MessageId(number),
            at,
        })),
        Record::Turn(TurnChange::CallDecided(turn, decision, at)),
    ];
    if let Some(words) = shows {
        let outcome = Outcome::Shown(ShownContent::Text(words.to_owned()));
        let result = ToolResult {
            call: call.id,
            text: "sent".to_owned(),
            outcome,
            label: domain::label::Label::PLAIN,
        };
        let entry = entry(number, due + 1, EntryContent::Tools(vec![result]));
        let showed = ShownMessage { branch: branch.clone(), source, entry: entry.id };
        let charge = PingCharge { entry: entry.id, before: 5.0, after: 4.0 };
        records.push(Record::EntryAppended(branch, entry));
        records.push(Record::from(SentChange::RunShowed(showed)));
        records.push(Record::State(StateChange::PingCharged(charge)));
    }
    let closed = TurnClosed { turn, ending: TurnEnding::Finished, usage: Default::default(), at };
    records.extend([Record::Turn(TurnChange::Closed(closed)), Record::Plan(PlanChange::Occurrence(ended))]);
    records
}

#[tokio::test]
async fn every_ping_is_listed_with_its_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open_journal(&dir).journal;
    let mut records = [
        run_records(1, 0, Some("old")),
        run_records(2, 10, Some("first")),
        run_records(3, 20, Some("second")),
    ]
    .concat();
    records.extend(run_records(4, 30, None));
    let held = Deferred {
        id: DeferredId(1),
        at: minute(41),
        source: CostSource::Routine("mail".to_owned()),
        name: "my mail".to_owned(),
        text: "the bill is due".to_owned(),
        reason: DeferReason::Quiet,
        label: domain::label::Label::PLAIN,
    };
    records.extend(run_records(5, 40, None));
    records.push(Record::from(AttentionChange::Deferred(held)));
    records.push(message(9, 16, Address::Reply(ReplyTo { sent_id: SentId(2), quote: String::new() })));
    records.push(Record::from(SentChange::MessageHidden(SentId(3))));
    journal.write(records).await.unwrap();
    let pings = journal.pings(minute(5), 10).await.unwrap();
    let charge = PingCharge { entry: EntryId(2), before: 5.0, after: 4.0 };
    let told: Vec<_> = pings.iter().map(|ping| (ping.text.as_str(), ping.outcome.clone())).collect();
    assert_eq!(
        told,
        [
            ("the bill is due", PingOutcome::Deferred),
            ("the bill is due", PingOutcome::Refused),
            ("second", PingOutcome::PutAway(EntryId(3))),
            ("first", PingOutcome::Shown(EntryId(2), Some(charge), Some(minute(16)))),
        ]
    );
    assert!(pings.iter().all(|ping| ping.name.as_deref() == Some("my mail")));
    assert_eq!(journal.pings(minute(5), 1).await.unwrap().len(), 1);
    let begun = journal.start_times(2).await.unwrap();
    assert_eq!(begun, [(minute(40), minute(41)), (minute(30), minute(31))]);
}

#[tokio::test]
async fn words_are_found_and_contain_no_operators() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open_journal(&dir).journal;
    let texts = ["the Dentist is at three", "call the dentist", "a café, NOT far", "dentistry"];
    let said = texts
        .iter()
        .zip(1..)
        .map(|(text, id)| Record::EntryAppended(Branch::Main, entry(id, 0, user_message(text))));
    journal.write(said.collect()).await.unwrap();
    let find = async |words: &str, before: Option<u64>| {
        let before = before.map(EntryId);
        let looked_for = SearchQuery { words: words.to_owned(), before, limit: 10, ..SearchQuery::default() };
        let found = journal.search(looked_for).await.unwrap();
        found.iter().map(|found| found.entry.id.0).collect::<Vec<_>>()
    };
    assert_eq!(find("dentist", None).await, [4, 2, 1], "the last word may be a beginning");
    assert_eq!(find("dentist the", None).await, [2, 1]);
    assert_eq!(find("dentist", Some(2)).await, [1]);
    assert_eq!(find("cafe", None).await, [3], "marks on letters do not matter");
    assert_eq!(find("NOT far", None).await, [3]);
    for nothing in ["", "  ", "\"", "* ( ) -", "nobody", "\0"] {
        assert_eq!(find(nothing, None).await, [0; 0], "{nothing:?}");
    }
    assert_eq!(find("dentist\" OR \"far", None).await, [0; 0]);
}

#[tokio::test]
async fn the_inbox_contains_added_items_that_were_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open_journal(&dir).journal;
    let kept = |id: u64| InboxItem { id: InboxItemId(id), at: minute(0), text: format!("thing {id}") };
    let records = [1, 2].map(|id| Record::Inbox(InboxChange::Added(kept(id))));
    journal.write(records.to_vec()).await.unwrap();
    journal.write(vec![Record::Inbox(InboxChange::Removed(InboxItemId(1), minute(1)))]).await.unwrap();
    assert_eq!(journal.inbox().await.unwrap(), [kept(2)]);
}

#[tokio::test]
async fn the_newest_cards_come_first_with_their_state() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open_journal(&dir).journal;
    let card = |id: &str, rang, state| Card {
        id: CardId(ItemId::parse(id).unwrap()),
        task: "call mum".to_owned(),
        text: "⏰ call mum".to_owned(),
        rang_at: minute(rang),
        state,
        snoozes: 2,
        follow_up: FollowUpState::AskedOnce,
        follow_up_post: None,
    };
    let cards = [card("older", 1, CardState::Open), card("newer", 2, CardState::Done(minute(3)))];
    let kept = |card: &Card| {
        let post = OutboxKey::card(&card.id, card.rang_at);
        Record::Message(MessageChange::Card(card.clone(), post))
    };
    journal.write(cards.iter().map(kept).collect()).await.unwrap();
    let [older, newer] = cards;
    assert_eq!(journal.cards(1).await.unwrap(), std::slice::from_ref(&newer));
    assert_eq!(journal.cards(10).await.unwrap(), [newer, older]);
}
