//! Standing yeses: what an "always" is good for. Each is one narrow thing, listed, taken back with a word, and over
//! after a while by itself.
//!
//! How much it covers follows from the call that was asked for: a file, a site, or exactly that call. Nobody guesses
//! what a command would do that looks alike, so it is never a prefix of one.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::{Approval, ApprovalId, Consent};
use crate::conversation::Json;
use crate::hidden::spelled_out;
use crate::permission::{Power, deed, site};
use crate::tool::{Caption, Class, ToolCall};

/// How long a standing yes holds.
pub const STANDING_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The most standing yeses at a time.
pub const STANDING: usize = 100;

/// The most characters of a call that are listed.
const LISTED: usize = 200;

/// A yes to more than this once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The approval it came from, by whose number it is taken back.
    pub id: ApprovalId,
    /// The tool.
    pub tool: String,
    /// What of the tool.
    pub scope: Scope,
    /// Until when.
    pub until: Timestamp,
}

/// How much of a tool a standing yes covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A call that says the same, written in the one way there is for that.
    Exactly(Json),
    /// The note under this path, whatever is written into it.
    File(String),
    /// Whatever is read from this site, such as `https://news.example`.
    Site(String),
}

impl Scope {
    /// What an "always" to `call` is good for.
    pub fn of(call: &ToolCall) -> Self {
        let exactly = || Self::exactly(&call.input);
        match call.name.as_str() {
            // What bears authority is read by the human every time it is not the same.
            "Write" | "Edit" if deed(call, Class::Edits).power == Power::Notes => {
                call.input.text("file_path").map_or_else(exactly, Self::File)
            }
            "WebFetch" => call.input.text("url").and_then(|url| site(&url)).map_or_else(exactly, Self::Site),
            _ => exactly(),
        }
    }

    /// That of one call alone, which is given `input`.
    pub fn exactly(input: &Json) -> Self {
        Self::Exactly(input.canonical())
    }
}

impl Approval {
    /// What an "always" would be good for, said before anybody gives it.
    pub fn always(&self) -> String {
        let covered = match Scope::of(&self.call) {
            Scope::File(_) => "this file, whatever is written into it".to_owned(),
            Scope::Site(site) => format!("whatever is at {}", listed(&site)),
            Scope::Exactly(_) => "exactly this and nothing else".to_owned(),
        };
        format!(
            "always means {covered}, for {} days, where no words from outside are",
            STANDING_FOR.as_hours() / 24
        )
    }
}

impl Consent {
    /// The standing yes to `call`, if there is one. What it covers is found anew, so that a path which has come to bear
    /// authority is covered no more.
    pub(super) fn standing(&self, call: &ToolCall) -> Option<ApprovalId> {
        let mut same = self.always.iter().filter(|standing| standing.tool == call.name).peekable();
        same.peek()?;
        let scope = Scope::of(call);
        same.find(|standing| standing.scope == scope).map(|standing| standing.id)
    }
}

/// As it is listed: what it covers, in words in which nothing is read as more than itself.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::File(path) => write!(f, "{} of `{}`", self.tool, listed(path)),
            Scope::Site(site) => write!(f, "{} of whatever is at {}", self.tool, listed(site)),
            Scope::Exactly(input) => {
                let caption = Caption::of(&self.tool, |key| input.text(key)).plain();
                write!(f, "exactly {}: `{}`", listed(&caption), listed(&input.0))
            }
        }
    }
}

