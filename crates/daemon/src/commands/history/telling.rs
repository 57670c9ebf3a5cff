//! Formats the history as text, JSON and markdown.

use domain::conversation::{Block, Entry, Said, Text};
use domain::report::Report;
use domain::tool::{Outcome, ToolResult};
use engine::ports::Found;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::db::{Prompted, Talk};
use serde_json::{Value, json};
use surfaces::web::search::{HitWire, by};

/// The length in characters to which text is shortened.
const SHORT: usize = 160;

/// The amount of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Short,
    /// The full text, with tool calls and results.
    Whole,
}

impl Depth {
    /// Converts the number of `-v` flags.
    pub fn of(verbose: u8) -> Self {
        if verbose == 0 { Self::Short } else { Self::Whole }
    }
}

/// Formats history items.
pub struct Teller<'a> {
    pub zone: &'a TimeZone,
    pub depth: Depth,
}

impl Teller<'_> {
    pub fn talk(&self, talk: &Talk) -> String {
        let session = talk.session.as_ref().map_or("-", |session| session.short());
        let times = if talk.prompts == 1 { "message " } else { "messages" };
        let from = self.time(talk.first.at);
        let to = self.time(talk.last);
        format!(
            "  {session:<8}  {:<16}  {from} to {to}  {:>4} {times}  {}",
            talk.branch.to_string(),
            talk.prompts,
            self.cut(&talk.first.text)
        )
    }

    pub fn talk_json(&self, talk: &Talk) -> Value {
        json!({
            "session": talk.session.as_ref().map(|session| session.as_str()),
            "branch": talk.branch.to_string(),
            "from": self.iso(talk.first.at),
            "to": self.iso(talk.last),
            "prompts": talk.prompts,
            "first": talk.first.text,
        })
    }

    pub fn prompt(&self, prompted: &Prompted) -> String {
        let at = self.time(prompted.at);
        let spoken = &prompted.spoken;
        let place = format!("{} on {}", spoken.surface.as_str(), spoken.branch);
        format!("  {:>6}  {at}  {place}  {}", spoken.turn.0, self.cut(&prompted.text))
    }

    pub fn prompt_json(&self, prompted: &Prompted) -> Value {
        json!({
            "turn": prompted.spoken.turn.0,
            "at": self.iso(prompted.at),
            "surface": prompted.spoken.surface.as_str(),
            "branch": prompted.spoken.branch.to_string(),
            "text": prompted.text,
        })
    }

    /// Formats an entry with its time and speaker. Returns `None` if it has no text.
    pub fn entry(&self, entry: &Entry) -> Option<String> {
        let words = self.words(entry)?;
        Some(format!("[{} {}] {}", self.time(entry.at), by(&entry.said), self.cut(&words)))
    }

    pub fn entry_json(&self, entry: &Entry) -> Value {
        json!({ "id": entry.id.0, "at": self.iso(entry.at), "by": by(&entry.said), "text": self.words(entry) })
    }

    /// Returns the text of an entry. Tool results and calls are included only in full detail.
    pub fn words(&self, entry: &Entry) -> Option<String> {
        let words = match (&entry.said, self.depth) {
            (Said::Tools(_), Depth::Short) => String::new(),
            (Said::Assistant(blocks, _), Depth::Whole) => {
                blocks.iter().filter_map(block).collect::<Vec<_>>().join("\n")
            }
            (said, _) => said.text(),
        };
        (!words.trim().is_empty()).then_some(words)
    }

    /// Formats a search hit.
    pub fn hit(&self, found: &Found, hit: &HitWire) -> String {
        let place = found.spoken.as_ref().map_or("somewhere".to_owned(), |spoken| {
            format!("{} on {}, number {}", spoken.surface.as_str(), spoken.branch, spoken.turn.0)
        });
        let words = match self.depth {
            Depth::Short => hit.text.clone(),
            Depth::Whole => self.words(&found.entry).unwrap_or_default(),
        };
        format!("[{} {}] {words}\n    {place}", self.time(found.entry.at), hit.by)
    }

    /// Formats a matching update that background runs or forks left for main.
    pub fn update(&self, report: &Report) -> String {
        format!("[{} update] {}\n    {}", self.time(report.at), self.cut(&report.text), report.from)
    }

    pub fn update_json(&self, report: &Report) -> Value {
        json!({ "id": report.id.0, "at": self.iso(report.at), "from": report.from, "text": report.text })
    }

    fn time(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    fn iso(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    fn cut(&self, text: &str) -> String {
        if self.depth == Depth::Whole {
            return text.to_owned();
        }
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHORT) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

fn block(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.clone()),
        Block::Call(call) => Some(format!("(calls {}: {})", call.name, call.input.0)),
        Block::Opaque(_) => None,
    }
}

/// Formats a conversation as markdown, oldest first.
pub fn markdown(name: &str, said: &[Entry], zone: &TimeZone) -> String {
    let teller = Teller { zone, depth: Depth::Whole };
    let mut page = format!("# {name}\n");
    for entry in said {
        let who = match &entry.said {
            Said::Human(_) => "you",
            Said::Assistant(..) => "ollim",
            Said::Tools(_) => "tools",
            Said::Summary(_) | Said::Recalled(_) => "summary of what came before",
        };
        let body = match &entry.said {
            Said::Tools(results) => results.iter().map(result).collect::<Vec<_>>().join("\n\n"),
            Said::Human(heard) if !heard.images.is_empty() => {
                format!("{}\n\n*(with {} pictures)*", heard.text, heard.images.len())
            }
            Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_) => {
                teller.words(entry).unwrap_or_default()
            }
        };
        if !body.trim().is_empty() {
            page += &format!("\n## {who}, {}\n\n{}\n", teller.time(entry.at), body.trim());
        }
    }
    page
}

/// Formats a tool result in a code fence that is longer than any backtick run in it.
fn result(result: &ToolResult) -> String {
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
    use domain::conversation::{EntryId, Heard, Json, Reach};
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
            Heard { preface: "[now]".to_owned(), text: "what is\nin it?".to_owned(), images: Vec::new() };
        let all = [
            Said::Human(human),
            Said::Assistant(vec![Block::Text("i look.".to_owned()), Block::Call(call)], Reach::Whole),
            Said::Tools(vec![ran]),
            Said::Assistant(vec![Block::Text("milk.".to_owned())], Reach::Whole),
        ];
        let at = Timestamp::constant(1_794_700_000, 0);
        all.into_iter()
            .zip(1..)
            .map(|(said, id)| Entry {
                id: EntryId(id),
                parent: None,
                at,
                said,
                own: Label::PLAIN,
                label: Label::PLAIN,
            })
            .collect()
    }

    #[test]
    fn a_conversation_reads_as_a_page() {
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
    fn a_line_is_short_and_without_what_tools_did() {
        let teller = Teller { zone: &TimeZone::UTC, depth: Depth::Short };
        let told: Vec<String> = entries().iter().filter_map(|entry| teller.entry(entry)).collect();
        assert_eq!(
            told,
            [
                "[2026-11-14 23:46 human] what is in it?",
                "[2026-11-14 23:46 assistant] i look.",
                "[2026-11-14 23:46 assistant] milk."
            ]
        );
        assert_eq!(teller.cut(&"ü".repeat(200)).chars().count(), SHORT + 1);
    }
}
