//! Explains an answer, a ping or a job from what is in the journal.

mod job;
mod subject;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::context::source_names;
use crate::conversation::Branch;
use crate::cost::{LedgerEntry, Total, short_count};
use crate::label::{Label, Realm};
use crate::record::{Message, SurfaceName};
use crate::turn::TurnId;

pub use job::{JobExplanation, ShownPing};
pub use subject::{Subject, parse_time};

/// The explanation of a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum ExplanationReport {
    Answer(Box<TurnExplanation>),
    /// One occurrence of a job, or one run.
    Work(Box<JobExplanation>),
    /// The last occurrences of a job, newest first.
    Job(Vec<JobExplanation>),
}

impl ExplanationReport {
    /// Returns the explanation as text, with times in `zone`.
    pub fn render(&self, zone: &TimeZone) -> String {
        match self {
            Self::Answer(answer) => answer.render(zone),
            Self::Work(work) => work.render(zone),
            Self::Job(works) => {
                let of = works.first().map(|work| work.source.to_string()).unwrap_or_default();
                let lines = works.iter().map(|work| work.line(zone));
                [format!("the last times of {of}, newest first:")]
                    .into_iter()
                    .chain(lines)
                    .collect::<Vec<_>>()
                    .join("\n")
            }
        }
    }
}

/// The most quoted characters of the message.
const MAX_QUOTED_CHARS: usize = 200;
/// The most tools that are named; the others are counted.
const MAX_TOOLS: usize = 10;

/// The facts about one turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnExplanation {
    pub turn: TurnId,
    pub branch: Branch,
    /// The message that it answers.
    pub message: Message,
    pub opened_at: Timestamp,
    /// The number of times that it was started.
    pub attempts: u32,
    /// Its model calls, oldest first.
    pub calls: Vec<LedgerEntry>,
    /// The sources of outside text in the conversation when it began, each with its first time.
    pub outside: Vec<(Realm, Timestamp)>,
    /// The tool calls with a decision, oldest first.
    pub tools: Vec<DecidedCall>,
    /// Its end; `None` while it runs.
    pub end: Option<RecordedEnd>,
}

/// A tool call with its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedCall {
    pub tool: String,
    pub rule: String,
    /// The label of the conversation at that time.
    pub label: Label,
}

impl DecidedCall {
    /// Returns the tool, the rule, and the sources of outside text.
    fn render(&self) -> String {
        let Self { tool, rule, label } = self;
        if label.is_tainted() {
            return format!("{tool} ({rule}, after text from {})", source_names(*label));
        }
        format!("{tool} ({rule})")
    }
}

/// The recorded end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEnd {
    pub at: Timestamp,
    /// One word: `finished`, `interrupted` or `failed`.
    pub outcome: String,
    /// The reason of a failure.
    pub reason: Option<String>,
}

impl TurnExplanation {
    /// Returns the explanation as text, with times in `zone`.
    pub fn render(&self, zone: &TimeZone) -> String {
        let lines = [
            Some(self.start_line(zone)),
            Some(self.message_line()),
            self.outside(zone),
            Some(self.model_line()),
            self.usage_line(),
            self.tools(),
            Some(self.end_line()),
        ];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// Returns the total of all calls.
    pub fn total(&self) -> Total {
        let mut total = Total::default();
        self.calls.iter().for_each(|spent| total.add(spent));
        total
    }

    fn start_line(&self, zone: &TimeZone) -> String {
        let place = match &self.branch {
            Branch::Main => "in our main conversation".to_owned(),
            Branch::Fork(_) => format!("in the side conversation {}", self.branch),
        };
        let at = self.opened_at.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M:%S");
        let again = if self.attempts > 1 { format!(", {} times", self.attempts) } else { String::new() };
        format!("answer {} was begun on {at}{again}, {place}.", self.turn.0)
    }

    fn message_line(&self) -> String {
        let who = match self.message.surface {
            SurfaceName::Terminal => "what you said in the terminal",
            SurfaceName::Page => "what you said on the page",
            SurfaceName::Discord => "what you said in Discord",
            SurfaceName::Internal => "what i told myself",
        };
        let words = self.message.text.trim().replace('\n', " ");
        let quoted = match words.char_indices().nth(MAX_QUOTED_CHARS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        };
        let pictures = match self.message.images.len() {
            0 => String::new(),
            count => format!(", with {count} pictures"),
        };
        format!("it answers {who}: \"{quoted}\"{pictures}")
    }

    fn outside(&self, zone: &TimeZone) -> Option<String> {
        let since = |(realm, at): &(Realm, Timestamp)| {
            format!(
                "{} since {}",
                realm.display_name(),
                at.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M:%S")
            )
        };
        let told = self.outside.iter().map(since).collect::<Vec<_>>().join(", ");
        (!told.is_empty()).then(|| {
            format!(
                "text from outside was in the conversation: {told}. `ollim-bot help permissions` says what asks because of it."
            )
        })
    }

    fn model_line(&self) -> String {
        let mut names: Vec<&str> = self.calls.iter().map(|spent| spent.call.model.as_str()).collect();
        names.dedup();
        match self.calls.len() {
            0 => "no call of a model was counted.".to_owned(),
            1 => format!("one call of {}.", names.join(", ")),
            calls => format!("{calls} calls of {}.", names.join(", then ")),
        }
    }

    fn usage_line(&self) -> Option<String> {
        let total = self.total();
        let cached = total.cached_percent()?;
        let money = match total.unpriced {
            0 => format!("it cost {}", total.cost),
            unpriced if unpriced == total.calls => "what it cost is not known".to_owned(),
            unpriced => format!("it cost {}, and {unpriced} calls have no known price", total.cost),
        };
        let read = total.usage.total_input();
        let written = total.usage.output;
        let read = short_count(read);
        let written = short_count(written);
        Some(format!("{read} tokens read, {cached} % of them from the cache, {written} written; {money}."))
    }

    fn tools(&self) -> Option<String> {
        let named = self.tools.iter().take(MAX_TOOLS).map(DecidedCall::render);
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match self.tools.len().saturating_sub(MAX_TOOLS) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        (!self.tools.is_empty()).then(|| format!("tools, and the rule that decided: {named}{more}."))
    }

    /// Returns the line about the end.
    pub(crate) fn end_line(&self) -> String {
        let Some(RecordedEnd { at, outcome: how, reason: why }) = &self.end else {
            return "it still goes on.".to_owned();
        };
        let took = format_duration(at.duration_since(self.opened_at));
        match (how.as_str(), why) {
            ("finished", _) => format!("it was finished after {took}."),
            ("interrupted", _) => format!("it was stopped after {took}."),
            (_, Some(why)) => format!("it failed after {took}: {why}"),
            (other, None) => format!("it ended after {took} ({other})."),
        }
    }
}

fn format_duration(time: SignedDuration) -> String {
    match time.as_secs().max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Usage;
    use crate::cost::{Account, Micros, ModelCall};
    use crate::record::{Address, MessageId};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::constant(1_794_726_000 + seconds, 0)
    }

