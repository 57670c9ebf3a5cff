//! The subject of an explanation, as the user writes it.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::attention::DeferredId;
use crate::conversation::EntryId;
use crate::schedule::Moment;
use crate::turn::TurnId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The last answer.
    Last,
    /// A ping or an answer with this number; the ping wins.
    Number(u64),
    /// The answer with this number.
    Answer(TurnId),
    /// The message that was shown under this number.
    Ping(EntryId),
    /// The message that is or was deferred under this number.
    Deferred(DeferredId),
    /// The last occurrences of this job, given by source, id or name.
    Job(String),
    /// The occurrence of this job at this time, as it was written.
    Occurrence(String, String),
}

impl Subject {
    /// Parses the user's text.
    pub fn parse(words: &str) -> Result<Self, String> {
        let number = |words: &str| words.parse::<u64>().ok();
        let named = |name: &str| words.strip_prefix(name).and_then(|rest| number(rest.trim()));
        if words.is_empty() {
            return Ok(Self::Last);
        }
        if let Some(found) = number(words) {
            return Ok(Self::Number(found));
        }
        if let Some(held) = named("held:") {
            return Ok(Self::Deferred(DeferredId(held)));
        }
        match (named("answer:"), named("ping:"), words.split_once('@')) {
            (Some(turn), _, _) => Ok(Self::Answer(TurnId(turn))),
            (None, Some(entry), _) => Ok(Self::Ping(EntryId(entry))),
            (None, None, Some((job, time))) => {
                parse_time(time, &TimeZone::UTC)?;
                Ok(Self::Occurrence(job.trim().to_owned(), time.trim().to_owned()))
            }
            (None, None, None) => Ok(Self::Job(words.to_owned())),
        }
    }

    /// Returns the reply if nothing is known about it.
    pub fn not_found_text(&self) -> String {
        match self {
            Self::Last => "i have not answered anything yet.".to_owned(),
            Self::Number(number) | Self::Answer(TurnId(number)) => {
                format!("there is no answer with the number {number}. `/why` alone tells of the last one.")
            }
            Self::Ping(EntryId(number)) => format!("nothing was shown to you under the number {number}."),
            Self::Deferred(DeferredId(number)) => format!("nothing was held under the number {number}."),
            Self::Job(name) => format!(
                "i know of no time at which `{name}` was due. name a job by its id, such as `routine:mail`, or a ping or \
                 an answer by its number."
            ),
            Self::Occurrence(name, time) => format!(
                "`{name}` was not due at {time}, as far as i know. `/why {name}` tells its last times."
            ),
        }
    }
}

/// Parses a time in `zone`.
pub fn parse_time(text: &str, zone: &TimeZone) -> Result<Timestamp, String> {
    let moment = Moment::parse(text.trim(), zone);
    moment.map(|moment| moment.at).map_err(|_| {
        format!("`{}` is not a time. write it like `routine:mail@2026-03-29T02:30`.", text.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_parsed() {
        let check =
            |words: &str, expected: Subject| assert_eq!(Subject::parse(words), Ok(expected), "{words}");
        check("", Subject::Last);
        check("17", Subject::Number(17));
        check("answer:17", Subject::Answer(TurnId(17)));
        check("ping:17", Subject::Ping(EntryId(17)));
        check("held:3", Subject::Deferred(DeferredId(3)));
        check("routine:mail", Subject::Job("routine:mail".to_owned()));
        check("my mail", Subject::Job("my mail".to_owned()));
        let time = "2026-03-29T02:30".to_owned();
        check("mail@2026-03-29T02:30", Subject::Occurrence("mail".to_owned(), time));
        let wrong = Subject::parse("mail@noon").unwrap_err();
        assert!(wrong.starts_with("`noon` is not a time. write it like"), "{wrong}");
    }
}
