//! `ollim-bot history`: lists and searches past conversations. Reads from the disk, so the daemon
//! need not run.

mod since;
mod telling;

use std::process::ExitCode;

use domain::conversation::{Entry, Said};
use domain::label::Label;
use domain::turn::TurnId;
use engine::ports::{Clock, Found, LookedFor, Order, Within};
use jiff::Zoned;
use journal::db::{Database, Talk};
use serde_json::{Value, json};
use surfaces::web::search::HitWire;

use super::answer;
use crate::cli::{HistoryAction, Output, Which};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::Settings;
use telling::{Depth, Teller};

const PAGE: usize = 30;

pub fn show(settings: &Settings, action: &HistoryAction, output: &Output) -> Result<ExitCode, Failed> {
    let zone = settings.zone.value.clone();
    let now = SystemClock::new(zone.clone()).now();
    let Some(database) = journal::peek(&settings.paths).map_err(|error| failed(&error))? else {
        answer(output, &json!({ "hits": [] }), NOTHING);
        return Ok(ExitCode::SUCCESS);
    };
    let reader = Reader { database, now, output };
    match action {
        HistoryAction::Sessions(which) => reader.sessions(which),
        HistoryAction::Prompts(which) => reader.prompts(which),
        HistoryAction::Response { number, verbose } => reader.response(*number, Depth::of(*verbose)),
        HistoryAction::Transcript { name, which } => reader.transcript(name, which),
        HistoryAction::Search { words, which } => reader.search(&words.join(" "), which),
        HistoryAction::Export { name } => reader.export(name),
    }
}

/// The most updates that a search returns.
const UPDATES: usize = 10;

const NOTHING: &str = "nothing was said yet.";

/// Reads the history and prints results.
struct Reader<'a> {
    database: Database,
    now: Zoned,
    output: &'a Output,
}

