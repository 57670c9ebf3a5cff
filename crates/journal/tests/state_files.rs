//! The small state files: formats and changes.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use std::path::Path;
use std::sync::Arc;

use domain::conversation::{Branch, EntryId, SessionId};
use domain::cost::CostSource;
use domain::permission::Mode;
use domain::ping_budget::PingBudget;
use domain::schedule::Moment;
use domain::sent_messages::{MessageOrigin, RunEnd, SentId, StoredPrompt, StoredPromptId};
use domain::settings::{Setting, Settings, TimeoutSetting};
use domain::thinking::Thinking;
use jiff::{SignedDuration, Timestamp, Zoned};
use journal::disk::Disk;
use journal::files::config::ConfigFile;
use journal::files::fork_messages::ForkMessages;
use journal::files::inquiries::InquiriesFile;
use journal::files::model_places::{ConversationPrefix, ModelPosition, ModelPositions};
use journal::files::pending_updates::{FileUpdate, PendingUpdatesFile};
use journal::files::ping_budget::PingBudgetFile;
use serde_json::{Value, json};
use testkit::disk::MemoryDisk;

fn state() -> &'static Path {
    Path::new("/data/state")
}

fn now() -> Zoned {
    "2026-03-05T12:31:00.402133[America/Los_Angeles]".parse().unwrap()
}

fn at() -> Timestamp {
    now().timestamp()
}

fn stored_json(disk: &MemoryDisk, name: &str) -> Option<Value> {
    serde_json::from_slice(&disk.read(&state().join(name)).ok()?).ok()
}

fn update(n: i64) -> FileUpdate {
    let at = now().checked_add(SignedDuration::from_mins(n)).unwrap();
    FileUpdate::new(Moment::of(&at), format!("update {n}"))
}

fn messages(updates: &[FileUpdate]) -> Vec<&str> {
    updates.iter().map(|update| update.message.as_str()).collect()
}

/// An update that another program adds while ours is being synced is not overwritten.
#[test]
fn a_file_changed_concurrently_is_not_overwritten() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = PendingUpdatesFile::new(disk.clone(), state());
    let path = state().join("pending_updates.json");
    let empty = file.read_content().unwrap().hash().to_owned();
    let first = file.replace(&[update(1)], &empty).unwrap().expect("nobody changed it");
    assert_eq!(file.read_content().unwrap().hash(), first);
    let theirs = || journal::disk::replace(&*disk, &path, b"[]").unwrap();
    let written = journal::disk::replace_if(&*disk, &path, b"ours", || {
        theirs();
        false
    });
    assert!(!written.unwrap());
    assert_eq!(disk.read(&path).unwrap(), b"[]");
    assert_eq!(disk.list(state()).unwrap().len(), 1, "the text that was not used is gone");

    assert_eq!(file.replace(&[update(2)], &first).unwrap(), None);
    assert_eq!(file.replace(&[], &first).unwrap(), None);
    assert_eq!(disk.read(&path).unwrap(), b"[]");
    let theirs = file.read_content().unwrap().hash().to_owned();
    assert!(file.replace(&[update(2)], &theirs).unwrap().is_some());
}

/// DD-18, DD-52, PU-1, PU-5, PU-7: updates are stored in order, with a time that has an offset.
#[test]
fn updates_are_stored_in_order() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = PendingUpdatesFile::new(disk.clone(), state());
    file.append(update(0), at()).unwrap();
    assert_eq!(
        stored_json(&disk, "pending_updates.json"),
        Some(json!([{"ts": "2026-03-05T12:31:00.402133-08:00", "message": "update 0"}]))
    );
    file.append(update(1), at()).unwrap();
    for _ in 0..2 {
        assert_eq!(messages(&file.load(at()).unwrap().value), ["update 0", "update 1"]);
    }
}

/// PU-2, PU-3: the hundredth update does not displace the first.
#[test]
fn no_update_is_dropped() {
    let mut file = PendingUpdatesFile::new(Arc::new(MemoryDisk::default()), state());
    for n in 0..100 {
        file.append(update(n), at()).unwrap();
    }
    let found = file.load(at()).unwrap().value;
    assert_eq!((found.len(), found[0].message.as_str()), (100, "update 0"));
}

