//! The tool that searches for lines in files.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;

use domain::tool::{ToolClass, ToolSpec};
use regex::Regex;
use regex::bytes::{Regex as Search, RegexBuilder};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::data_path::DataPath;
use super::glob::matcher;
use super::read::{is_text, to_u64};
use super::root::FileError;
use super::tree::Coverage;
use super::{Files, run_blocking};
use crate::plain_text::{Truncation, truncate_chars};
use crate::{Tool, ToolEnv, ToolFuture, ToolHandler, parse_input};

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
        class: ToolClass::Reads,
    },
    handler: ToolHandler::Run(grep),
};

/// Limits of the output: matches, bytes, and characters of one line.
const MAX_MATCHES: usize = 500;
const MAX_OUTPUT_BYTES: usize = 60_000;
const MAX_LINE_CHARS: usize = 400;
/// The maximum number of context lines.
const MAX_CONTEXT_LINES: u64 = 20;
/// The longest file that is searched, and the maximum number of bytes in all.
const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
const MAX_TOTAL_BYTES: u64 = 512 * 1024 * 1024;

#[derive(Deserialize)]
pub(super) struct GrepInput {
    pattern: String,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    output_mode: OutputMode,
    #[serde(default, rename = "-i")]
    ignore_case: bool,
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
enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

fn grep(workshop: &ToolEnv, input: Value) -> ToolFuture<'_> {
    run_blocking(workshop, GREP.spec.name, move |files| files.grep(parse_input(input)?))
}

impl Files {
    pub(super) fn grep(&self, input: GrepInput) -> Result<String, String> {
        let path = self.parse_path(&input.path)?;
        let glob = input.glob.as_deref().map(name_matcher).transpose()?;
        let mut search = LineSearch::new(input)?;
        let coverage = match self.root.open_file(&path) {
            Ok((file, stat)) => {
                search.search_file(&path.display(), file, stat.st_size.cast_unsigned());
                Coverage::Complete
            }
            Err(FileError::NotAFile("a folder" | "the data directory")) => {
                self.search_below(&path, glob.as_ref(), &mut search).map_err(|error| error.text(&path))?
            }
            Err(error) => return Err(error.text(&path)),
        };
        Ok(search.into_output(coverage))
    }

