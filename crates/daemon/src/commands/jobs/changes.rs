//! Applies command-line flags to a job file.

use domain::schedule::{ItemId, Moment};
use jiff::tz::TimeZone;
use journal::frontmatter::{BadText, Change, Value, edit, split};

use super::Job;
use crate::cli::{JobKeys, ReminderKeys, RoutineKeys};
use crate::exit::CommandError;

/// Changes of keys, in the order of the file, and of the message.
#[derive(Default)]
pub struct Changes {
    keys: Vec<(&'static str, Change)>,
    message: Option<String>,
}

pub fn routine_changes(flags: &RoutineKeys) -> Changes {
    let mut changes = Changes::default();
    if flags.cron.is_some() {
        changes.keys.extend([("every", Change::Remove), ("from", Change::Remove)]);
    }
    if flags.every.is_some() {
        changes.keys.push(("cron", Change::Remove));
    }
    changes.text("cron", flags.cron.as_deref());
    changes.text("every", flags.every.as_deref());
    changes.text("from", flags.from.as_deref());
    changes.text("until", flags.until.as_deref());
    changes.text("timezone", flags.timezone.as_deref());
    changes.add_job_keys(&flags.job);
    changes.text("session", flags.session.as_deref());
    changes
}

pub fn reminder_changes(flags: &ReminderKeys, run_at: Option<Moment>) -> Changes {
    let mut changes = Changes::default();
    changes.text("run-at", run_at.map(|run_at| run_at.to_string()).as_deref());
    changes.number("chain-depth", flags.chain_depth);
    changes.number("max-chain", flags.max_chain);
    changes.text("chain-parent", flags.chain_parent.as_deref());
    changes.add_job_keys(&flags.job);
    changes
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.message.is_none()
    }

    /// Returns the text of a file with the changes; everything else stays as it was written.
    pub fn apply(&self, text: &str) -> Result<String, BadText> {
        let mut text = text.to_owned();
        for (key, change) in &self.keys {
            text = edit(&text, key, change)?;
        }
        let Some(message) = &self.message else { return Ok(text) };
        let parts = split(&text)?;
        Ok([parts.opening, parts.yaml, parts.closing, message.trim(), "\n"].concat())
    }

    /// Creates a new job with these keys, whose message is `words`.
    pub fn new_job<K: Job>(&self, id: &ItemId, words: &str, zone: &TimeZone) -> Result<K, CommandError> {
        if !words.contains(char::is_alphanumeric) {
            return Err(CommandError::Failed(
                "--message: it is told to do nothing; write what to do".to_owned(),
            ));
        }
        let empty = format!("---\nid: \"{id}\"\n---\n{}\n", words.trim());
        let made = self.apply(&empty).and_then(|text| K::read(&text, zone));
        // The error has no line number, because the user wrote no file.
        made.map_err(|bad| CommandError::Failed(BadText { line: None, ..bad }.to_string()))
    }

    fn add_job_keys(&mut self, flags: &JobKeys) {
        let aside = &flags.aside;
        self.flag("background", aside.background);
        self.text("model", aside.model.as_deref());
        self.flag("thinking", aside.no_thinking.map(|no| !no));
        self.thinking(aside.thinking.as_deref());
        self.text("effort", aside.effort.as_deref());
        self.flag("isolated", aside.isolated);
        self.text("description", flags.description.as_deref());
        self.text("update-main-session", aside.update_main_session.as_deref());
        self.flag("allow-ping", aside.no_ping.map(|no| !no));
        self.list("allowed-tools", aside.allowed_tools.as_deref());
        self.list("disallowed-tools", aside.disallowed_tools.as_deref());
        self.list("skills", flags.skills.as_deref());
        self.text("if-missed", flags.if_missed.as_deref());
        self.text("overlap", flags.overlap.as_deref());
        self.message = flags.message.clone();
    }

    fn text(&mut self, key: &'static str, text: Option<&str>) {
        self.keys.extend(text.map(|text| match text {
            "" => (key, Change::Remove),
            text => (key, Change::Set(Value::Text(text.to_owned()))),
        }));
    }

    fn flag(&mut self, key: &'static str, flag: Option<bool>) {
        self.keys.extend(flag.map(|flag| (key, Change::Set(Value::Flag(flag)))));
    }

    /// Sets the three-state key `thinking`; `inherit` removes it.
    fn thinking(&mut self, way: Option<&str>) {
        let change = match way {
            Some("on") => Change::Set(Value::Flag(true)),
            Some("off") => Change::Set(Value::Flag(false)),
            Some(_) => Change::Remove,
            None => return,
        };
        self.keys.push(("thinking", change));
    }

    fn number(&mut self, key: &'static str, number: Option<u32>) {
        self.keys.extend(number.map(|number| (key, Change::Set(Value::Number(number)))));
    }

    fn list(&mut self, key: &'static str, list: Option<&[String]>) {
        self.keys.extend(list.map(|list| {
            if list.iter().all(String::is_empty) {
                (key, Change::Remove)
            } else {
                (key, Change::Set(Value::List(list.to_vec())))
            }
        }));
    }
}