/// DD-52, PU-4, PU-6, PU-14: updates are taken once, and restored before newer ones.
#[test]
fn an_update_is_taken_once_and_can_be_restored() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = PendingUpdatesFile::new(disk.clone(), state());
    for n in 0..2 {
        file.append(update(n), at()).unwrap();
    }
    let taken = file.take(at()).unwrap().value;
    assert_eq!(messages(&taken), ["update 0", "update 1"]);
    assert_eq!((file.take(at()).unwrap().value, stored_json(&disk, "pending_updates.json")), (vec![], None));
    file.append(update(2), at()).unwrap();
    file.restore(&taken, at()).unwrap();
    assert_eq!(messages(&file.load(at()).unwrap().value), ["update 0", "update 1", "update 2"]);
    file.remove_taken(&taken, at()).unwrap();
    assert_eq!(messages(&file.load(at()).unwrap().value), ["update 2"]);
    file.clear().unwrap();
    file.clear().unwrap();
    assert_eq!(stored_json(&disk, "pending_updates.json"), None);
}

/// DD-52: an update is written with exactly two keys.
#[test]
fn an_update_has_exactly_two_keys() {
    let disk = Arc::new(MemoryDisk::default());
    let old = r#"[{"ts": "2026-03-05T12:00:00-08:00", "message": "a", "id": "7"}]"#;
    disk.put("/data/state/pending_updates.json", old.as_bytes());
    let mut file = PendingUpdatesFile::new(disk.clone(), state());
    file.append(update(1), at()).unwrap();
    file.append(update(1), at()).unwrap();
    let kept = stored_json(&disk, "pending_updates.json").unwrap();
    let keys = |update: &Value| update.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        kept.as_array().unwrap().iter().map(keys).collect::<Vec<_>>(),
        [["message", "ts"], ["message", "ts"]]
    );
}

fn origin(message: u64, fork: &str) -> MessageOrigin {
    let session = |text| SessionId::parse(text).unwrap();
    let end = RunEnd {
        source: CostSource::Routine("mail".to_owned()),
        root: None,
        entry: EntryId(9),
        label: domain::label::Label::PLAIN,
    };
    let (session, parent) = (session(fork), Some(session("main")));
    MessageOrigin { id: SentId(message), session, parent, at: at(), end: Some(end) }
}

/// DD-19, DD-51, MT-1: a record has its four keys and is read for seven days.
#[test]
fn a_message_is_stored_with_the_session_of_its_run() {
    let disk = Arc::new(MemoryDisk::default());
    let file = ForkMessages::new(disk.clone(), state());
    file.replace(&[]).unwrap();
    assert_eq!(stored_json(&disk, "fork_messages.json"), None);

    file.replace(&[origin(1_340_012_345_678_901_234, "9d1e"), origin(2, "9d1e")]).unwrap();
    let record = json!({"message_id": 1_340_012_345_678_901_234_u64, "fork_session_id": "9d1e",
        "parent_session_id": "main", "ts": 1_772_742_660.402_133});
    assert_eq!(stored_json(&disk, "fork_messages.json").unwrap()[0], record);
    let known = MessageOrigin { end: None, ..origin(1_340_012_345_678_901_234, "9d1e") };
    assert_eq!(ForkMessages::new(disk.clone(), state()).load(at()).unwrap().value[0], known);

    let mut other = record.clone();
    other["note"] = json!("not ours");
    disk.put("/data/state/fork_messages.json", json!([other]).to_string().as_bytes());
    let file = ForkMessages::new(disk.clone(), state());
    let mut all = file.load(at()).unwrap().value;
    all.push(origin(3, "77aa"));
    file.replace(&all).unwrap();
    let kept = stored_json(&disk, "fork_messages.json").unwrap();
    assert_eq!((&kept[0], &kept[1]["message_id"]), (&record, &json!(3)));
    let later = at() + SignedDuration::from_hours(7 * 24);
    assert_eq!(ForkMessages::new(disk, state()).load(later).unwrap().value, [], "older than seven days");
}

