//! Standing approvals: the effect of an "always". Each covers one narrow scope, is listed, can be
//! revoked and expires.
//!
//! The scope follows from the approved call: a file, a site, or exactly that call. It is never a
//! command prefix, because the effect of a similar command cannot be known.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::{Approval, ApprovalId, Consent};
use crate::conversation::Json;
use crate::hidden::spelled_out;
use crate::permission::{Power, deed, site};
use crate::tool::{Caption, Class, ToolCall};

pub const STANDING_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The most standing approvals at the same time.
pub const STANDING: usize = 100;

/// The most characters of a call in the list.
const LISTED: usize = 200;

/// A permission for all calls within a scope until it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The approval that created it; its number revokes it.
    pub id: ApprovalId,
    pub tool: String,
    pub scope: Scope,
    pub until: Timestamp,
}

/// The calls of a tool that a standing approval covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A call with the same input in canonical JSON.
    Exactly(Json),
    /// Any content written to the note at this path.
    File(String),
    /// Any page of this site, such as `https://news.example`.
    Site(String),
}

impl Scope {
    /// Returns the scope that an "always" to `call` gets.
    pub fn of(call: &ToolCall) -> Self {
        let exactly = || Self::exactly(&call.input);
        match call.name.as_str() {
            // A change of an authority file is approved with its content each time.
            "Write" | "Edit" if deed(call, Class::Edits).power == Power::Notes => {
                call.input.text("file_path").map_or_else(exactly, Self::File)
            }
            "WebFetch" => call.input.text("url").and_then(|url| site(&url)).map_or_else(exactly, Self::Site),
            _ => exactly(),
        }
    }

    /// Returns the scope of exactly the calls with `input`.
    pub fn exactly(input: &Json) -> Self {
        Self::Exactly(input.canonical())
    }
}

impl Approval {
    /// Describes what an "always" would cover, before it is given.
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
    /// Returns the standing approval that covers `call`. The scope is computed again, so a path
    /// that has become an authority file is no longer covered.
    pub(super) fn standing(&self, call: &ToolCall) -> Option<ApprovalId> {
        let mut same = self.always.iter().filter(|standing| standing.tool == call.name).peekable();
        same.peek()?;
        let scope = Scope::of(call);
        same.find(|standing| standing.scope == scope).map(|standing| standing.id)
    }
}

/// Formats it for the list, without hidden characters or Markdown.
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

    /// Checks that an "always" to `asked` covers `covered` and none of `others`.
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

    /// I5: An "always" to a command or a server tool covers exactly that call.
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

    /// I5: An "always" to a note covers that note, and one to an authority file only that content.
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

    /// I5: An "always" to a page covers its site if the address is unambiguous.
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

    /// I5: A listed entry contains no hidden characters, cannot end its quotation, and is cut.
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
