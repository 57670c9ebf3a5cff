//! Formats the history as text, JSON and markdown.

use domain::conversation::{Block, Entry, EntryContent, Text};
use domain::pending_update::PendingUpdate;
use domain::tool::{Outcome, ToolResult};
use engine::ports::SearchHit;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::db::{ConversationSummary, Prompt};
use serde_json::{Value, json};
use surfaces::web::search::{HitDto, author};

/// The length in characters to which text is shortened.
const SHORT_LENGTH: usize = 160;

/// The amount of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Short,
    /// The full text, with tool calls and results.
    Full,
}

impl Detail {
    /// Converts the number of `-v` flags.
    pub fn from_verbosity(verbose: u8) -> Self {
        if verbose == 0 { Self::Short } else { Self::Full }
    }
}

/// Formats history items.
pub struct Formatter<'a> {
    pub zone: &'a TimeZone,
    pub detail: Detail,
}

impl Formatter<'_> {
    pub fn conversation_line(&self, talk: &ConversationSummary) -> String {
        let session = talk.session.as_ref().map_or("-", |session| session.short());
        let times = if talk.prompts == 1 { "message " } else { "messages" };
        let from = self.time(talk.first.at);
        let to = self.time(talk.last);
        format!(
            "  {session:<8}  {:<16}  {from} to {to}  {:>4} {times}  {}",
            talk.branch.to_string(),
            talk.prompts,
            self.shorten(&talk.first.text)
        )
    }

    pub fn conversation_json(&self, talk: &ConversationSummary) -> Value {
        json!({
            "session": talk.session.as_ref().map(|session| session.as_str()),
            "branch": talk.branch.to_string(),
            "from": self.iso(talk.first.at),
            "to": self.iso(talk.last),
            "prompts": talk.prompts,
            "first": talk.first.text,
        })
    }

    pub fn prompt_line(&self, prompted: &Prompt) -> String {
        let at = self.time(prompted.at);
        let spoken = &prompted.spoken;
        let place = format!("{} on {}", spoken.surface.as_str(), spoken.branch);
        format!("  {:>6}  {at}  {place}  {}", spoken.turn.0, self.shorten(&prompted.text))
    }

    pub fn prompt_json(&self, prompted: &Prompt) -> Value {
        json!({
            "turn": prompted.spoken.turn.0,
            "at": self.iso(prompted.at),
            "surface": prompted.spoken.surface.as_str(),
            "branch": prompted.spoken.branch.to_string(),
            "text": prompted.text,
        })
    }

    /// Formats an entry with its time and speaker. Returns `None` if it has no text.
    pub fn entry_line(&self, entry: &Entry) -> Option<String> {
        let words = self.entry_text(entry)?;
        Some(format!("[{} {}] {}", self.time(entry.at), author(&entry.content), self.shorten(&words)))
    }

    pub fn entry_json(&self, entry: &Entry) -> Value {
        json!({ "id": entry.id.0, "at": self.iso(entry.at), "by": author(&entry.content), "text": self.entry_text(entry) })
    }

    /// Returns the text of an entry. Tool results and calls are included only in full detail.
    pub fn entry_text(&self, entry: &Entry) -> Option<String> {
        let words = match (&entry.content, self.detail) {
            (EntryContent::Tools(_), Detail::Short) => String::new(),
            (EntryContent::Assistant(blocks, _), Detail::Full) => {
                blocks.iter().filter_map(block_text).collect::<Vec<_>>().join("\n")
            }
            (said, _) => said.text(),
        };
        (!words.trim().is_empty()).then_some(words)
    }

    /// Formats a search hit.
    pub fn hit_text(&self, found: &SearchHit, hit: &HitDto) -> String {
        let place = found.origin.as_ref().map_or("somewhere".to_owned(), |spoken| {
            format!("{} on {}, number {}", spoken.surface.as_str(), spoken.branch, spoken.turn.0)
        });
        let words = match self.detail {
            Detail::Short => hit.text.clone(),
            Detail::Full => self.entry_text(&found.entry).unwrap_or_default(),
        };
        format!("[{} {}] {words}\n    {place}", self.time(found.entry.at), hit.by)
    }

    /// Formats a matching update that background runs or forks left for main.
    pub fn update_text(&self, report: &PendingUpdate) -> String {
        format!("[{} update] {}\n    {}", self.time(report.at), self.shorten(&report.text), report.source)
    }

    pub fn update_json(&self, report: &PendingUpdate) -> Value {
        json!({ "id": report.id.0, "at": self.iso(report.at), "from": report.source, "text": report.text })
    }

    fn time(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    fn iso(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    fn shorten(&self, text: &str) -> String {
        if self.detail == Detail::Full {
            return text.to_owned();
        }
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHORT_LENGTH) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

fn block_text(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.clone()),
        Block::Call(call) => Some(format!("(calls {}: {})", call.name, call.input.0)),
        Block::Opaque(_) => None,
    }
}

