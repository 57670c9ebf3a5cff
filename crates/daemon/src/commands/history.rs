//! `ollim-bot history`: lists and searches past conversations. Reads from the disk, so the daemon
//! need not run.

mod formatter;
mod since;

use std::process::ExitCode;

use domain::conversation::{Entry, EntryContent};
use domain::label::Label;
use domain::turn::TurnId;
use engine::ports::{Clock, SearchFilter, SearchHit, SearchOrder, SearchQuery};
use jiff::Zoned;
use journal::db::{ConversationSummary, Database};
use serde_json::{Value, json};
use surfaces::web::search::HitDto;

use super::print_result;
use crate::cli::{HistoryAction, HistoryFilter, Output};
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;
use formatter::{Detail, Formatter};

const PAGE_SIZE: usize = 30;

pub fn show(settings: &Settings, action: &HistoryAction, output: &Output) -> Result<ExitCode, CommandError> {
    let zone = settings.zone.value.clone();
    let now = SystemClock::new(zone.clone()).now();
    let Some(database) =
        journal::open_read_only(&settings.paths).map_err(|error| to_command_error(&error))?
    else {
        print_result(output, &json!({ "hits": [] }), EMPTY_TEXT);
        return Ok(ExitCode::SUCCESS);
    };
    let reader = HistoryReader { database, now, output };
    match action {
        HistoryAction::Sessions(which) => reader.sessions(which),
        HistoryAction::Prompts(which) => reader.prompts(which),
        HistoryAction::Response { number, verbose } => {
            reader.response(*number, Detail::from_verbosity(*verbose))
        }
        HistoryAction::Transcript { name, which } => reader.transcript(name, which),
        HistoryAction::Search { words, which } => reader.search(&words.join(" "), which),
        HistoryAction::Export { name } => reader.export(name),
    }
}

/// The most updates that a search returns.
const MAX_UPDATES: usize = 10;

const EMPTY_TEXT: &str = "nothing was said yet.";

/// Reads the history and prints results.
struct HistoryReader<'a> {
    database: Database,
    now: Zoned,
    output: &'a Output,
}

