//! Messages sent to the user, in the database and in the files derived from it.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test writes files without the trait Disk")]

use std::sync::Arc;

use domain::conversation::{Branch, EntryContent, EntryId, Head, Move, MoveReason, SessionId};
use domain::cost::CostSource;
use domain::effort::Effort;
use domain::place::{BackgroundPlace, ChainPosition};
use domain::record::{ForkChange, Record, SentChange, ShownMessage};
use domain::run::{Run, RunProgress, UserActivity};
use domain::schedule::{
    ModelName, PingPermission, ReportMode, ReportPolicy, RunOptions, ThinkingOverride, ToolRule,
};
use domain::sent_messages::{
    MessageOrigin, OriginExpiry, OriginLookup, RunEnd, SentId, StoredPrompt, StoredPromptId,
};
use domain::tool::{Outcome, ShownContent, ToolResult};
use engine::ports::Journal as _;
use futures_util::future::join_all;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::disk::RealDisk;
use journal::{OpenParams, OpenedJournal, Paths, open};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

fn now() -> Timestamp {
    "2026-11-15T09:00:00Z".parse().unwrap()
}

fn open_at(dir: &TempDir, now: Timestamp) -> OpenedJournal {
    let paths = Paths::new(dir.path());
    open(OpenParams { paths, disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 }).unwrap()
}

fn write_all(opened: &OpenedJournal, writings: Vec<Vec<Record>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let written = join_all(writings.into_iter().map(|records| opened.journal.write(records)));
    runtime.block_on(written).into_iter().collect::<Result<Vec<_>, _>>().unwrap();
}