    fn explanation(branch: Branch) -> TurnExplanation {
        let message = Message {
            id: MessageId(3),
            at: at(0),
            surface: SurfaceName::Page,
            address: Address::UserBranch,
            text: "how much\nis it?".to_owned(),
            images: Vec::new(),
            external_id: None,
            label: crate::label::Label::PLAIN,
        };
        let usage = Usage { input: 100, cache_read: 9_900, cache_write: 0, cache_write_1h: 0, output: 50 };
        let call = |cost: Option<u64>| LedgerEntry {
            at: at(1),
            branch: branch.clone(),
            turn: TurnId(7),
            account: Account::answer_on(&branch),
            call: ModelCall { model: "anthropic:claude-opus-9".to_owned(), usage },
            cost: cost.map(Micros),
        };
        let tools = [("inbox_add", "own-tool"), ("ping_user", "out-of-place")];
        let tools = tools.map(|(tool, rule)| decided(tool, rule, Label::PLAIN)).to_vec();
        let end = Some(RecordedEnd { at: at(4), outcome: "finished".to_owned(), reason: None });
        let calls = vec![call(Some(20_000)), call(Some(20_000))];
        let turn = TurnId(7);
        let outside = Vec::new();
        TurnExplanation { turn, branch, message, opened_at: at(0), attempts: 1, calls, outside, tools, end }
    }

    fn decided(tool: &str, rule: &str, label: Label) -> DecidedCall {
        DecidedCall { tool: tool.to_owned(), rule: rule.to_owned(), label }
    }

    #[test]
    fn outside_text_is_listed_with_its_sources() {
        let mut one = explanation(Branch::Main);
        one.outside = vec![(Realm::Picture, at(-60)), (Realm::Mail, at(-5))];
        one.tools = vec![decided("inbox_add", "context", Label::outside(Realm::Mail))];
        let told = one.render(&TimeZone::UTC);
        for words in [
            "conversation: a picture since 2026-11-15 at 06:59:00, mail since 2026-11-15 at 06:59:55. `ollim-bot help",
            "decided: inbox_add (context, after text from mail).",
        ] {
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn answer_is_explained_in_plain_lines() {
        let told = explanation(Branch::Main).render(&TimeZone::UTC);
        let expected = "answer 7 was begun on 2026-11-15 at 07:00:00, in our main conversation.
it answers what you said on the page: \"how much is it?\"
2 calls of anthropic:claude-opus-9.
20.0k tokens read, 99 % of them from the cache, 100 written; it cost $0.04.
tools, and the rule that decided: inbox_add (own-tool), ping_user (out-of-place).
it was finished after 4 s.";
        assert_eq!(told, expected);
    }

    #[test]
    fn durations_use_a_readable_unit() {
        let told = |minutes: i64| format_duration(SignedDuration::from_mins(minutes));
        assert_eq!([1, 90, 200, 454_860].map(told), ["60 s", "90 min", "3 h", "315 days"]);
    }

    #[test]
    fn failed_and_running_turns_are_explained() {
        let mut one = explanation(Branch::fork("a").unwrap());
        one.message.surface = SurfaceName::Internal;
        (one.attempts, one.calls, one.tools) = (2, Vec::new(), Vec::new());
        one.end = Some(RecordedEnd {
            at: at(150),
            outcome: "failed".to_owned(),
            reason: Some("no key.".to_owned()),
        });
        let told = one.render(&TimeZone::UTC);
        for words in ["2 times, in the side conversation fork/a.", "what i told myself", "no call of a model"]
        {
            assert!(told.contains(words), "{told}");
        }
        assert!(told.ends_with("it failed after 2 min: no key."), "{told}");
        one.end = None;
        assert!(one.render(&TimeZone::UTC).ends_with("it still goes on."));
        one.tools = vec![decided("t", "r", Label::PLAIN); MAX_TOOLS + 2];
        assert!(one.render(&TimeZone::UTC).contains("t (r), and 2 more."));
    }
}