fn listed(text: &str) -> String {
    let spelled = spelled_out(text, |c| c.is_control() || c == '`');
    match spelled.char_indices().nth(LISTED) {
        Some((end, _)) => format!("{}… ({} characters)", &spelled[..end], text.chars().count()),
        None => spelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, input: &str) -> ToolCall {
        ToolCall { id: "c".to_owned(), name: name.to_owned(), input: Json(input.to_owned()) }
    }

    fn standing(asked: &ToolCall) -> Standing {
        let tool = asked.name.clone();
        let scope = Scope::of(asked);
        Standing { id: ApprovalId(3), tool, scope, until: Timestamp::MAX }
    }

    /// An "always" to `asked` covers `covered`, and none of `others`.
    fn check(name: &str, asked: &str, covered: &[&str], others: &[(&str, &str)]) {
        let rule = standing(&call(name, asked));
        let consent = Consent { always: vec![rule.clone()], grants: Vec::new() };
        for input in covered {
            assert_eq!(consent.standing(&call(name, input)), Some(rule.id), "{rule}: {input}");
        }
        for (name, input) in others {
            assert_eq!(consent.standing(&call(name, input)), None, "{rule}: {name} {input}");
        }
    }

    /// I5: an "always" to a command or a tool of a server is good for exactly that call.
    #[test]
    fn an_always_to_a_command_covers_that_command() {
        check(
            "Bash",
            r#"{"command":"git pull","network":true}"#,
            &[r#"{"network":true, "command":"git pull"}"#],
            &[
                ("Bash", r#"{"command":"git pull"}"#),
                ("Bash", r#"{"command":"git pull ","network":true}"#),
                ("Bash", r#"{"command":"git pull; rm x","network":true}"#),
                ("Bash", r#"{"command":"git","network":true}"#),
                ("Bash", r#"{"command":"git pull","command":"rm x","network":true}"#),
                ("bash", r#"{"command":"git pull","network":true}"#),
            ],
        );
        check(
            "mcp",
            r#"{"tool":"mcp__notes__add","arguments":{"text":"a"}}"#,
            &[r#"{"arguments":{"text":"a"},"tool":"mcp__notes__add"}"#],
            &[
                ("mcp", r#"{"tool":"mcp__notes__add","arguments":{"text":"b"}}"#),
                ("mcp", r#"{"tool":"mcp__notes__drop","arguments":{"text":"a"}}"#),
                ("mcp", r#"{"tool":"mcp__other__add","arguments":{"text":"a"}}"#),
            ],
        );
    }

    /// I5: an "always" to a note is good for that note, and one to what bears authority for those words alone.
    #[test]
    fn an_always_to_a_file_covers_that_file() {
        check(
            "Write",
            r#"{"file_path":"notes/a.txt","content":"x"}"#,
            &[r#"{"file_path":"notes/a.txt","content":"other words"}"#],
            &[
                ("Write", r#"{"file_path":"notes/b.txt","content":"x"}"#),
                ("Write", r#"{"file_path":"notes/../notes/a.txt","content":"x"}"#),
                ("Write", r#"{"file_path":"notes/a.txt/x","content":"x"}"#),
                ("Write", r#"{"content":"x"}"#),
                ("Edit", r#"{"file_path":"notes/a.txt"}"#),
            ],
        );
        check(
            "Write",
            r#"{"file_path":"routines/a.md","content":"x"}"#,
            &[r#"{"content":"x","file_path":"routines/a.md"}"#],
            &[("Write", r#"{"file_path":"routines/a.md","content":"y"}"#)],
        );
    }

    /// I5: an "always" to a page is good for its site, as long as everybody reads the same site in the address.
    #[test]
    fn an_always_to_a_page_covers_its_site() {
        check(
            "WebFetch",
            r#"{"url":"https://News.example/today?x"}"#,
            &[
                r#"{"url":"https://news.example/other","prompt":"what?"}"#,
                r#"{"url":"https://news.example"}"#,
            ],
            &[
                ("WebFetch", r#"{"url":"http://news.example/"}"#),
                ("WebFetch", r#"{"url":"https://uk.news.example/"}"#),
                ("WebFetch", r#"{"url":"https://news.example.evil.example/"}"#),
                ("WebFetch", r#"{"url":"https://news.example@evil.example/"}"#),
                ("WebFetch", r#"{"url":"https://news.example:8443/"}"#),
                ("WebFetch", r#"{"url":"https://evil.example/https://news.example/"}"#),
                ("WebFetch", r#"{"url":"https://news.example\\@evil.example/"}"#),
            ],
        );
        check(
            "WebFetch",
            r#"{"url":"https://a@b.example/"}"#,
            &[r#"{"url":"https://a@b.example/"}"#],
            &[("WebFetch", r#"{"url":"https://c@b.example/"}"#), ("WebFetch", r#"{"url":""}"#)],
        );
    }

    /// I5: what is listed cannot turn letters around, end its quotation, or go on for ever.
    #[test]
    fn what_is_listed_is_plain() {
        let told = standing(&call("Bash", "{\"command\":\"a`\u{202e}b\n\"}")).to_string();
        assert_eq!(told.matches('`').count(), 2, "{told}");
        assert!(!told.contains(['\u{202e}', '\n']), "{told}");
        let disguised = standing(&call("Write", "{\"file_path\":\"notes/\u{61c}a\u{e0041}\"}")).to_string();
        assert_eq!(disguised, r"Write of `notes/\u061ca\udb40\udc41`", "two that differ are listed as two");
        let long = format!("{{\"command\":\"{}\"}}", "x".repeat(5_000));
        assert!(standing(&call("Bash", &long)).to_string().contains("… (5014 characters)"));
        let file = standing(&call("Write", r#"{"file_path":"notes/a.txt"}"#));
        assert_eq!(file.to_string(), "Write of `notes/a.txt`");
    }
}