fn session(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn mail() -> CostSource {
    CostSource::Routine("mail".to_owned())
}

fn origin(id: u64, at: Timestamp) -> MessageOrigin {
    let end = RunEnd {
        source: mail(),
        root: Some(EntryId(1)),
        entry: EntryId(id),
        // The label of a missing entry is unknown.
        label: "chat;report".parse().unwrap(),
    };
    MessageOrigin {
        id: SentId(id),
        session: session("9d1e"),
        parent: Some(session("main")),
        at,
        end: Some(end),
    }
}

fn origins_record(origins: Vec<MessageOrigin>) -> Vec<Record> {
    vec![Record::from(SentChange::OriginsKept(origins, now()))]
}

fn file(dir: &TempDir, name: &str) -> Value {
    let text = std::fs::read_to_string(dir.path().join("state").join(name)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn recorded_message_ids(dir: &TempDir) -> Vec<u64> {
    let file = file(dir, "fork_messages.json");
    let records = file.as_array().cloned().unwrap_or_default();
    records.iter().filter_map(|record| record["message_id"].as_u64()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// MT-6, MT-8: when many runs end at once, every message that is not expired is recorded.
    #[test]
    fn runs_ending_at_once_lose_no_message(
        flushes in prop::collection::vec(prop::collection::btree_set(1_u64..200, 0..5), 1..12),
        strangers in prop::collection::btree_set(1_000_u64..1_100, 0..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        let stranger = |id: &u64| {
            let ts = now().as_second() - if id.is_multiple_of(2) { 60 } else { 8 * 24 * 3600 };
            json!({"message_id": id, "fork_session_id": "other", "parent_session_id": null, "ts": ts})
        };
        let others: Vec<Value> = strangers.iter().map(stranger).collect();
        std::fs::write(dir.path().join("state/fork_messages.json"), json!(others).to_string()).unwrap();
        let opened = open_at(&dir, now());
        let origins = |ids: &std::collections::BTreeSet<u64>| ids.iter().map(|id| origin(*id, now())).collect();
        write_all(&opened, flushes.iter().map(|ids| origins_record(origins(ids))).collect());
        let live = strangers.iter().filter(|id| id.is_multiple_of(2));
        let expected: std::collections::BTreeSet<u64> = flushes.iter().flatten().chain(live).copied().collect();
        prop_assert_eq!(recorded_message_ids(&dir), expected.into_iter().collect::<Vec<_>>());
    }
}

/// MT-7, MT-8, DD-51: origins of our own and of foreign runs survive a restart, for seven days.
#[test]
fn origins_of_messages_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("state")).unwrap();
    let other = json!([{"message_id": 77, "fork_session_id": "other", "parent_session_id": null,
        "ts": now().as_second()}]);
    std::fs::write(dir.path().join("state/fork_messages.json"), other.to_string()).unwrap();
    let opened = open_at(&dir, now());
    write_all(&opened, vec![origins_record(vec![origin(5, now())])]);
    drop(opened);
    assert_eq!(recorded_message_ids(&dir), [5, 77]);

    let sent = open_at(&dir, now()).state.messages.sent;
    assert_eq!(
        sent.origin(SentId(5), now()),
        OriginLookup::Live(&origin(5, now()), &origin(5, now()).end.unwrap())
    );
    assert_eq!(sent.origin(SentId(77), now()), OriginLookup::Expired(OriginExpiry::OtherProgram));
    let later = now() + SignedDuration::from_hours(7 * 24);
    let opened = open_at(&dir, later);
    assert_eq!(opened.state.messages.sent.origin(SentId(5), later), OriginLookup::Unknown);
    assert_eq!(recorded_message_ids(&dir), [0; 0], "they are removed when they are read");
    write_all(&opened, vec![origins_record(vec![origin(9, later)])]);
    assert_eq!(recorded_message_ids(&dir), [9]);
}

/// XB-9, DD-53: a used inquiry is not offered again, even if a crash left it in the file.
#[test]
fn a_used_inquiry_is_not_offered_again() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let id = StoredPromptId("0a1b2c3d".to_owned());
    let inquiry = StoredPrompt {
        id: id.clone(),
        prompt: "what now?".to_owned(),
        at: now(),
        label: domain::label::Label::PLAIN,
    };
    write_all(&opened, vec![vec![Record::from(SentChange::ButtonRegistered(inquiry.clone()))]]);
    let before = std::fs::read(dir.path().join("state/inquiries.json")).unwrap();
    assert_eq!(file(&dir, "inquiries.json")["0a1b2c3d"]["prompt"], "what now?");
    drop(opened);
    let opened = open_at(&dir, now());
    assert_eq!(opened.state.messages.sent.stored_prompt(&id, now()), Some(&inquiry));
    write_all(&opened, vec![vec![Record::from(SentChange::ButtonUsed(id.clone()))]]);
    drop(opened);
    std::fs::write(dir.path().join("state/inquiries.json"), before).unwrap();
    let opened = open_at(&dir, now());
    assert_eq!(opened.state.messages.sent.stored_prompt(&id, now()), None);
    assert_eq!(file(&dir, "inquiries.json"), json!({}));
}

/// MT-2: an active run and its messages survive a restart; a message that the user dismissed is not
/// listed.
#[test]
fn a_run_and_its_messages_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let branch = Branch::fork("1f2e3d4c").unwrap();
    let run = Run {
        branch: branch.clone(),
        source: mail(),
        place: BackgroundPlace::Isolated(ChainPosition::Check { depth: 1, max: 3 }),
        name: "my mail".to_owned(),
        due: Some(now()),
        terms: RunOptions {
            tools: ToolRule::Only(vec!["ping_user".to_owned()]),
            model: ModelName::parse("haiku"),
            thinking: ThinkingOverride::On,
            effort: Some(Effort::High),
            report_policy: ReportPolicy { reporting: ReportMode::Always, pings: PingPermission::Never },
        },
        root: None,
        parent: None,
        sent_messages: Vec::new(),
        progress: RunProgress { user_activity: UserActivity::Talking, ..RunProgress::default() },
    };
    let to = Some(Head { entry: None, session: session("9d1e"), label: domain::label::Label::PLAIN });
    let moved = Move { branch: branch.clone(), at: now(), reason: MoveReason::Created, from: None, to };
    let entry = |id: u64| {
        let outcome = Outcome::Shown(ShownContent::Text(format!("number {id}")));
        let result = ToolResult {
            call: id.to_string(),
            text: "Message sent.".to_owned(),
            outcome,
            label: domain::label::Label::PLAIN,
        };
        let (id, parent) = (EntryId(id), (id > 1).then(|| EntryId(id - 1)));
        domain::conversation::Entry {
            id,
            parent,
            at: now(),
            content: EntryContent::Tools(vec![result]),
            own_label: domain::label::Label::PLAIN,
            label: domain::label::Label::PLAIN,
        }
    };
    let mut records = vec![Record::BranchMoved(moved), Record::Fork(ForkChange::RunStarted(run.clone()))];
    for id in 1..=3 {
        let showed = ShownMessage { branch: branch.clone(), source: mail(), entry: EntryId(id) };
        records.push(Record::EntryAppended(branch.clone(), entry(id)));
        records.push(Record::from(SentChange::RunShowed(showed)));
    }
    records.push(Record::from(SentChange::MessageHidden(SentId(2))));
    write_all(&opened, vec![records]);
    drop(opened);

    let OpenedJournal { journal, state: memory, .. } = open_at(&dir, now());
    let expected = Run { sent_messages: vec![SentId(1), SentId(2), SentId(3)], ..run };
    assert_eq!(memory.turns.runs.get(&branch).map(|run| &**run), Some(&expected));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let margin = runtime.block_on(journal.side_messages(EntryId(1), Some(EntryId(3)))).unwrap();
    assert_eq!(margin.sent, [(mail(), entry(1))]);
    assert_eq!(margin.put_away, [SentId(2)].into());
    assert_eq!(runtime.block_on(journal.entry(EntryId(3))).unwrap(), Some(entry(3)));
    assert_eq!(runtime.block_on(journal.entry(EntryId(4))).unwrap(), None);
}