    fn search_below(
        &self,
        path: &DataPath,
        glob: Option<&Regex>,
        search: &mut LineSearch,
    ) -> Result<Coverage, FileError> {
        self.walk(path, |leaf| {
            if glob.is_none_or(|glob| glob.is_match(leaf.path))
                && let Ok((file, stat)) = self.root.open_file_in(leaf.dir, leaf.name)
            {
                search.search_file(leaf.path, file, stat.st_size.cast_unsigned());
            }
            if search.is_finished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }
}

/// A glob without a folder matches files of that name anywhere.
fn name_matcher(glob: &str) -> Result<Regex, String> {
    if glob.contains('/') {
        matcher(glob.trim_start_matches("./").trim_start_matches('/'))
    } else {
        matcher(&format!("**/{glob}"))
    }
}

/// A search in progress.
struct LineSearch {
    regex: Search,
    mode: OutputMode,
    before: usize,
    after: usize,
    max_matches: usize,
    match_count: usize,
    output: String,
    scanned_bytes: u64,
    skipped_files: usize,
}

impl LineSearch {
    fn new(input: GrepInput) -> Result<Self, String> {
        let GrepInput {
            pattern, output_mode, ignore_case: any_case, after, before, around, head_limit, ..
        } = input;
        let regex = RegexBuilder::new(&pattern).case_insensitive(any_case).size_limit(1 << 20).build();
        let regex = regex.map_err(|error| {
            let error = error.to_string();
            let (error, _) = truncate_chars(&error, MAX_LINE_CHARS);
            format!("`pattern` is not a regular expression that can be searched for: {error}")
        })?;
        let around = to_u64(around);
        let lines =
            |number: Option<Number>| to_u64(number).or(around).unwrap_or(0).min(MAX_CONTEXT_LINES) as usize;
        let max_matches = to_u64(head_limit)
            .filter(|max_matches| *max_matches > 0)
            .map_or(MAX_MATCHES, |max_matches| max_matches as usize);
        Ok(Self {
            regex,
            mode: output_mode,
            before: lines(before),
            after: lines(after),
            max_matches: max_matches.min(MAX_MATCHES),
            match_count: 0,
            output: String::new(),
            scanned_bytes: 0,
            skipped_files: 0,
        })
    }

    fn is_finished(&self) -> bool {
        self.match_count > self.max_matches
            || self.output.len() > MAX_OUTPUT_BYTES
            || self.scanned_bytes > MAX_TOTAL_BYTES
    }

    fn search_file(&mut self, path: &str, file: File, size: u64) {
        if size > MAX_FILE_BYTES {
            self.skipped_files += 1;
            return;
        }
        let mut bytes = Vec::new();
        // Unreadable and binary files have no lines.
        if file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).is_err() || !is_text(&bytes) {
            return;
        }
        self.scanned_bytes += bytes.len() as u64;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let hits = lines.iter().enumerate().filter(|(_, line)| self.regex.is_match(line)).map(|(at, _)| at);
        match self.mode {
            OutputMode::Content => {
                let hits: Vec<usize> = hits.take(self.max_matches + 1 - self.match_count).collect();
                self.push_matches(path, &lines, &hits);
            }
            OutputMode::FilesWithMatches => {
                let mut hits = hits;
                if hits.next().is_some() {
                    self.push_match(path);
                }
            }
            OutputMode::Count => match hits.count() {
                0 => {}
                count => self.push_match(&format!("{path}:{count}")),
            },
        }
    }

    /// Counts one match and appends it, up to the limit.
    fn push_match(&mut self, line: &str) {
        self.match_count += 1;
        if self.match_count <= self.max_matches {
            self.output.push_str(line);
            self.output.push('\n');
        }
    }

    /// Appends the lines `hits` of a file with their context lines.
    fn push_matches(&mut self, path: &str, lines: &[&[u8]], hits: &[usize]) {
        let mut next = 0;
        for hit in hits {
            if self.is_finished() {
                return;
            }
            let from = hit.saturating_sub(self.before).max(next);
            if from > next && next > 0 && self.before + self.after > 0 {
                self.output.push_str("--\n");
            }
            (from..*hit).for_each(|at| self.output.push_str(&format_line(path, at, lines[at], '-')));
            self.push_match(format_line(path, *hit, lines[*hit], ':').trim_end_matches('\n'));
            let until = hits.iter().find(|later| *later > hit).map_or(lines.len(), |later| *later);
            let last = (hit + 1 + self.after).min(until);
            if self.match_count <= self.max_matches {
                (hit + 1..last).for_each(|at| self.output.push_str(&format_line(path, at, lines[at], '-')));
            }
            next = last;
        }
    }

    fn into_output(mut self, coverage: Coverage) -> String {
        if self.match_count == 0 {
            self.output.push_str("(nothing found)\n");
        }
        if self.match_count > self.max_matches {
            self.output.push_str(&format!("(more than {} found; these are the first)\n", self.max_matches));
        } else if self.is_finished() {
            self.output.push_str("(there may be more: narrow the search)\n");
        }
        if self.skipped_files > 0 {
            self.output.push_str(&format!("({} files are too long to be searched)\n", self.skipped_files));
        }
        self.output.extend(coverage.notice());
        self.output.trim_end().to_owned()
    }
}

fn format_line(path: &str, at: usize, line: &[u8], mark: char) -> String {
    let line = String::from_utf8_lossy(line);
    let (kept, rest) = truncate_chars(line.trim_end_matches('\r'), MAX_LINE_CHARS);
    let cut = if rest == Truncation::Cut { "…" } else { "" };
    format!("{path}{mark}{}{mark}{kept}{cut}\n", at + 1)
}