/// DD-19, DD-53: the prompt of a button is stored under its id.
#[test]
fn the_prompt_of_a_button_is_stored_under_its_id() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = InquiriesFile::new(disk.clone(), state());
    let inquiry = |id: &str| StoredPrompt {
        id: StoredPromptId(id.to_owned()),
        prompt: "what now?".to_owned(),
        at: at(),
        label: domain::label::Label::PLAIN,
    };
    file.replace(&[inquiry("0a1b2c3d"), inquiry("1a1b2c3d")]).unwrap();
    let expected = json!({"prompt": "what now?", "ts": 1_772_742_660.402_133});
    assert_eq!(stored_json(&disk, "inquiries.json").unwrap()["0a1b2c3d"], expected);
    assert_eq!(InquiriesFile::new(disk.clone(), state()).load(at()).unwrap().value[0], inquiry("0a1b2c3d"));
    file.replace(&[inquiry("1a1b2c3d")]).unwrap();
    assert_eq!(stored_json(&disk, "inquiries.json").unwrap(), json!({"1a1b2c3d": expected}));
}

/// DD-54, DD-18: the budget is stored with all its keys and foreign ones.
#[test]
fn the_ping_budget_is_stored_with_foreign_keys() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = PingBudgetFile::new(disk.clone(), state(), now().time_zone().clone());
    assert_eq!(file.load(at()).unwrap().value, None);
    file.save(&PingBudget::full(&now())).unwrap();
    let full = json!({"capacity": 5, "available": 5.0, "refill_rate_minutes": 90,
        "last_refill": "2026-03-05T12:31:00.402133-08:00", "critical_used": 0,
        "critical_reset_date": "2026-03-05", "daily_used": 0, "daily_used_reset": "2026-03-05"});
    assert_eq!(stored_json(&disk, "ping_budget.json"), Some(full.clone()));

    let mut other = full;
    other["note"] = json!("kept");
    disk.put("/data/state/ping_budget.json", other.to_string().as_bytes());
    let mut budget = file.load(at()).unwrap().value.unwrap();
    (budget.available, budget.used.count) = (3.25, 1);
    file.save(&budget).unwrap();
    assert_eq!(file.load(at()).unwrap().value, Some(budget));
    assert_eq!(stored_json(&disk, "ping_budget.json").unwrap()["note"], json!("kept"));
}

/// DD-55, RC-1, RC-2, RC-4: missing keys have default values, and all keys are written.
#[test]
fn a_missing_setting_has_its_default_value() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = ConfigFile::new(disk.clone(), state());
    let usual = file.load(at()).unwrap().value;
    file.save(&usual).unwrap();
    let all = json!({"model_main": null, "model_fork": null, "thinking_main": null,
        "thinking_fork": null, "effort_main": null, "effort_background": null, "bg_fork_timeout": 1800, "fork_idle_timeout": 10,
        "permission_mode": "default", "auto_update": false, "auto_update_interval": 60, "auto_update_hour": 6,
        "quiet": "22:00-08:00", "digest": "08:30 17:30", "ping_caps": "6 45", "follow_up": 20, "daily_limit": null, "name": null});
    assert_eq!(stored_json(&disk, "config.json"), Some(all));

    disk.put(
        "/data/state/config.json",
        br#"{"thinking_main": true, "thinking_fork": false, "model_main": "opus", "new": [1]}"#,
    );
    let found = file.load(at()).unwrap();
    assert_eq!((found.damage, found.warnings), (None, vec![]));
    let Settings { thinking, models, .. } = &found.value.settings;
    assert_eq!((thinking.main, thinking.fork), (Some(Thinking::Adaptive), Some(Thinking::Off)));
    assert_eq!((models.main.as_deref(), models.fork.as_deref()), (Some("opus"), None));
    file.save(&found.value).unwrap();
    assert_eq!(stored_json(&disk, "config.json").unwrap()["new"], json!([1]));
}

