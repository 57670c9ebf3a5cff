//! Output for events other than text: forks, compactions, tools, approvals, reminders.

use domain::compaction::thousands;
use serde_json::Value;

use super::{AnswerOutcome, DisplayMode, MAIN, Scope, Transcript, Unprompted, branch, sent_text};
use crate::terminal::approval;

impl Transcript {
    /// Handles a blocked turn: the model refuses the key.
    pub(super) fn on_blocked(&mut self, data: &Value) -> String {
        let why = data["why"].as_str().unwrap_or_default().to_owned();
        let (ours, words) = match (&self.scope, data["first"].as_bool()) {
            (Scope::Message(message), _) => (data["newest"].as_u64() >= Some(*message), String::new()),
            (Scope::All(_), Some(true)) => (true, format!("({why})\n")),
            (Scope::All(_), _) => (true, "(kept. it is answered once the model answers again.)\n".to_owned()),
        };
        if !ours {
            return String::new();
        }
        self.turn = None;
        let open_line = if self.streamed.is_empty() { "" } else { "\n" };
        self.streamed.clear();
        self.outcome = Some(AnswerOutcome::Failed(why));
        format!("{open_line}{words}")
    }

    /// Handles a reminder card. Buffered text is dropped if it only repeats the card.
    pub(super) fn on_card(&mut self, data: &Value) -> String {
        let said = data["said"].as_str().unwrap_or_default();
        let again = said.trim_start_matches('⏰').trim() == data["words"].as_str().unwrap_or_default().trim();
        match std::mem::replace(&mut self.unprompted, Unprompted::No) {
            Unprompted::Buffered(held) if !again => held,
            Unprompted::Buffered(_) | Unprompted::Next | Unprompted::No => String::new(),
        }
    }

    pub(super) fn is_reminder_notice(&self, data: &Value) -> bool {
        let text = data["text"].as_str().unwrap_or_default();
        matches!(self.scope, Scope::All(_)) && text.starts_with('⏰')
    }

    pub(super) fn on_retry(&self, data: &Value) -> String {
        match self.scope {
            Scope::Message(_) => String::new(),
            Scope::All(_) => format!("(the model is not there; trying again in {} s)\n", data["seconds"]),
        }
    }

    pub(super) fn on_fork_started(&mut self, data: &Value) -> String {
        self.current_branch = branch(data).to_owned();
        let topic = data["topic"].as_str().map(|topic| format!(" about {topic}")).unwrap_or_default();
        self.parenthesized(Some(format!("side conversation{topic}. leave it with /save, /report or /exit")))
    }

    pub(super) fn on_fork_ended(&mut self, data: &Value) -> String {
        self.current_branch = MAIN.to_owned();
        self.parenthesized(data["text"].as_str().map(|text| format!("side conversation {text}")))
    }

    /// Returns the output of a background run, with the number for replies.
    pub(super) fn on_sent(&self, entry: &Value) -> String {
        let from = entry["from"].as_str().unwrap_or_default();
        match self.scope {
            Scope::Message(_) => String::new(),
            Scope::All(_) => {
                format!("({from}; to answer: /reply {} ...)\n{}", entry["id"], sent_text(entry))
            }
        }
    }

    pub(super) fn parenthesized(&self, words: Option<String>) -> String {
        match self.scope {
            Scope::Message(_) => String::new(),
            Scope::All(_) => format!("({})\n", words.unwrap_or_default()),
        }
    }

    pub(super) fn on_compaction_started(&self, data: &Value) -> String {
        let size = data["tokens"].as_u64().map(|tokens| format!(", {} tokens", thousands(tokens)));
        match (&self.scope, self.mode) {
            (Scope::Message(_), _) | (_, DisplayMode::Interactive | DisplayMode::Confirming) => String::new(),
            (Scope::All(_), DisplayMode::Lines) => {
                format!("(compacting our conversation{}...)\n", size.unwrap_or_default())
            }
        }
    }

    pub(super) fn on_compaction_ended(&mut self, data: &Value) -> String {
        let text = data["text"].as_str().unwrap_or_default();
        let line = if data["done"] == true { format!("compacted: {text}") } else { text.to_owned() };
        if self.requested_work.is_some() && data["turn"].as_u64() == self.requested_work {
            self.requested_work = None;
            let ended = if data["done"] == true {
                AnswerOutcome::Answered
            } else {
                AnswerOutcome::Failed(line.clone())
            };
            self.outcome = Some(ended);
        }
        match self.scope {
            Scope::Message(_) => String::new(),
            Scope::All(_) => format!("({line})\n"),
        }
    }

    pub(super) fn on_tool(&self, data: &Value) -> String {
        match (&self.scope, self.mode) {
            (Scope::Message(_), _) => String::new(),
            (Scope::All(_), DisplayMode::Interactive | DisplayMode::Confirming)
                if data["doing"] == "runs" =>
            {
                String::new()
            }
            (Scope::All(_), _) => approval::render_tool(data),
        }
    }

    /// Returns an approval. A program sees only those of its own answer.
    pub(super) fn on_approval(&self, name: &str, data: &Value) -> String {
        match (&self.scope, name) {
            (Scope::Message(_), "asked") if self.is_followed(data) && data["waits"] == true => {
                approval::render_open(data)
            }
            (Scope::Message(_), _) => String::new(),
            (Scope::All(_), "asked") => approval::render_open(data),
            (Scope::All(_), _) => approval::render_closed(data),
        }
    }
}
