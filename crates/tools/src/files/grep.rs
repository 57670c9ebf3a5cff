//! The tool that searches for lines in files.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;

use domain::tool::{Class, ToolSpec};
use regex::Regex;
use regex::bytes::{Regex as Search, RegexBuilder};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::glob::matcher;
use super::place::Inside;
use super::read::{is_text, whole};
use super::root::Trouble;
use super::tree::Seen;
use super::{Files, aside};
use crate::plain::{Rest, beginning};
use crate::{Done, Tool, Work, Workshop, parsed};

pub(crate) const GREP: Tool = Tool {
    spec: ToolSpec {
        name: "Grep",
        description: Cow::Borrowed("Searches files of the data directory for a regular expression."),
        schema: concat!(
            r#"{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string","minLength":1},"#,
            r#""path":{"type":"string"},"glob":{"type":"string"},"#,
            r#""output_mode":{"enum":["content","files_with_matches","count"]},"-i":{"type":"boolean"},"#,
            r#""-A":{"type":"integer"},"-B":{"type":"integer"},"-C":{"type":"integer"},"head_limit":{"type":"integer"}}}"#,
        ),
        class: Class::Reads,
    },
    work: Work::Does(grep),
};

/// Limits of the output: matches, bytes, and characters of one line.
const MATCHES: usize = 500;
const BYTES: usize = 60_000;
const LINE_CHARS: usize = 400;
/// The maximum number of context lines.
const AROUND: u64 = 20;
/// The longest file that is searched, and the maximum number of bytes in all.
const FILE_BYTES: u64 = 10 * 1024 * 1024;
const ALL_BYTES: u64 = 512 * 1024 * 1024;

#[derive(Deserialize)]
pub(super) struct Input {
    pattern: String,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    output_mode: Mode,
    #[serde(default, rename = "-i")]
    any_case: bool,
    #[serde(rename = "-A")]
    after: Option<Number>,
    #[serde(rename = "-B")]
    before: Option<Number>,
    #[serde(rename = "-C")]
    around: Option<Number>,
    head_limit: Option<Number>,
}

/// The output for a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

fn grep(workshop: &Workshop, input: Value) -> Done<'_> {
    aside(workshop, GREP.spec.name, move |files| files.grep(parsed(input)?))
}

impl Files {
    pub(super) fn grep(&self, input: Input) -> Result<String, String> {
        let inside = self.place(&input.path)?;
        let glob = input.glob.as_deref().map(names).transpose()?;
        let mut hunt = Hunt::new(input)?;
        let seen = match self.root.file(&inside) {
            Ok((file, stat)) => {
                hunt.file(&inside.shown(), file, stat.st_size.cast_unsigned());
                Seen::All
            }
            Err(Trouble::Strange("a folder" | "the data directory")) => {
                self.hunt_below(&inside, glob.as_ref(), &mut hunt).map_err(|trouble| trouble.told(&inside))?
            }
            Err(trouble) => return Err(trouble.told(&inside)),
        };
        Ok(hunt.told(seen))
    }

