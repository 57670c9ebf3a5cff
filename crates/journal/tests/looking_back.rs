//! Queries on past pings, start delays and entries.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::Arc;

use domain::attention::{AttentionChange, Held, HeldFor, HeldId};
use domain::card::{Card, CardId, Chase, State};
use domain::conversation::{Branch, Entry, EntryId, Heard, Json, Said};
use domain::cost::Source;
use domain::inbox::{Kept, KeptId};
use domain::label::Label;
use domain::occurrence::{End, Key, Occurrence, Stage};
use domain::permission::{Allowed, Decision};
use domain::post::PostKey;
use domain::record::{
    Address, Charge, Closed, InboxChange, Message, MessageChange, MessageId, Opened as Begun, PlanChange,
    Record, ReplyTo, SentChange, Showed, StateChange, SurfaceName, TurnChange,
};
use domain::schedule::{ItemId, Lateness};
use domain::sent::SentId;
use domain::tool::{Outcome, Showing, ToolCall, ToolResult};
use domain::turn::{Ending, TurnId};
use engine::ports::{Fate, History, Journal as _, LookedFor};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::disk::RealDisk;
use journal::{Opened, Paths, Place, open};

fn minute(minute: i64) -> Timestamp {
    Timestamp::constant(1_794_700_000, 0) + SignedDuration::from_mins(minute)
}

fn opened(dir: &tempfile::TempDir) -> Opened {
    let paths = Paths::new(dir.path());
    open(Place { paths, disk: Arc::new(RealDisk), zone: TimeZone::UTC, now: minute(0), pid: 1 }).unwrap()
}

fn entry(id: u64, at: i64, said: Said) -> Entry {
    Entry {
        id: EntryId(id),
        parent: None,
        at: minute(at),
        said,
        own: domain::label::Label::PLAIN,
        label: domain::label::Label::PLAIN,
    }
}

fn human(text: &str) -> Said {
    Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() })
}

fn message(id: u64, at: i64, to: Address) -> Record {
    let id = MessageId(id);
    let surface = SurfaceName::Page;
    let text = "words".to_owned();
    let message = Message {
        id,
        at: minute(at),
        surface,
        to,
        text,
        images: Vec::new(),
        mark: None,
        label: Label::PLAIN,
    };
    Record::Message(MessageChange::Received(message))
}

/// A run of `mail` that was due at `due`, began a minute later, and tried to ping.
fn run(number: u64, due: i64, shows: Option<&str>) -> Vec<Record> {
    let branch = Branch::fork(&format!("run{number}")).unwrap();
    let source = Source::Routine("mail".to_owned());
    let key = Key { source: source.clone(), due: minute(due) };
    let running = Occurrence {
        key,
        name: "my mail".to_owned(),
        words: String::new(),
        lateness: Lateness::OnTime,
        tries: 1,
        stage: Stage::Running(branch.clone()),
        since: minute(due + 1),
        shown: false,
    };
    let ended = Occurrence { stage: Stage::Ended(End::Done(String::new())), ..running.clone() };
    let turn = TurnId(number);
    let at = minute(due + 1);
    let input = Json("{\"message\":\"the bill is due\"}".to_owned());
    let call = ToolCall { id: format!("call-{number}"), name: "ping_user".to_owned(), input };
    let decision = Decision::allowed(&call, Allowed::OwnTool);
    let mut records = vec![
        Record::Plan(PlanChange::Occurred(running)),
        message(number, due + 1, Address::Branch(branch.clone())),
        Record::Turn(TurnChange::Opened(Begun {
            turn,
            branch: branch.clone(),
            answers: MessageId(number),
            at,
        })),
        Record::Turn(TurnChange::Decided(turn, decision, at)),
    ];
    if let Some(words) = shows {
        let outcome = Outcome::Shown(Showing::Words(words.to_owned()));
        let result = ToolResult {
            call: call.id,
            text: "sent".to_owned(),
            outcome,
            label: domain::label::Label::PLAIN,
        };
        let entry = entry(number, due + 1, Said::Tools(vec![result]));
        let showed = Showed { branch: branch.clone(), source, entry: entry.id };
        let charge = Charge { entry: entry.id, before: 5.0, after: 4.0 };
        records.push(Record::Said(branch, entry));
        records.push(Record::from(SentChange::Showed(showed)));
        records.push(Record::State(StateChange::Charged(charge)));
    }
    let closed = Closed { turn, ending: Ending::Finished, usage: Default::default(), at };
    records.extend([Record::Turn(TurnChange::Closed(closed)), Record::Plan(PlanChange::Occurred(ended))]);
    records
}

