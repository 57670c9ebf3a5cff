//! Compaction: replaces the earlier conversation by a summary that was checked.
//!
//! Required facts are extracted without a model, listed in the request, and searched in the
//! summary. An incomplete summary is requested once more; then the compaction is refused and the
//! conversation stays unchanged.

mod context_window;
mod report;
mod required_fact;

use std::sync::Arc;

pub use context_window::ContextWindow;
pub use report::{CompactionReport, thousands};
pub use required_fact::{FactKind, RequiredFact, required_facts};

use crate::conversation::{Block, Completeness, EntryContent, UserInput};

/// The number of summaries that are requested before the compaction is refused.
const MAX_ATTEMPTS: u32 = 2;

/// The check of one compaction: the required facts, and the request messages for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryCheck {
    facts: Vec<RequiredFact>,
    /// The request, followed by each rejected summary and the reason.
    messages: Vec<Arc<EntryContent>>,
    turns: usize,
    attempts: u32,
}

/// The result of checking one summary.
#[derive(Clone, Debug, PartialEq)]
pub enum SummaryVerdict {
    /// The summary is complete.
    Passed(Summary),
    /// The model reads what is missing and writes another summary.
    Retry,
    /// The last attempt was incomplete too.
    Refused(IncompleteSummary),
}

/// An accepted summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    /// The number of user messages that it replaces.
    pub turns: usize,
}

impl SummaryCheck {
    /// Creates the check for a summary of `said` with the user's `instructions`.
    pub fn new(said: &[Arc<EntryContent>], instructions: &str) -> Self {
        let keepsakes = required_facts(said);
        let asked = vec![summary_request(&keepsakes, instructions)];
        let turns = said.iter().filter(|said| matches!(***said, EntryContent::User(_))).count();
        Self { facts: keepsakes, messages: asked, turns, attempts: 0 }
    }

    /// Returns the messages that the model reads after the conversation.
    pub fn messages(&self) -> &[Arc<EntryContent>] {
        &self.messages
    }

    /// Checks the summary `text`, and adds a complaint for the next attempt if it is incomplete.
    pub fn check(&mut self, text: String) -> SummaryVerdict {
        self.attempts += 1;
        match check_summary(&text, &self.facts) {
            Ok(()) => SummaryVerdict::Passed(Summary { text, turns: self.turns }),
            Err(lost) if self.attempts < MAX_ATTEMPTS => {
                // The vendor refuses an empty message.
                let text = if text.trim().is_empty() { "(nothing)".to_owned() } else { text };
                self.messages
                    .push(Arc::new(EntryContent::Assistant(vec![Block::Text(text)], Completeness::Complete)));
                self.messages.push(note(format!("[{lost}]")));
                SummaryVerdict::Retry
            }
            Err(lost) => SummaryVerdict::Refused(lost),
        }
    }
}

/// Builds the summary request with the required facts and the user's instructions.
fn summary_request(facts: &[RequiredFact], instructions: &str) -> Arc<EntryContent> {
    let lines: Vec<String> = facts.iter().map(|keepsake| format!("- {}", keepsake.text)).collect();
    let kept = if lines.is_empty() { "- (nothing in particular)".to_owned() } else { lines.join("\n") };
    let asked = match instructions.trim() {
        "" => String::new(),
        words => format!("\nThe human asked you to mind this in particular: {words}\n"),
    };
    note(REQUEST.replace("{keepsakes}", &kept).replace("{instructions}", &asked))
}

fn note(preface: String) -> Arc<EntryContent> {
    Arc::new(EntryContent::User(UserInput::note(preface)))
}

const REQUEST: &str = include_str!("../../../prompts/compact.md");

/// The fewest words of a summary.
const MIN_WORDS: usize = 5;