/// Formats a conversation as markdown, oldest first.
pub fn markdown(name: &str, said: &[Entry], zone: &TimeZone) -> String {
    let teller = Formatter { zone, detail: Detail::Full };
    let mut page = format!("# {name}\n");
    for entry in said {
        let who = match &entry.content {
            EntryContent::User(_) => "you",
            EntryContent::Assistant(..) => "ollim",
            EntryContent::Tools(_) => "tools",
            EntryContent::Summary(_) | EntryContent::SummaryRecalled(_) => "summary of what came before",
        };
        let body = match &entry.content {
            EntryContent::Tools(results) => {
                results.iter().map(fenced_result).collect::<Vec<_>>().join("\n\n")
            }
            EntryContent::User(heard) if !heard.images.is_empty() => {
                format!("{}\n\n*(with {} pictures)*", heard.text, heard.images.len())
            }
            EntryContent::User(_)
            | EntryContent::Assistant(..)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => teller.entry_text(entry).unwrap_or_default(),
        };
        if !body.trim().is_empty() {
            page += &format!("\n## {who}, {}\n\n{}\n", teller.time(entry.at), body.trim());
        }
    }
    page
}

/// Formats a tool result in a code fence that is longer than any backtick run in it.
fn fenced_result(result: &ToolResult) -> String {
    let longest = result.text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let failed = match result.outcome {
        Outcome::Failed | Outcome::Denied => "failed:\n\n",
        Outcome::Done | Outcome::Shown(_) => "",
    };
    format!("{failed}{fence}\n{}\n{fence}", result.text.trim_end())
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Completeness, EntryId, Json, UserInput};
    use domain::label::Label;
    use domain::tool::ToolCall;
    use expect_test::expect;

    use super::*;

    fn entries() -> Vec<Entry> {
        let call =
            ToolCall { id: "1".to_owned(), name: "inbox_list".to_owned(), input: Json("{}".to_owned()) };
        let ran = ToolResult {
            call: "1".to_owned(),
            text: "1 milk ``` 2".to_owned(),
            outcome: Outcome::Done,
            label: Label::PLAIN,
        };
        let human =
            UserInput { preface: "[now]".to_owned(), text: "what is\nin it?".to_owned(), images: Vec::new() };
        let all = [
            EntryContent::User(human),
            EntryContent::Assistant(
                vec![Block::Text("i look.".to_owned()), Block::Call(call)],
                Completeness::Complete,
            ),
            EntryContent::Tools(vec![ran]),
            EntryContent::Assistant(vec![Block::Text("milk.".to_owned())], Completeness::Complete),
        ];
        let at = Timestamp::constant(1_794_700_000, 0);
        all.into_iter()
            .zip(1..)
            .map(|(said, id)| Entry {
                id: EntryId(id),
                parent: None,
                at,
                content: said,
                own_label: Label::PLAIN,
                label: Label::PLAIN,
            })
            .collect()
    }

    #[test]
    fn conversation_is_formatted_as_markdown() {
        expect![[r#"
            # main

            ## you, 2026-11-14 23:46

            what is
            in it?

            ## ollim, 2026-11-14 23:46

            i look.
            (calls inbox_list: {})

            ## tools, 2026-11-14 23:46

            ````
            1 milk ``` 2
            ````

            ## ollim, 2026-11-14 23:46

            milk.
        "#]]
        .assert_eq(&markdown("main", &entries(), &TimeZone::UTC));
    }

    #[test]
    fn short_detail_omits_tool_results() {
        let teller = Formatter { zone: &TimeZone::UTC, detail: Detail::Short };
        let told: Vec<String> = entries().iter().filter_map(|entry| teller.entry_line(entry)).collect();
        assert_eq!(
            told,
            [
                "[2026-11-14 23:46 human] what is in it?",
                "[2026-11-14 23:46 assistant] i look.",
                "[2026-11-14 23:46 assistant] milk."
            ]
        );
        assert_eq!(teller.shorten(&"ü".repeat(200)).chars().count(), SHORT_LENGTH + 1);
    }
}
