//! Missed times: occurrences that were due while the daemon was down and are too late to run.

use super::{Assistant, Minutes, Shown};
use crate::attention::{HeldFor, PASSED};
use crate::cost::Source;
use crate::label::Label;
use crate::schedule::Missed;

/// How many plans are listed by name.
const LINES: usize = 10;

/// A plan with missed times.
pub(super) struct Passed {
    pub(super) source: Source,
    /// Display name.
    pub(super) name: String,
    pub(super) times: Missed,
}

impl Assistant {
    /// Shows the missed times at once, or defers them to the digest if the user is only reachable
    /// by messages.
    pub(super) fn tell_missed(&mut self, missed: &[Passed], minutes: &mut Minutes) {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let digests = !self.memory.chosen.settings.calm.digests.0.is_empty();
        match missed {
            [] => {}
            [..] if digests && self.posting.is_by_messages(&now) => self.keep_missed(missed, minutes),
            [..] => minutes.shown.push(Shown::Notice(away(missed, minutes))),
        }
    }

    fn keep_missed(&mut self, missed: &[Passed], minutes: &mut Minutes) {
        for passed in missed.iter().take(LINES) {
            let told = (told(passed, minutes), Label::PLAIN);
            let whose = (passed.source.clone(), passed.name.clone());
            self.keep_back(whose, told, HeldFor::Missed, minutes);
        }
        if let Some(passed) = missed.get(LINES) {
            let words = (format!("and {} more", missed.len() - LINES), Label::PLAIN);
            self.keep_back((passed.source.clone(), "others".to_owned()), words, HeldFor::Missed, minutes);
        }
    }
}

/// Returns a short text about the missed times of one plan.
fn told(Passed { times, .. }: &Passed, minutes: &Minutes) -> String {
    let last = times.last.to_zoned(minutes.zone.clone()).strftime("%a %-d %b %H:%M").to_string();
    match times.count {
        1 => last.to_lowercase(),
        count => format!("{count} times, last {}", last.to_lowercase()),
    }
}

/// Returns the notice that lists all missed times.
fn away(missed: &[Passed], minutes: &Minutes) -> String {
    let line = |passed: &Passed| format!("- {}: {}", passed.name, told(passed, minutes));
    let mut lines: Vec<String> = missed.iter().take(LINES).map(line).collect();
    if missed.len() > LINES {
        lines.push(format!("- and {} more", missed.len() - LINES));
    }
    format!("{PASSED}:\n{}", lines.join("\n"))
}