    fn hunt_below(&self, inside: &Inside, glob: Option<&Regex>, hunt: &mut Hunt) -> Result<Seen, Trouble> {
        self.below(inside, |leaf| {
            if glob.is_none_or(|glob| glob.is_match(leaf.path))
                && let Ok((file, stat)) = self.root.file_in(leaf.dir, leaf.name)
            {
                hunt.file(leaf.path, file, stat.st_size.cast_unsigned());
            }
            if hunt.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }
}

/// A glob without a folder matches files of that name anywhere.
fn names(glob: &str) -> Result<Regex, String> {
    if glob.contains('/') {
        matcher(glob.trim_start_matches("./").trim_start_matches('/'))
    } else {
        matcher(&format!("**/{glob}"))
    }
}

/// A search in progress.
struct Hunt {
    search: Search,
    mode: Mode,
    before: usize,
    after: usize,
    most: usize,
    found: usize,
    text: String,
    looked: u64,
    skipped: usize,
}

impl Hunt {
    fn new(input: Input) -> Result<Self, String> {
        let Input { pattern, output_mode, any_case, after, before, around, head_limit, .. } = input;
        let search = RegexBuilder::new(&pattern).case_insensitive(any_case).size_limit(1 << 20).build();
        let search = search.map_err(|error| {
            let error = error.to_string();
            let (error, _) = beginning(&error, LINE_CHARS);
            format!("`pattern` is not a regular expression that can be searched for: {error}")
        })?;
        let around = whole(around);
        let lines = |number: Option<Number>| whole(number).or(around).unwrap_or(0).min(AROUND) as usize;
        let most = whole(head_limit).filter(|most| *most > 0).map_or(MATCHES, |most| most as usize);
        Ok(Self {
            search,
            mode: output_mode,
            before: lines(before),
            after: lines(after),
            most: most.min(MATCHES),
            found: 0,
            text: String::new(),
            looked: 0,
            skipped: 0,
        })
    }

    fn is_over(&self) -> bool {
        self.found > self.most || self.text.len() > BYTES || self.looked > ALL_BYTES
    }

    fn file(&mut self, path: &str, file: File, size: u64) {
        if size > FILE_BYTES {
            self.skipped += 1;
            return;
        }
        let mut bytes = Vec::new();
        // Unreadable and binary files have no lines.
        if file.take(FILE_BYTES).read_to_end(&mut bytes).is_err() || !is_text(&bytes) {
            return;
        }
        self.looked += bytes.len() as u64;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let hits = lines.iter().enumerate().filter(|(_, line)| self.search.is_match(line)).map(|(at, _)| at);
        match self.mode {
            Mode::Content => {
                let hits: Vec<usize> = hits.take(self.most + 1 - self.found).collect();
                self.show(path, &lines, &hits);
            }
            Mode::FilesWithMatches => {
                let mut hits = hits;
                if hits.next().is_some() {
                    self.line(path);
                }
            }
            Mode::Count => match hits.count() {
                0 => {}
                count => self.line(&format!("{path}:{count}")),
            },
        }
    }

    /// Counts one match and appends it, up to the limit.
    fn line(&mut self, line: &str) {
        self.found += 1;
        if self.found <= self.most {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Appends the lines `hits` of a file with their context lines.
    fn show(&mut self, path: &str, lines: &[&[u8]], hits: &[usize]) {
        let mut next = 0;
        for hit in hits {
            if self.is_over() {
                return;
            }
            let from = hit.saturating_sub(self.before).max(next);
            if from > next && next > 0 && self.before + self.after > 0 {
                self.text.push_str("--\n");
            }
            (from..*hit).for_each(|at| self.text.push_str(&shown(path, at, lines[at], '-')));
            self.line(shown(path, *hit, lines[*hit], ':').trim_end_matches('\n'));
            let until = hits.iter().find(|later| *later > hit).map_or(lines.len(), |later| *later);
            let last = (hit + 1 + self.after).min(until);
            if self.found <= self.most {
                (hit + 1..last).for_each(|at| self.text.push_str(&shown(path, at, lines[at], '-')));
            }
            next = last;
        }
    }

    fn told(mut self, seen: Seen) -> String {
        if self.found == 0 {
            self.text.push_str("(nothing found)\n");
        }
        if self.found > self.most {
            self.text.push_str(&format!("(more than {} found; these are the first)\n", self.most));
        } else if self.is_over() {
            self.text.push_str("(there may be more: narrow the search)\n");
        }
        if self.skipped > 0 {
            self.text.push_str(&format!("({} files are too long to be searched)\n", self.skipped));
        }
        self.text.extend(seen.told());
        self.text.trim_end().to_owned()
    }
}

fn shown(path: &str, at: usize, line: &[u8], mark: char) -> String {
    let line = String::from_utf8_lossy(line);
    let (kept, rest) = beginning(line.trim_end_matches('\r'), LINE_CHARS);
    let cut = if rest == Rest::More { "…" } else { "" };
    format!("{path}{mark}{}{mark}{kept}{cut}\n", at + 1)
}
