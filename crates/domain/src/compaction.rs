//! Compaction: a summary that stands for what came before, and the gate it must pass.
//!
//! What must not get lost is found without a model, told to the model as a list, and looked for in what it
//! wrote. A summary that lost something is asked for once more; then the compaction is refused, and the
//! conversation stays as it was.

mod keepsake;

use std::sync::Arc;

pub use keepsake::{Keepsake, Kind, keepsakes};

use crate::conversation::{Heard, Said};

/// The request for a summary, as the last thing the model reads: what must be kept, and what the human asked for.
pub fn request(keepsakes: &[Keepsake], instructions: &str) -> Arc<Said> {
    let lines: Vec<String> = keepsakes.iter().map(|keepsake| format!("- {}", keepsake.text)).collect();
    let kept = if lines.is_empty() { "- (nothing in particular)".to_owned() } else { lines.join("\n") };
    let asked = match instructions.trim() {
        "" => String::new(),
        words => format!("\nThe human asked you to mind this in particular: {words}\n"),
    };
    let text = REQUEST.replace("{keepsakes}", &kept).replace("{instructions}", &asked);
    Arc::new(Said::Human(Heard { preface: text, text: String::new(), images: Vec::new() }))
}

const REQUEST: &str = include_str!("../../../prompts/compact.md");

/// The least words a summary has.
const FEWEST_WORDS: usize = 5;

/// Whether `summary` may stand for what held `keepsakes`.
pub fn judge(summary: &str, keepsakes: &[Keepsake]) -> Result<(), Lost> {
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

/// What a summary lost. The model reads this, so it says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It says next to nothing.
    #[error("that is not a summary. write one, in full sentences, with everything from the list in it.")]
    Everything,
    /// It leaves these out.
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
}