#[tokio::test]
async fn every_ping_is_there_with_what_became_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = opened(&dir).journal;
    let mut records =
        [run(1, 0, Some("old")), run(2, 10, Some("first")), run(3, 20, Some("second"))].concat();
    records.extend(run(4, 30, None));
    let held = Held {
        id: HeldId(1),
        at: minute(41),
        source: Source::Routine("mail".to_owned()),
        name: "my mail".to_owned(),
        words: "the bill is due".to_owned(),
        why: HeldFor::Quiet,
        label: domain::label::Label::PLAIN,
    };
    records.extend(run(5, 40, None));
    records.push(Record::from(AttentionChange::Held(held)));
    records.push(message(9, 16, Address::Reply(ReplyTo { to: SentId(2), words: String::new() })));
    records.push(Record::from(SentChange::PutAway(SentId(3))));
    journal.write(records).await.unwrap();
    let pings = journal.pings(minute(5), 10).await.unwrap();
    let charge = Charge { entry: EntryId(2), before: 5.0, after: 4.0 };
    let told: Vec<_> = pings.iter().map(|ping| (ping.words.as_str(), ping.fate.clone())).collect();
    assert_eq!(
        told,
        [
            ("the bill is due", Fate::Held),
            ("the bill is due", Fate::Refused),
            ("second", Fate::PutAway(EntryId(3))),
            ("first", Fate::Shown(EntryId(2), Some(charge), Some(minute(16)))),
        ]
    );
    assert!(pings.iter().all(|ping| ping.name.as_deref() == Some("my mail")));
    assert_eq!(journal.pings(minute(5), 1).await.unwrap().len(), 1);
    let begun = journal.begun(2).await.unwrap();
    assert_eq!(begun, [(minute(40), minute(41)), (minute(30), minute(31))]);
}

#[tokio::test]
async fn words_are_found_wherever_they_were_said_and_nothing_in_them_is_an_order() {
    let dir = tempfile::tempdir().unwrap();
    let journal = opened(&dir).journal;
    let texts = ["the Dentist is at three", "call the dentist", "a café, NOT far", "dentistry"];
    let said = texts.iter().zip(1..).map(|(text, id)| Record::Said(Branch::Main, entry(id, 0, human(text))));
    journal.write(said.collect()).await.unwrap();
    let find = async |words: &str, before: Option<u64>| {
        let before = before.map(EntryId);
        let looked_for = LookedFor { words: words.to_owned(), before, limit: 10, ..LookedFor::default() };
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
async fn the_inbox_is_what_was_kept_and_not_taken_out() {
    let dir = tempfile::tempdir().unwrap();
    let journal = opened(&dir).journal;
    let kept = |id: u64| Kept { id: KeptId(id), at: minute(0), text: format!("thing {id}") };
    let records = [1, 2].map(|id| Record::Inbox(InboxChange::Kept(kept(id))));
    journal.write(records.to_vec()).await.unwrap();
    journal.write(vec![Record::Inbox(InboxChange::Removed(KeptId(1), minute(1)))]).await.unwrap();
    assert_eq!(journal.inbox().await.unwrap(), [kept(2)]);
}

#[tokio::test]
async fn the_newest_cards_come_first_as_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    let journal = opened(&dir).journal;
    let card = |id: &str, rang, state| Card {
        id: CardId(ItemId::parse(id).unwrap()),
        words: "call mum".to_owned(),
        said: "⏰ call mum".to_owned(),
        rang: minute(rang),
        state,
        snoozes: 2,
        chase: Chase::Once,
        followed: None,
    };
    let cards = [card("older", 1, State::Open), card("newer", 2, State::Done(minute(3)))];
    let kept = |card: &Card| {
        let post = PostKey::card(&card.id, card.rang);
        Record::Message(MessageChange::Card(card.clone(), post))
    };
    journal.write(cards.iter().map(kept).collect()).await.unwrap();
    let [older, newer] = cards;
    assert_eq!(journal.cards(1).await.unwrap(), std::slice::from_ref(&newer));
    assert_eq!(journal.cards(10).await.unwrap(), [newer, older]);
}
