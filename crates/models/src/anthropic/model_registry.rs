//! Model knowledge that outlives a request: the vendor's model records and refused features.
//!
//! It is stored per host and model, in memory and in one small file of the data directory. Losing
//! the file costs at most one refused request, so a file that cannot be read is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::model::ModelAbilities;
use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::capabilities::{Capabilities, Feature, ModelInfo};

/// The vendor's own host. Other hosts may know fewer fields.
const OFFICIAL_HOST: &str = "api.anthropic.com";

/// Age at which a model record is fetched again.
const MAX_RECORD_AGE: SignedDuration = SignedDuration::from_hours(24);

/// Age at which a record that could not be fetched is asked for again.
const FETCH_RETRY_AGE: SignedDuration = SignedDuration::from_mins(10);

/// Age at which a refused feature is tried again: the server may have been updated.
const MAX_REFUSAL_AGE: SignedDuration = SignedDuration::from_hours(24 * 30);

/// Persistent storage of the knowledge between two runs of the program.
pub trait CapabilityStore: Send + Sync + fmt::Debug {
    /// Returns the stored text, if there is any.
    fn load(&self) -> Option<String>;

    /// Replaces the stored text. Failing is harmless.
    fn save(&self, text: &str);

    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The knowledge about the models of one host.
#[derive(Debug)]
pub struct ModelRegistry {
    host: String,
    official: bool,
    store: Option<Arc<dyn CapabilityStore>>,
    models: Mutex<BTreeMap<String, ModelRecord>>,
    /// True if something was learned since the last call of `take_learned`.
    changed: AtomicBool,
}

type RecordsByHost = BTreeMap<String, BTreeMap<String, ModelRecord>>;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ModelRecord {
    /// When the model record was last requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fetched: Option<Timestamp>,
    /// When fetching it failed for a reason that may be temporary.
    #[serde(skip)]
    failed: Option<Timestamp>,
    /// The record, or none if the host has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    info: Option<ModelInfo>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    refused: BTreeSet<Feature>,
    /// When a feature was last refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused_at: Option<Timestamp>,
    /// The most output tokens, as a refusal named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output: Option<u32>,
}

impl ModelRecord {
    /// Returns whether the refusals are so old that the features are tried again.
    fn has_old_refusals(&self, now: Option<Timestamp>) -> bool {
        let age = now.zip(self.refused_at).map(|(now, at)| now.duration_since(at));
        age.is_some_and(|age| age > MAX_REFUSAL_AGE)
    }
}

impl ModelRegistry {
    /// Loads the knowledge about the host of `base`.
    pub fn load(base: &Url, store: Option<Arc<dyn CapabilityStore>>) -> Self {
        let host = base.host_str().unwrap_or_default().to_owned();
        let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
        let official = host == OFFICIAL_HOST;
        let host = format!("{host}{port}");
        let models = store.as_ref().map(|store| read_records(&**store).remove(&host).unwrap_or_default());
        let models = models.unwrap_or_default();
        let changed = AtomicBool::new(!models.is_empty());
        Self { host, official, store, models: Mutex::new(models), changed }
    }

    /// Returns the abilities of each known model if something was learned since the last call.
    pub fn take_learned(&self) -> Option<BTreeMap<String, ModelAbilities>> {
        if !self.changed.swap(false, Ordering::Relaxed) {
            return None;
        }
        let ids: Vec<String> = self.models().keys().cloned().collect();
        let abilities = |id: String| {
            let abilities = self.capabilities(&id).abilities();
            (id, abilities)
        };
        Some(ids.into_iter().map(abilities).collect())
    }

    /// Returns whether the host is the vendor's own.
    pub fn is_official(&self) -> bool {
        self.official
    }

    /// The features to use for `model`.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        let record = self.models().get(model).cloned().unwrap_or_default();
        let now = self.store.as_ref().map(|store| store.now());
        let refused = if record.has_old_refusals(now) { BTreeSet::new() } else { record.refused };
        let mut capabilities = Capabilities::of(model, self.official, record.info.as_ref(), &refused);
        if let Some(most) = record.max_output {
            capabilities.max_output = capabilities.max_output.min(most);
        }
        capabilities
    }

    /// Returns whether nothing at all is known about `model`, so that waiting for its record is
    /// worth it.
    pub fn is_unknown(&self, model: &str) -> bool {
        Capabilities::built_in(model).is_none() && !self.models().contains_key(model)
    }

    /// Returns whether the record of `model` should be fetched. Always false without a store: a
    /// single request needs none.
    pub fn needs_record(&self, model: &str) -> bool {
        let Some(store) = &self.store else { return false };
        let record = self.models().get(model).cloned().unwrap_or_default();
        let now = store.now();
        let is_old = |at: Option<Timestamp>, most| at.is_none_or(|at| now.duration_since(at).abs() > most);
        is_old(record.fetched, MAX_RECORD_AGE) && is_old(record.failed, FETCH_RETRY_AGE)
    }

