//! Output for events other than text: forks, compactions, tools, approvals, reminders.

use domain::compaction::thousands;
use serde_json::Value;

use super::{Ended, MAIN, Manner, Telling, Unasked, Whose, branch, sent_words};
use crate::terminal::approval;

impl Telling {
    /// Handles a blocked turn: the model refuses the key.
    pub(super) fn held(&mut self, data: &Value) -> String {
        let why = data["why"].as_str().unwrap_or_default().to_owned();
        let (ours, words) = match (&self.whose, data["first"].as_bool()) {
            (Whose::One(message), _) => (data["newest"].as_u64() >= Some(*message), String::new()),
            (Whose::All(_), Some(true)) => (true, format!("({why})\n")),
            (Whose::All(_), _) => (true, "(kept. it is answered once the model answers again.)\n".to_owned()),
        };
        if !ours {
            return String::new();
        }
        self.turn = None;
        let open_line = if self.written.is_empty() { "" } else { "\n" };
        self.written.clear();
        self.ended = Some(Ended::Not(why));
        format!("{open_line}{words}")
    }

    /// Handles a reminder card. Buffered text is dropped if it only repeats the card.
    pub(super) fn rang(&mut self, data: &Value) -> String {
        let said = data["said"].as_str().unwrap_or_default();
        let again = said.trim_start_matches('⏰').trim() == data["words"].as_str().unwrap_or_default().trim();
        match std::mem::replace(&mut self.unasked, Unasked::No) {
            Unasked::Held(held) if !again => held,
            Unasked::Held(_) | Unasked::Next | Unasked::No => String::new(),
        }
    }

    pub(super) fn is_rung(&self, data: &Value) -> bool {
        let text = data["text"].as_str().unwrap_or_default();
        matches!(self.whose, Whose::All(_)) && text.starts_with('⏰')
    }

    pub(super) fn wait(&self, data: &Value) -> String {
        match self.whose {
            Whose::One(_) => String::new(),
            Whose::All(_) => format!("(the model is not there; trying again in {} s)\n", data["seconds"]),
        }
    }

    pub(super) fn forked(&mut self, data: &Value) -> String {
        self.here = branch(data).to_owned();
        let topic = data["topic"].as_str().map(|topic| format!(" about {topic}")).unwrap_or_default();
        self.aside(Some(format!("side conversation{topic}. leave it with /save, /report or /exit")))
    }

    pub(super) fn unforked(&mut self, data: &Value) -> String {
        self.here = MAIN.to_owned();
        self.aside(data["text"].as_str().map(|text| format!("side conversation {text}")))
    }

    /// Returns the output of a background run, with the number for replies.
    pub(super) fn sent(&self, entry: &Value) -> String {
        let from = entry["from"].as_str().unwrap_or_default();
        match self.whose {
            Whose::One(_) => String::new(),
            Whose::All(_) => {
                format!("({from}; to answer: /reply {} ...)\n{}", entry["id"], sent_words(entry))
            }
        }
    }

    pub(super) fn aside(&self, words: Option<String>) -> String {
        match self.whose {
            Whose::One(_) => String::new(),
            Whose::All(_) => format!("({})\n", words.unwrap_or_default()),
        }
    }

    pub(super) fn compacting(&self, data: &Value) -> String {
        let size = data["tokens"].as_u64().map(|tokens| format!(", {} tokens", thousands(tokens)));
        match (&self.whose, self.manner) {
            (Whose::One(_), _) | (_, Manner::Keys | Manner::Confirming) => String::new(),
            (Whose::All(_), Manner::Lines) => {
                format!("(compacting our conversation{}...)\n", size.unwrap_or_default())
            }
        }
    }

    pub(super) fn compacted(&mut self, data: &Value) -> String {
        let text = data["text"].as_str().unwrap_or_default();
        let line = if data["done"] == true { format!("compacted: {text}") } else { text.to_owned() };
        if self.work.is_some() && data["turn"].as_u64() == self.work {
            self.work = None;
            let ended = if data["done"] == true { Ended::Answered } else { Ended::Not(line.clone()) };
            self.ended = Some(ended);
        }
        match self.whose {
            Whose::One(_) => String::new(),
            Whose::All(_) => format!("({line})\n"),
        }
    }

    pub(super) fn work(&self, data: &Value) -> String {
        match (&self.whose, self.manner) {
            (Whose::One(_), _) => String::new(),
            (Whose::All(_), Manner::Keys | Manner::Confirming) if data["doing"] == "runs" => String::new(),
            (Whose::All(_), _) => approval::work(data),
        }
    }

    /// Returns an approval. A program sees only those of its own answer.
    pub(super) fn approval(&self, name: &str, data: &Value) -> String {
        match (&self.whose, name) {
            (Whose::One(_), "asked") if self.is_ours(data) && data["waits"] == true => approval::asked(data),
            (Whose::One(_), _) => String::new(),
            (Whose::All(_), "asked") => approval::asked(data),
            (Whose::All(_), _) => approval::answered(data),
        }
    }
}
