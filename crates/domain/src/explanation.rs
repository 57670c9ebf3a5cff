//! Explains an answer, a ping or a job from what is in the journal.

mod subject;
mod work;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::context::sources;
use crate::conversation::Branch;
use crate::cost::{Spent, Total, short};
use crate::label::{Label, Realm};
use crate::record::{Message, SurfaceName};
use crate::turn::TurnId;

pub use subject::{Subject, moment};
pub use work::{Ping, Work};

/// The explanation of a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Explained {
    Answer(Box<Explanation>),
    /// One occurrence of a job, or one run.
    Work(Box<Work>),
    /// The last occurrences of a job, newest first.
    Job(Vec<Work>),
}

impl Explained {
    /// Returns the explanation as text, with times in `zone`.
    pub fn tell(&self, zone: &TimeZone) -> String {
        match self {
            Self::Answer(answer) => answer.tell(zone),
            Self::Work(work) => work.tell(zone),
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
const QUOTED: usize = 200;
/// The most tools that are named; the others are counted.
const TOOLS: usize = 10;

/// The facts about one turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub turn: TurnId,
    pub branch: Branch,
    /// The message that it answers.
    pub message: Message,
    pub opened: Timestamp,
    /// The number of times that it was started.
    pub attempts: u32,
    /// Its model calls, oldest first.
    pub calls: Vec<Spent>,
    /// The sources of outside text in the conversation when it began, each with its first time.
    pub outside: Vec<(Realm, Timestamp)>,
    /// The tool calls with a decision, oldest first.
    pub tools: Vec<DecidedCall>,
    /// Its end; `None` while it runs.
    pub end: Option<End>,
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
    fn tell(&self) -> String {
        let Self { tool, rule, label } = self;
        if label.is_tainted() {
            return format!("{tool} ({rule}, after text from {})", sources(*label));
        }
        format!("{tool} ({rule})")
    }
}

/// The recorded end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub at: Timestamp,
    /// One word: `finished`, `interrupted` or `failed`.
    pub how: String,
    /// The reason of a failure.
    pub why: Option<String>,
}

impl Explanation {
    /// Returns the explanation as text, with times in `zone`.
    pub fn tell(&self, zone: &TimeZone) -> String {
        let lines = [
            Some(self.began(zone)),
            Some(self.answers()),
            self.outside(zone),
            Some(self.models()),
            self.used(),
            self.tools(),
            Some(self.ended()),
        ];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// Returns the total of all calls.
    pub fn total(&self) -> Total {
        let mut total = Total::default();
        self.calls.iter().for_each(|spent| total.add(spent));
        total
    }

    fn began(&self, zone: &TimeZone) -> String {
        let place = match &self.branch {
            Branch::Main => "in our main conversation".to_owned(),
            Branch::Fork(_) => format!("in the side conversation {}", self.branch),
        };
        let at = self.opened.to_zoned(zone.clone()).strftime("%Y-%m-%d at %H:%M:%S");
        let again = if self.attempts > 1 { format!(", {} times", self.attempts) } else { String::new() };
        format!("answer {} was begun on {at}{again}, {place}.", self.turn.0)
    }

    fn answers(&self) -> String {
        let who = match self.message.surface {
            SurfaceName::Terminal => "what you said in the terminal",
            SurfaceName::Page => "what you said on the page",
            SurfaceName::Discord => "what you said in Discord",
            SurfaceName::House => "what i told myself",
        };
        let words = self.message.text.trim().replace('\n', " ");
        let quoted = match words.char_indices().nth(QUOTED) {
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
                realm.in_words(),
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

    fn models(&self) -> String {
        let mut names: Vec<&str> = self.calls.iter().map(|spent| spent.call.model.as_str()).collect();
        names.dedup();
        match self.calls.len() {
            0 => "no call of a model was counted.".to_owned(),
            1 => format!("one call of {}.", names.join(", ")),
            calls => format!("{calls} calls of {}.", names.join(", then ")),
        }
    }

    fn used(&self) -> Option<String> {
        let total = self.total();
        let cached = total.cached_percent()?;
        let money = match total.unpriced {
            0 => format!("it cost {}", total.cost),
            unpriced if unpriced == total.calls => "what it cost is not known".to_owned(),
            unpriced => format!("it cost {}, and {unpriced} calls have no known price", total.cost),
        };
        let read = total.usage.read();
        let written = total.usage.output;
        let read = short(read);
        let written = short(written);
        Some(format!("{read} tokens read, {cached} % of them from the cache, {written} written; {money}."))
    }

    fn tools(&self) -> Option<String> {
        let named = self.tools.iter().take(TOOLS).map(DecidedCall::tell);
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match self.tools.len().saturating_sub(TOOLS) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        (!self.tools.is_empty()).then(|| format!("tools, and the rule that decided: {named}{more}."))
    }

    /// Returns the line about the end.
    pub(crate) fn ended(&self) -> String {
        let Some(End { at, how, why }) = &self.end else { return "it still goes on.".to_owned() };
        let took = took(at.duration_since(self.opened));
        match (how.as_str(), why) {
            ("finished", _) => format!("it was finished after {took}."),
            ("interrupted", _) => format!("it was stopped after {took}."),
            (_, Some(why)) => format!("it failed after {took}: {why}"),
            (other, None) => format!("it ended after {took} ({other})."),
        }
    }
}

fn took(time: SignedDuration) -> String {
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
    use crate::cost::{Account, Call, Micros};
    use crate::record::{Address, MessageId};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::constant(1_794_726_000 + seconds, 0)
    }

    fn explanation(branch: Branch) -> Explanation {
        let message = Message {
            id: MessageId(3),
            at: at(0),
            surface: SurfaceName::Page,
            to: Address::Here,
            text: "how much\nis it?".to_owned(),
            images: Vec::new(),
            mark: None,
            label: crate::label::Label::PLAIN,
        };
        let usage = Usage { input: 100, cache_read: 9_900, cache_write: 0, cache_write_1h: 0, output: 50 };
        let call = |cost: Option<u64>| Spent {
            at: at(1),
            branch: branch.clone(),
            turn: TurnId(7),
            account: Account::answer_on(&branch),
            call: Call { model: "anthropic:claude-opus-9".to_owned(), usage },
            cost: cost.map(Micros),
        };
        let tools = [("inbox_add", "own-tool"), ("ping_user", "out-of-place")];
        let tools = tools.map(|(tool, rule)| decided(tool, rule, Label::PLAIN)).to_vec();
        let end = Some(End { at: at(4), how: "finished".to_owned(), why: None });
        let calls = vec![call(Some(20_000)), call(Some(20_000))];
        let turn = TurnId(7);
        let outside = Vec::new();
        Explanation { turn, branch, message, opened: at(0), attempts: 1, calls, outside, tools, end }
    }

    fn decided(tool: &str, rule: &str, label: Label) -> DecidedCall {
        DecidedCall { tool: tool.to_owned(), rule: rule.to_owned(), label }
    }

    #[test]
    fn text_from_outside_is_told_with_its_sources() {
        let mut one = explanation(Branch::Main);
        one.outside = vec![(Realm::Picture, at(-60)), (Realm::Mail, at(-5))];
        one.tools = vec![decided("inbox_add", "context", Label::outside(Realm::Mail))];
        let told = one.tell(&TimeZone::UTC);
        for words in [
            "conversation: a picture since 2026-11-15 at 06:59:00, mail since 2026-11-15 at 06:59:55. `ollim-bot help",
            "decided: inbox_add (context, after text from mail).",
        ] {
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn an_answer_is_explained_in_plain_lines() {
        let told = explanation(Branch::Main).tell(&TimeZone::UTC);
        let expected = "answer 7 was begun on 2026-11-15 at 07:00:00, in our main conversation.
it answers what you said on the page: \"how much is it?\"
2 calls of anthropic:claude-opus-9.
20.0k tokens read, 99 % of them from the cache, 100 written; it cost $0.04.
tools, and the rule that decided: inbox_add (own-tool), ping_user (out-of-place).
it was finished after 4 s.";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_long_time_is_told_in_the_unit_one_can_grasp() {
        let told = |minutes: i64| took(SignedDuration::from_mins(minutes));
        assert_eq!([1, 90, 200, 454_860].map(told), ["60 s", "90 min", "3 h", "315 days"]);
    }

    #[test]
    fn what_failed_or_goes_on_says_so() {
        let mut one = explanation(Branch::fork("a").unwrap());
        one.message.surface = SurfaceName::House;
        (one.attempts, one.calls, one.tools) = (2, Vec::new(), Vec::new());
        one.end = Some(End { at: at(150), how: "failed".to_owned(), why: Some("no key.".to_owned()) });
        let told = one.tell(&TimeZone::UTC);
        for words in ["2 times, in the side conversation fork/a.", "what i told myself", "no call of a model"]
        {
            assert!(told.contains(words), "{told}");
        }
        assert!(told.ends_with("it failed after 2 min: no key."), "{told}");
        one.end = None;
        assert!(one.tell(&TimeZone::UTC).ends_with("it still goes on."));
        one.tools = vec![decided("t", "r", Label::PLAIN); TOOLS + 2];
        assert!(one.tell(&TimeZone::UTC).contains("t (r), and 2 more."));
    }
}
