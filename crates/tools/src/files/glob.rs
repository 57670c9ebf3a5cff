//! The tool that finds files by name.

use std::borrow::Cow;
use std::ops::ControlFlow;

use domain::tool::{ToolClass, ToolSpec};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::data_path::DataPath;
use super::{Files, run_blocking};
use crate::{Tool, ToolEnv, ToolFuture, ToolHandler, parse_input};

pub(crate) const GLOB: Tool = Tool {
    spec: ToolSpec {
        name: "Glob",
        description: Cow::Borrowed(
            "Lists files of the data directory whose path matches, such as `notes/**/*.md`.",
        ),
        schema: r#"{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string"},"path":{"type":"string"}}}"#,
        class: ToolClass::Reads,
    },
    handler: ToolHandler::Run(glob),
};

/// The maximum number of listed paths.
const MAX_PATHS: usize = 1000;
/// The maximum number of characters of a pattern.
const MAX_PATTERN_CHARS: usize = 1000;

#[derive(Deserialize)]
struct GlobInput {
    pattern: String,
    #[serde(default)]
    path: String,
}

fn glob(workshop: &ToolEnv, input: Value) -> ToolFuture<'_> {
    run_blocking(workshop, GLOB.spec.name, move |files| {
        let GlobInput { pattern, path } = parse_input(input)?;
        files.glob(&pattern, &path)
    })
}

impl Files {
    pub(super) fn glob(&self, pattern: &str, path: &str) -> Result<String, String> {
        let base = self.parse_path(path)?;
        let (prefix, pattern) = self.split_pattern(pattern, &base)?;
        let matcher = matcher(&pattern)?;
        let mut found: Vec<String> = Vec::new();
        let coverage = self.walk(&base, |leaf| {
            let below = leaf.path.strip_prefix(&prefix).unwrap_or(leaf.path);
            if matcher.is_match(below) {
                found.push(leaf.path.to_owned());
            }
            if found.len() > MAX_PATHS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let coverage = coverage.map_err(|error| error.text(&base))?;
        let more =
            (found.len() > MAX_PATHS).then(|| format!("(more than {MAX_PATHS} match; these are the first)"));
        found.truncate(MAX_PATHS);
        if found.is_empty() {
            found.push("(no file matches)".to_owned());
        }
        found.extend(more.into_iter().chain(coverage.notice()));
        Ok(found.join("\n"))
    }

    /// Returns the prefix that is removed from paths before matching, and the pattern. An absolute
    /// pattern is matched against whole paths.
    fn split_pattern(&self, pattern: &str, base: &DataPath) -> Result<(String, String), String> {
        if pattern.starts_with(['/', '~']) {
            let fixed = pattern.split(['*', '?', '[', '{']).next().unwrap_or_default();
            let fixed = &fixed[..fixed.rfind('/').map_or(fixed.len(), |end| end + 1)];
            let below = self.parse_path(fixed)?;
            let below: String = below.parts().iter().map(|part| format!("{part}/")).collect();
            return Ok((String::new(), format!("{below}{}", &pattern[fixed.len()..])));
        }
        let prefix = base.parts().iter().map(|part| format!("{part}/")).collect();
        Ok((prefix, pattern.trim_start_matches("./").to_owned()))
    }
}

/// Compiles `glob` into an anchored regex: `**/` is any number of folders, `**` is anything, `*`
/// and `?` stay within a name, `{a,b}` is an alternative and `[a-z]` a class of characters.
pub(super) fn matcher(glob: &str) -> Result<Regex, String> {
    if glob.chars().nth(MAX_PATTERN_CHARS).is_some() {
        return Err(format!("that pattern is too long: {MAX_PATTERN_CHARS} characters at most."));
    }
    let wrong = |_| format!("`{glob}` is not a pattern. write it like `notes/**/*.md` or `*.{{md,txt}}`.");
    RegexBuilder::new(&regex_source(glob)).size_limit(1 << 20).build().map_err(wrong)
}

fn regex_source(glob: &str) -> String {
    let mut regex = "(?s)^".to_owned();
    let mut rest = glob;
    let mut open = 0_usize;
    while let Some(c) = rest.chars().next() {
        let class = parse_bracket(rest);
        let (step, taken) = match c {
            _ if rest.starts_with("**/") => ("(?:[^/]+/)*".to_owned(), 3),
            _ if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            '[' if class.is_some() => class.unwrap_or_default(),
            '{' if rest.contains('}') => ("(?:".to_owned(), 1),
            '}' if open > 0 => (")".to_owned(), 1),
            ',' if open > 0 => ("|".to_owned(), 1),
            _ => (regex::escape(&c.to_string()), c.len_utf8()),
        };
        open = match step.as_str() {
            "(?:" => open + 1,
            ")" => open - 1,
            _ => open,
        };
        regex.push_str(&step);
        rest = &rest[taken..];
    }
    regex + &")".repeat(open) + "$"
}

/// Translates the character class at the beginning of `rest`; also returns its length.
fn parse_bracket(rest: &str) -> Option<(String, usize)> {
    let inner = rest.strip_prefix('[')?;
    let end = inner.char_indices().skip(1).find(|(_, c)| *c == ']').map(|(at, _)| at)?;
    let (not, signs) = match inner[..end].strip_prefix(['!', '^']) {
        Some(signs) => ("^/", signs),
        None => ("", &inner[..end]),
    };
    let signs: String = signs
        .chars()
        .map(|c| if c == '-' { "-".to_owned() } else { regex::escape(&c.to_string()) })
        .collect();
    Some((format!("[{not}{signs}]"), end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_a_whole_path() {
        let check = |glob: &str, good: &[&str], bad: &[&str]| {
            let matcher = matcher(glob).unwrap();
            good.iter().for_each(|path| assert!(matcher.is_match(path), "{glob} does not match {path}"));
            bad.iter().for_each(|path| assert!(!matcher.is_match(path), "{glob} matches {path}"));
        };
        check("*.md", &["a.md", ".md", "é.md"], &["a/b.md", "a.mdx", "amd"]);
        check("**/*.md", &["a.md", "a/b.md", "a/b/c.md"], &["a.txt"]);
        check("**.md", &["a.md", "a/b.md"], &["a.txt"]);
        check("notes/**", &["notes/a", "notes/a/b"], &["notes", "other/a"]);
        check("?.md", &["a.md", "é.md"], &["ab.md", "/.md"]);
        check("*.{md,txt}", &["a.md", "a.txt"], &["a.rs", "a.mdtxt"]);
        check("[a-c]?.md", &["ax.md", "cx.md"], &["dx.md", "a.md"]);
        check("[!a]*", &["b"], &["a", "/"]);
        check("a.b+c(d)", &["a.b+c(d)"], &["axb+c(d)"]);
        check("a}b,c", &["a}b,c"], &["ab"]);
        check("{a", &["{a"], &["a"]);
        check("{a,{b,c}", &["a"], &["x"]);
    }

    #[test]
    fn invalid_pattern_is_explained() {
        assert!(matcher("[z-a]").unwrap_err().contains("write it like"));
        assert!(matcher(&"*".repeat(1001)).unwrap_err().contains("too long"));
        assert!(matcher(&"{".repeat(500)).is_ok());
    }
}
