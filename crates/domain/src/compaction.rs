//! Compaction: replaces the earlier conversation by a summary that was checked.
//!
//! Required facts are extracted without a model, listed in the request, and searched in the
//! summary. An incomplete summary is requested once more; then the compaction is refused and the
//! conversation stays unchanged.

mod keepsake;
mod report;
mod room;

use std::sync::Arc;

pub use keepsake::{Keepsake, Kind, keepsakes};
pub use report::{Report, thousands};
pub use room::Room;

use crate::conversation::{Block, Heard, Reach, Said};

/// The number of summaries that are requested before the compaction is refused.
const TRIES: u32 = 2;

/// The check of one compaction: the required facts, and the request messages for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    keepsakes: Vec<Keepsake>,
    /// The request, followed by each rejected summary and the reason.
    asked: Vec<Arc<Said>>,
    turns: usize,
    tries: u32,
}

/// The result of checking one summary.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The summary is complete.
    Passed(Summary),
    /// The model reads what is missing and writes another summary.
    Again,
    /// The last attempt was incomplete too.
    Refused(Lost),
}

/// An accepted summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    /// The number of user messages that it replaces.
    pub turns: usize,
}

impl Gate {
    /// Creates the check for a summary of `said` with the user's `instructions`.
    pub fn new(said: &[Arc<Said>], instructions: &str) -> Self {
        let keepsakes = keepsakes(said);
        let asked = vec![request(&keepsakes, instructions)];
        let turns = said.iter().filter(|said| matches!(***said, Said::Human(_))).count();
        Self { keepsakes, asked, turns, tries: 0 }
    }

    /// Returns the messages that the model reads after the conversation.
    pub fn asked(&self) -> &[Arc<Said>] {
        &self.asked
    }

    /// Checks the summary `text`, and adds a complaint for the next attempt if it is incomplete.
    pub fn judge(&mut self, text: String) -> Verdict {
        self.tries += 1;
        match judge(&text, &self.keepsakes) {
            Ok(()) => Verdict::Passed(Summary { text, turns: self.turns }),
            Err(lost) if self.tries < TRIES => {
                // The vendor refuses an empty message.
                let text = if text.trim().is_empty() { "(nothing)".to_owned() } else { text };
                self.asked.push(Arc::new(Said::Assistant(vec![Block::Text(text)], Reach::Whole)));
                self.asked.push(note(format!("[{lost}]")));
                Verdict::Again
            }
            Err(lost) => Verdict::Refused(lost),
        }
    }
}

/// Builds the summary request with the required facts and the user's instructions.
fn request(keepsakes: &[Keepsake], instructions: &str) -> Arc<Said> {
    let lines: Vec<String> = keepsakes.iter().map(|keepsake| format!("- {}", keepsake.text)).collect();
    let kept = if lines.is_empty() { "- (nothing in particular)".to_owned() } else { lines.join("\n") };
    let asked = match instructions.trim() {
        "" => String::new(),
        words => format!("\nThe human asked you to mind this in particular: {words}\n"),
    };
    note(REQUEST.replace("{keepsakes}", &kept).replace("{instructions}", &asked))
}

fn note(preface: String) -> Arc<Said> {
    Arc::new(Said::Human(Heard::note(preface)))
}

const REQUEST: &str = include_str!("../../../prompts/compact.md");

/// The fewest words of a summary.
const FEWEST_WORDS: usize = 5;

/// Checks that `summary` contains `facts`.
fn judge(summary: &str, keepsakes: &[Keepsake]) -> Result<(), Lost> {
    if summary.split_whitespace().count() < FEWEST_WORDS {
        return Err(Lost::Everything);
    }
    let missing: Vec<String> = keepsakes
        .iter()
        .filter(|keepsake| !keepsake.is_in(summary))
        .map(|keepsake| keepsake.text.clone())
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(Lost::Some(missing)) }
}

/// The error of an incomplete summary. The model reads it, so it contains an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The summary is too short.
    #[error("that is not a summary. write one, in full sentences, with everything from the list in it.")]
    Everything,
    /// These facts are missing.
    #[error("these are missing from your summary: {}. write the whole summary again, with them in it.", .0.join("; "))]
    Some(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn human(text: &str) -> Arc<Said> {
        Arc::new(Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() }))
    }

    fn kept(texts: &[&str]) -> Vec<Keepsake> {
        keepsakes(&texts.iter().map(|text| human(text)).collect::<Vec<_>>())
    }

    #[test]
    fn a_summary_that_keeps_what_matters_passes() {
        let found = kept(&["remind me to call Dr. Weber on 2026-11-17 at 15:00", "the booking is LH4711"]);
        let good = "On 2026-11-17 at 15:00 the human wants to be reminded to call Dr. Weber. Booking LH4711.";
        assert_eq!(judge(good, &found), Ok(()));
    }

    #[test]
    fn a_summary_that_lost_something_hears_what() {
        let found = kept(&["remind me to call Dr. Weber on 2026-11-17 at 15:00", "the booking is LH4711"]);
        let bad = "We talked about a phone call to a doctor and about a flight that is booked.";
        let Err(Lost::Some(missing)) = judge(bad, &found) else { panic!("it passed") };
        assert!(
            missing.contains(&"2026-11-17".to_owned()) && missing.contains(&"LH4711".to_owned()),
            "{missing:?}"
        );
    }

    #[test]
    fn next_to_nothing_is_no_summary() {
        assert_eq!(judge("ok.", &[]), Err(Lost::Everything));
        assert_eq!(judge("", &kept(&["call mum by friday"])), Err(Lost::Everything));
    }

    #[test]
    fn the_request_names_what_must_be_kept_and_what_was_asked() {
        let Said::Human(heard) = &*request(&kept(&["the booking is LH4711"]), "keep the jokes") else {
            panic!("the human asks")
        };
        assert!(heard.preface.contains("- LH4711"), "{}", heard.preface);
        assert!(heard.preface.contains("keep the jokes"), "{}", heard.preface);
        assert!(!heard.preface.contains('{'), "{}", heard.preface);
    }

    #[test]
    fn a_bad_summary_is_asked_for_once_more_and_then_refused() {
        let mut gate = Gate::new(&[human("the booking is LH4711")], "");
        let bad = || "We talked about a flight that is booked.".to_owned();
        assert_eq!(gate.judge(bad()), Verdict::Again);
        let Said::Human(complaint) = &**gate.asked().last().expect("a complaint") else { panic!("a note") };
        assert!(complaint.preface.contains("LH4711"), "{}", complaint.preface);
        assert_eq!(gate.asked().len(), 3, "the request, the summary and the complaint");
        assert_eq!(gate.judge(bad()), Verdict::Refused(Lost::Some(vec!["LH4711".to_owned()])));
    }

    #[test]
    fn a_summary_that_got_better_passes() {
        let mut gate = Gate::new(&[human("the booking is LH4711"), human("good")], "");
        assert_eq!(gate.judge(String::new()), Verdict::Again);
        let text = "The human has booked a flight, LH4711.".to_owned();
        assert_eq!(gate.judge(text.clone()), Verdict::Passed(Summary { text, turns: 2 }));
    }
}