impl Reader<'_> {
    fn sessions(&self, which: &Which) -> Result<ExitCode, Failed> {
        let talks = self.database.talks(&self.within(which)?).map_err(|error| failed(&error))?;
        let talks = talks.into_iter().skip(skipped(which)).take(PAGE + 1).collect();
        let page = Page::new(talks, which);
        let teller = self.teller(which);
        self.know(page.items.iter().map(|talk: &Talk| talk.first.label));
        self.tell("sessions", &page, |talk| teller.talk_json(talk), |talk| Some(teller.talk(talk)))
    }

    fn prompts(&self, which: &Which) -> Result<ExitCode, Failed> {
        let found = self.database.prompts(&self.within(which)?, skipped(which), PAGE + 1);
        let page = Page::new(found.map_err(|error| failed(&error))?, which);
        let teller = self.teller(which);
        self.know(page.items.iter().map(|prompted| prompted.label));
        self.tell("prompts", &page, |one| teller.prompt_json(one), |one| Some(teller.prompt(one)))
    }

    fn response(&self, number: u64, depth: Depth) -> Result<ExitCode, Failed> {
        let found = self.database.answered(TurnId(number)).map_err(|error| failed(&error))?;
        let (prompted, said) = found.ok_or_else(|| {
            let listed = "`ollim-bot history prompts` lists the numbers.";
            Failed::NotDone(format!("nothing was said under the number {number}. {listed}"))
        })?;
        let teller = Teller { zone: self.now.time_zone(), depth };
        let mut value = teller.prompt_json(&prompted);
        value["said"] = said.iter().map(|entry| teller.entry_json(entry)).collect();
        let told: Vec<String> = said.iter().filter_map(|entry| teller.words(entry)).collect();
        self.know(said.iter().map(history_label));
        let told = if told.is_empty() { "it did not answer that.".to_owned() } else { told.join("\n\n") };
        answer(self.output, &value, &told);
        Ok(ExitCode::SUCCESS)
    }

    fn transcript(&self, name: &str, which: &Which) -> Result<ExitCode, Failed> {
        let within = self.within(which)?;
        let skipped = skipped(which);
        let mut seen = 0;
        let mut said = Vec::new();
        self.each_said(name, |entry| {
            if within.since.is_some_and(|since| entry.at < since) {
                return false;
            }
            if within.holds(entry.at) {
                seen += 1;
                if seen > skipped {
                    said.push(entry);
                }
            }
            said.len() <= PAGE
        })?;
        let mut page = Page::new(said, which);
        // A conversation is shown oldest first, whichever part of it.
        page.items.reverse();
        let teller = self.teller(which);
        self.know(page.items.iter().map(history_label));
        self.tell("entries", &page, |entry| teller.entry_json(entry), |entry| teller.entry(entry))
    }

    fn search(&self, words: &str, which: &Which) -> Result<ExitCode, Failed> {
        let order = if which.reverse { Order::Newest } else { Order::Best };
        let limit = u32::try_from(skipped(which) + PAGE + 1).unwrap_or(u32::MAX);
        let looked_for =
            LookedFor { words: words.to_owned(), before: None, within: self.within(which)?, order, limit };
        let found = self.database.search(&looked_for).map_err(|error| failed(&error))?;
        let page = Page::new(found.into_iter().skip(skipped(which)).collect(), which);
        let teller = self.teller(which);
        let zone = self.now.time_zone();
        let hit = |found: &Found| HitWire::new(found, words, zone);
        let updates = self.database.search_reports(words, UPDATES).map_err(|error| failed(&error))?;
        let labels = page.items.iter().map(|found| history_label(&found.entry));
        self.know(labels.chain(updates.iter().map(|update| update.label)));
        let mut lines: Vec<String> = page.items.iter().map(|found| teller.hit(found, &hit(found))).collect();
        lines.extend(updates.iter().map(|update| teller.update(update)));
        let hits: Vec<Value> = page.items.iter().map(|found| json!(hit(found))).collect();
        let told: Vec<Value> = updates.iter().map(|update| teller.update_json(update)).collect();
        let value = json!({ "hits": hits, "updates": told, "more": page.more });
        self.answer(&value, lines, page.more)
    }

    /// Records in the printer the labels of all entries that are shown.
    fn know(&self, labels: impl Iterator<Item = Label>) {
        self.output.voice.know(labels.fold(Label::PLAIN, Label::join));
    }

    fn export(&self, name: &str) -> Result<ExitCode, Failed> {
        let mut said: Vec<Entry> = Vec::new();
        self.each_said(name, |entry| {
            said.push(entry);
            true
        })?;
        said.reverse();
        let text = telling::markdown(name, &said, self.now.time_zone());
        answer(self.output, &json!({ "name": name, "markdown": text }), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn each_said(&self, name: &str, each: impl FnMut(Entry) -> bool) -> Result<(), Failed> {
        if self.database.each_said(name, each).map_err(|error| failed(&error))? {
            Ok(())
        } else {
            Err(Failed::NotDone(format!(
                "there is no conversation called `{name}`. `ollim-bot history sessions` lists them."
            )))
        }
    }

    fn within(&self, which: &Which) -> Result<Within, Failed> {
        let read =
            |words: &Option<String>| words.as_deref().map(|words| since::read(words, &self.now)).transpose();
        Ok(Within { since: read(&which.since)?, until: read(&which.until)?, tags: which.tags.clone() })
    }

    fn teller(&self, which: &Which) -> Teller<'_> {
        Teller { zone: self.now.time_zone(), depth: Depth::of(which.verbose) }
    }

    /// Prints a page under the JSON key `name`, with each item as JSON or as text.
    fn tell<T>(
        &self,
        name: &str,
        page: &Page<T>,
        value: impl Fn(&T) -> Value,
        line: impl Fn(&T) -> Option<String>,
    ) -> Result<ExitCode, Failed> {
        let values: Vec<Value> = page.items.iter().map(value).collect();
        let lines: Vec<String> = page.items.iter().filter_map(line).collect();
        self.answer(&json!({ name: values, "more": page.more }), lines, page.more)
    }

    fn answer(&self, value: &Value, mut lines: Vec<String>, more: bool) -> Result<ExitCode, Failed> {
        if lines.is_empty() {
            lines.push("nothing like that was said.".to_owned());
        }
        if more {
            lines.push("(there is more: `--page N`)".to_owned());
        }
        answer(self.output, value, &lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }
}

/// One page of results.
struct Page<T> {
    items: Vec<T>,
    more: bool,
}

impl<T> Page<T> {
    /// Takes up to `PAGE_SIZE + 1` items; the extra one only shows that there are more.
    fn new(mut items: Vec<T>, which: &Which) -> Self {
        let more = items.len() > PAGE;
        items.truncate(PAGE);
        if which.reverse {
            items.reverse();
        }
        Self { items, more }
    }
}

/// Returns the number of items before the page.
fn skipped(which: &Which) -> usize {
    usize::try_from(which.page - 1).unwrap_or(usize::MAX).saturating_mul(PAGE)
}

/// Returns the label of an entry that is read from the history. Text of the model has the label of
/// everything that it had read, because it may repeat any of it; text of the user and of tools has
/// its own.
fn history_label(entry: &Entry) -> Label {
    match entry.said {
        Said::Human(_) | Said::Tools(_) => entry.own,
        Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_) => entry.label,
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failed {
    Failed::NotDone(error.to_string())
}
