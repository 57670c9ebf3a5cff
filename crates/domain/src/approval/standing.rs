//! Standing approvals: the effect of an "always". Each covers one narrow scope, is listed, can be
//! revoked and expires.
//!
//! The scope follows from the approved call: a file, a site, or exactly that call. It is never a
//! command prefix, because the effect of a similar command cannot be known.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::{Approval, ApprovalId, Consent};
use crate::conversation::Json;
use crate::hidden_chars::escape_hidden;
use crate::permission::{Capability, site, tool_action};
use crate::tool::{Caption, ToolCall, ToolClass};

pub const STANDING_DURATION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The most standing approvals at the same time.
pub const MAX_STANDING: usize = 100;

/// The most characters of a call in the list.
const MAX_LISTED_CHARS: usize = 200;

/// A permission for all calls within a scope until it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingApproval {
    /// The approval that created it; its number revokes it.
    pub id: ApprovalId,
    pub tool: String,
    pub scope: Scope,
    pub expires_at: Timestamp,
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
            "Write" | "Edit" if tool_action(call, ToolClass::Edits).capability == Capability::Notes => {
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
    pub fn always_text(&self) -> String {
        let covered = match Scope::of(&self.call) {
            Scope::File(_) => "this file, whatever is written into it".to_owned(),
            Scope::Site(site) => format!("whatever is at {}", list_text(&site)),
            Scope::Exactly(_) => "exactly this and nothing else".to_owned(),
        };
        format!(
            "always means {covered}, for {} days, where no words from outside are",
            STANDING_DURATION.as_hours() / 24
        )
    }
}

impl Consent {
    /// Returns the standing approval that covers `call`. The scope is computed again, so a path
    /// that has become an authority file is no longer covered.
    pub(super) fn standing_for(&self, call: &ToolCall) -> Option<ApprovalId> {
        let mut same = self.standing.iter().filter(|standing| standing.tool == call.name).peekable();
        same.peek()?;
        let scope = Scope::of(call);
        same.find(|standing| standing.scope == scope).map(|standing| standing.id)
    }
}

/// Formats it for the list, without hidden characters or Markdown.
impl fmt::Display for StandingApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::File(path) => write!(f, "{} of `{}`", self.tool, list_text(path)),
            Scope::Site(site) => write!(f, "{} of whatever is at {}", self.tool, list_text(site)),
            Scope::Exactly(input) => {
                let caption = Caption::new(&self.tool, |key| input.text(key)).plain();
                write!(f, "exactly {}: `{}`", list_text(&caption), list_text(&input.0))
            }
        }
    }
}

fn list_text(text: &str) -> String {
    let spelled = escape_hidden(text, |c| c.is_control() || c == '`');
    match spelled.char_indices().nth(MAX_LISTED_CHARS) {
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

    fn standing(asked: &ToolCall) -> StandingApproval {
        let tool = asked.name.clone();
        let scope = Scope::of(asked);
        StandingApproval { id: ApprovalId(3), tool, scope, expires_at: Timestamp::MAX }
    }

    /// Checks that an "always" to `asked` covers `covered` and none of `others`.
    fn check(name: &str, asked: &str, covered: &[&str], others: &[(&str, &str)]) {
        let rule = standing(&call(name, asked));
        let consent = Consent { standing: vec![rule.clone()], grants: Vec::new() };
        for input in covered {
            assert_eq!(consent.standing_for(&call(name, input)), Some(rule.id), "{rule}: {input}");
        }
        for (name, input) in others {
            assert_eq!(consent.standing_for(&call(name, input)), None, "{rule}: {name} {input}");
        }
    }

    /// I5: An "always" to a command or a server tool covers exactly that call.
    #[test]
    fn standing_command_covers_only_that_command() {
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
    fn standing_file_covers_only_that_file() {
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
    fn standing_page_covers_its_site() {
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
    fn listed_text_is_plain() {
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