    /// Records that the record of `model` could not be fetched, so that the next requests do not
    /// wait for it.
    pub fn record_fetch_failure(&self, model: &str) {
        let now = self.store.as_ref().map(|store| store.now());
        self.models().entry(model.to_owned()).or_default().failed = now;
    }

    /// Stores the fetched record of `model`, or that the host has none.
    pub fn store_record(&self, model: &str, info: Option<ModelInfo>) {
        let now = self.store.as_ref().map(|store| store.now());
        self.update(model, |record| {
            record.fetched = now;
            record.info = info;
        });
    }

    /// Records that `feature` was refused. Returns false if that was known: asking again would not
    /// help then.
    pub fn record_refusal(&self, model: &str, feature: Feature) -> bool {
        let now = self.store.as_ref().map(|store| store.now());
        let mut new = false;
        self.update(model, |record| {
            if record.has_old_refusals(now) {
                record.refused.clear();
            }
            new = record.refused.insert(feature);
            record.refused_at = now;
        });
        new
    }

    /// Records the output limit that a refusal named. Returns false if that was known.
    pub fn record_output_limit(&self, model: &str, most: u32) -> bool {
        let mut new = false;
        self.update(model, |record| new = record.max_output.replace(most) != Some(most));
        new
    }

    fn update(&self, model: &str, change: impl FnOnce(&mut ModelRecord)) {
        let models = {
            let mut models = self.models();
            change(models.entry(model.to_owned()).or_default());
            models.clone()
        };
        self.changed.store(true, Ordering::Relaxed);
        if let Some(store) = &self.store {
            let mut hosts = read_records(&**store);
            hosts.insert(self.host.clone(), models);
            if let Ok(text) = serde_json::to_string_pretty(&hosts) {
                store.save(&text);
            }
        }
    }

    fn models(&self) -> MutexGuard<'_, BTreeMap<String, ModelRecord>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_records(store: &dyn CapabilityStore) -> RecordsByHost {
    store.load().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct MemoryStore {
        text: Mutex<Option<String>>,
        hours: Mutex<i64>,
    }

    impl CapabilityStore for MemoryStore {
        fn load(&self) -> Option<String> {
            self.text.lock().unwrap().clone()
        }

        fn save(&self, text: &str) {
            *self.text.lock().unwrap() = Some(text.to_owned());
        }

        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH + SignedDuration::from_hours(*self.hours.lock().unwrap())
        }
    }

    fn known(store: &Arc<MemoryStore>, url: &str) -> ModelRegistry {
        ModelRegistry::load(&url.parse().unwrap(), Some(store.clone()))
    }

    #[test]
    fn refused_features_survive_a_restart_and_are_tried_again_after_a_month() {
        let store = Arc::new(MemoryStore::default());
        let first = known(&store, "http://127.0.0.1:9");
        assert!(first.record_refusal("claude-opus-5-5", Feature::Effort));
        assert!(!first.record_refusal("claude-opus-5-5", Feature::Effort), "known already");
        let again = known(&store, "http://127.0.0.1:9");
        assert!(again.capabilities("claude-opus-5-5").efforts.is_empty());
        assert!(!again.capabilities("claude-sonnet-5-5").efforts.is_empty(), "another model");
        let elsewhere = known(&store, "http://127.0.0.1:10");
        assert!(!elsewhere.capabilities("claude-opus-5-5").efforts.is_empty(), "another host");
        *store.hours.lock().unwrap() = 24 * 31;
        assert!(!again.capabilities("claude-opus-5-5").efforts.is_empty());
        assert!(
            again.record_refusal("claude-opus-5-5", Feature::Effort),
            "refused again: worth a correction"
        );
        assert!(again.capabilities("claude-opus-5-5").efforts.is_empty());
    }

    #[test]
    fn model_record_is_fetched_once_a_day() {
        let store = Arc::new(MemoryStore::default());
        let known = known(&store, "https://api.anthropic.com");
        assert!(known.needs_record("m") && known.is_unknown("m"));
        known.store_record("m", None);
        assert!(!known.needs_record("m") && !known.is_unknown("m"));
        *store.hours.lock().unwrap() = 25;
        assert!(known.needs_record("m"));
    }

    #[test]
    fn record_that_cannot_be_fetched_is_asked_for_again_later_and_not_waited_for() {
        let store = Arc::new(MemoryStore::default());
        let known = known(&store, "https://gateway.example");
        assert!(known.needs_record("m") && known.is_unknown("m"));
        known.record_fetch_failure("m");
        assert!(!known.needs_record("m") && !known.is_unknown("m"));
        assert_eq!(store.load(), None, "a restart tries again");
        *store.hours.lock().unwrap() = 1;
        assert!(known.needs_record("m"));
    }

    #[test]
    fn damaged_file_is_ignored() {
        let store = Arc::new(MemoryStore::default());
        store.save("{ not json");
        let known = known(&store, "https://api.anthropic.com");
        assert!(known.capabilities("claude-opus-5-5").adaptive);
        known.record_output_limit("claude-opus-5-5", 5);
        assert_eq!(known.capabilities("claude-opus-5-5").max_output, 5);
    }
}