/// Checks that `summary` contains `facts`.
fn check_summary(summary: &str, facts: &[RequiredFact]) -> Result<(), IncompleteSummary> {
    if summary.split_whitespace().count() < MIN_WORDS {
        return Err(IncompleteSummary::TooShort);
    }
    let missing: Vec<String> = facts
        .iter()
        .filter(|keepsake| !keepsake.is_in(summary))
        .map(|keepsake| keepsake.text.clone())
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(IncompleteSummary::Missing(missing)) }
}

/// The error of an incomplete summary. The model reads it, so it contains an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteSummary {
    /// The summary is too short.
    #[error("that is not a summary. write one, in full sentences, with everything from the list in it.")]
    TooShort,
    /// These facts are missing.
    #[error("these are missing from your summary: {}. write the whole summary again, with them in it.", .0.join("; "))]
    Missing(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_message(text: &str) -> Arc<EntryContent> {
        Arc::new(EntryContent::User(UserInput {
            preface: String::new(),
            text: text.to_owned(),
            images: Vec::new(),
        }))
    }

    fn facts_in(texts: &[&str]) -> Vec<RequiredFact> {
        required_facts(&texts.iter().map(|text| user_message(text)).collect::<Vec<_>>())
    }

    #[test]
    fn complete_summary_passes() {
        let found =
            facts_in(&["remind me to call Dr. Weber on 2026-11-17 at 15:00", "the booking is LH4711"]);
        let good = "On 2026-11-17 at 15:00 the human wants to be reminded to call Dr. Weber. Booking LH4711.";
        assert_eq!(check_summary(good, &found), Ok(()));
    }

    #[test]
    fn incomplete_summary_names_missing_facts() {
        let found =
            facts_in(&["remind me to call Dr. Weber on 2026-11-17 at 15:00", "the booking is LH4711"]);
        let bad = "We talked about a phone call to a doctor and about a flight that is booked.";
        let Err(IncompleteSummary::Missing(missing)) = check_summary(bad, &found) else {
            panic!("it passed")
        };
        assert!(
            missing.contains(&"2026-11-17".to_owned()) && missing.contains(&"LH4711".to_owned()),
            "{missing:?}"
        );
    }

    #[test]
    fn very_short_summary_is_rejected() {
        assert_eq!(check_summary("ok.", &[]), Err(IncompleteSummary::TooShort));
        assert_eq!(check_summary("", &facts_in(&["call mum by friday"])), Err(IncompleteSummary::TooShort));
    }

    #[test]
    fn request_lists_facts_and_instructions() {
        let EntryContent::User(heard) =
            &*summary_request(&facts_in(&["the booking is LH4711"]), "keep the jokes")
        else {
            panic!("the human asks")
        };
        assert!(heard.preface.contains("- LH4711"), "{}", heard.preface);
        assert!(heard.preface.contains("keep the jokes"), "{}", heard.preface);
        assert!(!heard.preface.contains('{'), "{}", heard.preface);
    }

    #[test]
    fn bad_summary_is_retried_once_then_refused() {
        let mut gate = SummaryCheck::new(&[user_message("the booking is LH4711")], "");
        let bad = || "We talked about a flight that is booked.".to_owned();
        assert_eq!(gate.check(bad()), SummaryVerdict::Retry);
        let EntryContent::User(complaint) = &**gate.messages().last().expect("a complaint") else {
            panic!("a note")
        };
        assert!(complaint.preface.contains("LH4711"), "{}", complaint.preface);
        assert_eq!(gate.messages().len(), 3, "the request, the summary and the complaint");
        assert_eq!(
            gate.check(bad()),
            SummaryVerdict::Refused(IncompleteSummary::Missing(vec!["LH4711".to_owned()]))
        );
    }

    #[test]
    fn improved_summary_passes() {
        let mut gate = SummaryCheck::new(&[user_message("the booking is LH4711"), user_message("good")], "");
        assert_eq!(gate.check(String::new()), SummaryVerdict::Retry);
        let text = "The human has booked a flight, LH4711.".to_owned();
        assert_eq!(gate.check(text.clone()), SummaryVerdict::Passed(Summary { text, turns: 2 }));
    }
}