/// A mode in the file is kept, even if it was the default once.
#[test]
fn a_mode_that_the_file_names_stays_the_mode() {
    let disk = Arc::new(MemoryDisk::default());
    let file = ConfigFile::new(disk.clone(), state());
    assert_eq!(file.load(at()).unwrap().value.settings.permission_mode, Mode::Ask);
    for mode in Mode::ALL {
        let text = format!(r#"{{"permission_mode": "{}"}}"#, mode.as_str());
        disk.put("/data/state/config.json", text.as_bytes());
        assert_eq!(file.load(at()).unwrap().value.settings.permission_mode, mode);
    }
}

/// RC-1, SL-13: edits by the user in the file survive a change of another setting.
#[test]
fn changing_one_setting_preserves_the_others_in_the_file() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = ConfigFile::new(disk.clone(), state());
    disk.put("/data/state/config.json", br#"{"auto_update_hour": 3, "thinking_fork": "adaptive"}"#);
    let mut known = Settings::default();
    Setting::ModelFork.set(&mut known, "haiku").unwrap();
    file.set(Setting::ModelFork, &known, at()).unwrap();
    let kept = stored_json(&disk, "config.json").unwrap();
    assert_eq!((&kept["model_fork"], &kept["auto_update_hour"]), (&json!("haiku"), &json!(3)));
    assert_eq!((&kept["thinking_fork"], &kept["bg_fork_timeout"]), (&json!("adaptive"), &json!(1800)));
}

/// RC-10: an invalid value is reported and replaced by the default; the others are used.
#[test]
fn an_invalid_setting_is_reported_and_affects_no_other() {
    let disk = Arc::new(MemoryDisk::default());
    let wrong = r#"{"model_main": 5, "thinking_main": "loud", "bg_fork_timeout": -1, "fork_idle_timeout": 7,
        "permission_mode": ["x"], "auto_update": "on", "auto_update_interval": 1.5, "auto_update_hour": 24}"#;
    disk.put("/data/state/config.json", wrong.as_bytes());
    let found = ConfigFile::new(disk, state()).load(at()).unwrap();
    let named: Vec<&str> = found.warnings.iter().map(|warning| warning.key.as_str()).collect();
    let wrong = [
        Setting::ModelMain,
        Setting::ThinkingMain,
        Setting::Timeout(TimeoutSetting::BgFork),
        Setting::PermissionMode,
        Setting::AutoUpdateInterval,
        Setting::AutoUpdateHour,
    ];
    assert_eq!(named, wrong.map(Setting::display_name));
    let config = found.value.settings;
    assert_eq!((config.timeouts.bg_fork_seconds, config.timeouts.fork_idle_minutes), (1800, 7));
    assert_eq!((config.permission_mode, config.updates.automatic), (Mode::Ask, true));
    assert_eq!(
        found.warnings[0].to_string(),
        "model.main: it cannot be `5`. use the name of a model, or `default`."
    );
}

/// Model positions are stored; a damaged file is set aside, and the model is sent the conversation
/// again.
#[test]
fn model_positions_are_stored_and_damage_is_set_aside() {
    let disk = Arc::new(MemoryDisk::default());
    let mut file = ModelPositions::new(disk.clone(), state());
    let mark = |said: usize| ConversationPrefix { said, print: format!("print-{said}") };
    let place =
        ModelPosition { session: "s-1".to_owned(), heard: mark(1), told: mark(3), instructions: None };
    let places = [(Branch::Main, place.clone()), (Branch::fork("aside").unwrap(), place)].into();
    file.save(&places).unwrap();
    assert_eq!(file.load(at()).unwrap().value, places);
    assert_eq!(stored_json(&disk, "model_places.json").unwrap()["fork/aside"]["told"]["said"], 3);
    for damaged in ["{\"main\":", "{\"nobody/x\":{}}", "[]", "\0\0"] {
        disk.put(state().join("model_places.json"), damaged.as_bytes());
        let found = file.load(at()).unwrap();
        assert!(found.value.is_empty() && found.damage.is_some(), "{damaged}");
    }
}