impl HistoryReader<'_> {
    fn sessions(&self, which: &HistoryFilter) -> Result<ExitCode, CommandError> {
        let talks =
            self.database.conversations(&self.filter(which)?).map_err(|error| to_command_error(&error))?;
        let talks = talks.into_iter().skip(page_offset(which)).take(PAGE_SIZE + 1).collect();
        let page = Page::new(talks, which);
        let teller = self.formatter(which);
        self.record_labels(page.items.iter().map(|talk: &ConversationSummary| talk.first.label));
        self.print_page(
            "sessions",
            &page,
            |talk| teller.conversation_json(talk),
            |talk| Some(teller.conversation_line(talk)),
        )
    }

    fn prompts(&self, which: &HistoryFilter) -> Result<ExitCode, CommandError> {
        let found = self.database.prompts(&self.filter(which)?, page_offset(which), PAGE_SIZE + 1);
        let page = Page::new(found.map_err(|error| to_command_error(&error))?, which);
        let teller = self.formatter(which);
        self.record_labels(page.items.iter().map(|prompted| prompted.label));
        self.print_page("prompts", &page, |one| teller.prompt_json(one), |one| Some(teller.prompt_line(one)))
    }

    fn response(&self, number: u64, depth: Detail) -> Result<ExitCode, CommandError> {
        let found =
            self.database.prompt_and_answer(TurnId(number)).map_err(|error| to_command_error(&error))?;
        let (prompted, said) = found.ok_or_else(|| {
            let listed = "`ollim-bot history prompts` lists the numbers.";
            CommandError::Failed(format!("nothing was said under the number {number}. {listed}"))
        })?;
        let teller = Formatter { zone: self.now.time_zone(), detail: depth };
        let mut value = teller.prompt_json(&prompted);
        value["said"] = said.iter().map(|entry| teller.entry_json(entry)).collect();
        let told: Vec<String> = said.iter().filter_map(|entry| teller.entry_text(entry)).collect();
        self.record_labels(said.iter().map(history_label));
        let told = if told.is_empty() { "it did not answer that.".to_owned() } else { told.join("\n\n") };
        print_result(self.output, &value, &told);
        Ok(ExitCode::SUCCESS)
    }

    fn transcript(&self, name: &str, which: &HistoryFilter) -> Result<ExitCode, CommandError> {
        let within = self.filter(which)?;
        let skipped = page_offset(which);
        let mut seen = 0;
        let mut said = Vec::new();
        self.for_each_entry(name, |entry| {
            if within.since.is_some_and(|since| entry.at < since) {
                return false;
            }
            if within.contains_time(entry.at) {
                seen += 1;
                if seen > skipped {
                    said.push(entry);
                }
            }
            said.len() <= PAGE_SIZE
        })?;
        let mut page = Page::new(said, which);
        // A conversation is shown oldest first, whichever part of it.
        page.items.reverse();
        let teller = self.formatter(which);
        self.record_labels(page.items.iter().map(history_label));
        self.print_page("entries", &page, |entry| teller.entry_json(entry), |entry| teller.entry_line(entry))
    }

    fn search(&self, words: &str, which: &HistoryFilter) -> Result<ExitCode, CommandError> {
        let order = if which.reverse { SearchOrder::Newest } else { SearchOrder::Relevance };
        let limit = u32::try_from(page_offset(which) + PAGE_SIZE + 1).unwrap_or(u32::MAX);
        let looked_for =
            SearchQuery { words: words.to_owned(), before: None, filter: self.filter(which)?, order, limit };
        let found = self.database.search(&looked_for).map_err(|error| to_command_error(&error))?;
        let page = Page::new(found.into_iter().skip(page_offset(which)).collect(), which);
        let teller = self.formatter(which);
        let zone = self.now.time_zone();
        let hit = |found: &SearchHit| HitDto::new(found, words, zone);
        let updates =
            self.database.search_updates(words, MAX_UPDATES).map_err(|error| to_command_error(&error))?;
        let labels = page.items.iter().map(|found| history_label(&found.entry));
        self.record_labels(labels.chain(updates.iter().map(|update| update.label)));
        let mut lines: Vec<String> =
            page.items.iter().map(|found| teller.hit_text(found, &hit(found))).collect();
        lines.extend(updates.iter().map(|update| teller.update_text(update)));
        let hits: Vec<Value> = page.items.iter().map(|found| json!(hit(found))).collect();
        let told: Vec<Value> = updates.iter().map(|update| teller.update_json(update)).collect();
        let value = json!({ "hits": hits, "updates": told, "more": page.more });
        self.print_lines(&value, lines, page.more)
    }

    /// Records in the printer the labels of all entries that are shown.
    fn record_labels(&self, labels: impl Iterator<Item = Label>) {
        self.output.voice.record_label(labels.fold(Label::PLAIN, Label::join));
    }

    fn export(&self, name: &str) -> Result<ExitCode, CommandError> {
        let mut said: Vec<Entry> = Vec::new();
        self.for_each_entry(name, |entry| {
            said.push(entry);
            true
        })?;
        said.reverse();
        let text = formatter::markdown(name, &said, self.now.time_zone());
        print_result(self.output, &json!({ "name": name, "markdown": text }), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn for_each_entry(&self, name: &str, each: impl FnMut(Entry) -> bool) -> Result<(), CommandError> {
        if self.database.for_each_entry(name, each).map_err(|error| to_command_error(&error))? {
            Ok(())
        } else {
            Err(CommandError::Failed(format!(
                "there is no conversation called `{name}`. `ollim-bot history sessions` lists them."
            )))
        }
    }

    fn filter(&self, which: &HistoryFilter) -> Result<SearchFilter, CommandError> {
        let read = |words: &Option<String>| {
            words.as_deref().map(|words| since::parse_time(words, &self.now)).transpose()
        };
        Ok(SearchFilter {
            since: read(&which.since)?,
            until: read(&which.until)?,
            places: which.tags.clone(),
        })
    }

    fn formatter(&self, which: &HistoryFilter) -> Formatter<'_> {
        Formatter { zone: self.now.time_zone(), detail: Detail::from_verbosity(which.verbose) }
    }

    /// Prints a page under the JSON key `name`, with each item as JSON or as text.
    fn print_page<T>(
        &self,
        name: &str,
        page: &Page<T>,
        value: impl Fn(&T) -> Value,
        line: impl Fn(&T) -> Option<String>,
    ) -> Result<ExitCode, CommandError> {
        let values: Vec<Value> = page.items.iter().map(value).collect();
        let lines: Vec<String> = page.items.iter().filter_map(line).collect();
        self.print_lines(&json!({ name: values, "more": page.more }), lines, page.more)
    }

    fn print_lines(
        &self,
        value: &Value,
        mut lines: Vec<String>,
        more: bool,
    ) -> Result<ExitCode, CommandError> {
        if lines.is_empty() {
            lines.push("nothing like that was said.".to_owned());
        }
        if more {
            lines.push("(there is more: `--page N`)".to_owned());
        }
        print_result(self.output, value, &lines.join("\n"));
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
    fn new(mut items: Vec<T>, which: &HistoryFilter) -> Self {
        let more = items.len() > PAGE_SIZE;
        items.truncate(PAGE_SIZE);
        if which.reverse {
            items.reverse();
        }
        Self { items, more }
    }
}

/// Returns the number of items before the page.
fn page_offset(which: &HistoryFilter) -> usize {
    usize::try_from(which.page - 1).unwrap_or(usize::MAX).saturating_mul(PAGE_SIZE)
}

/// Returns the label of an entry that is read from the history. Text of the model has the label of
/// everything that it had read, because it may repeat any of it; text of the user and of tools has
/// its own.
fn history_label(entry: &Entry) -> Label {
    match entry.content {
        EntryContent::User(_) | EntryContent::Tools(_) => entry.own_label,
        EntryContent::Assistant(..) | EntryContent::Summary(_) | EntryContent::SummaryRecalled(_) => {
            entry.label
        }
    }
}

fn to_command_error(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}
