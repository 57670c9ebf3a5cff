//! Links between our documents point to existing files and headings.

use std::collections::BTreeSet;

use super::Violation;
use crate::source_files::SourceFile;

/// Every link between documents resolves. External links are not followed.
pub fn check_links(files: &[SourceFile]) -> Vec<Violation> {
    let places = known_paths(files);
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_markdown()) {
        for (line, target) in link_targets(&file.text) {
            if let Err(what) = check_target(files, &places, file, &target) {
                complaints.push(Violation::in_line(file, line, format!("`{target}` {what}")));
            }
        }
    }
    complaints
}

/// Returns all files and their parent folders.
fn known_paths(files: &[SourceFile]) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for file in files {
        let mut place = file.path.as_str();
        places.insert(place.to_owned());
        while let Some((folder, _)) = place.rsplit_once('/') {
            places.insert(folder.to_owned());
            place = folder;
        }
    }
    places
}

fn check_target(
    files: &[SourceFile],
    places: &BTreeSet<String>,
    from: &SourceFile,
    target: &str,
) -> Result<(), &'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { from.path.clone() } else { resolve_path(&from.path, path) };
    if !places.contains(&path) {
        return Err("leads nowhere");
    }
    let Some(file) = files.iter().find(|file| file.path == path && file.is_markdown()) else {
        return Ok(());
    };
    if heading.is_empty() || heading_anchors(&file.text).any(|slug| slug == heading) {
        Ok(())
    } else {
        Err("names a heading that is not there")
    }
}

/// Resolves a relative target from a file.
fn resolve_path(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Returns the targets of all links outside of code, with their lines.
fn link_targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    for (at, line) in lines_outside_code(text) {
        let line = without_code(line);
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let (target, remaining) = after.split_once(')').unwrap_or((after, ""));
            let target = target.split_whitespace().next().unwrap_or_default();
            targets.push((at + 1, target.trim_matches(['<', '>']).to_owned()));
            rest = remaining;
        }
        if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            targets.push((at + 1, target.trim().to_owned()));
        }
    }
    targets
}

/// Returns the numbered lines outside of fenced code.
fn lines_outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns the anchors of all headings.
fn heading_anchors(text: &str) -> impl Iterator<Item = String> {
    lines_outside_code(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        line.trim_start_matches('#')
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(link: &str, complaints: usize) {
        let files = [
            SourceFile::new("docs/a.md", format!("# Top\n\nSee {link}.\n")),
            SourceFile::new("docs/decisions/b.md", "# Why is it so?\n"),
            SourceFile::new("LICENSE", ""),
        ];
        assert_eq!(check_links(&files).len(), complaints, "{link}");
    }

    #[test]
    fn broken_link_is_found() {
        check("[b](decisions/c.md)", 1);
        check("[b](../b.md) and [c](c.md)", 2);
        check("[b](decisions/b.md#other)", 1);
        check("[b](#bottom)", 1);
        check("\n[b]: nowhere.md", 1);
    }

    #[test]
    fn valid_link_is_accepted() {
        check("[b](decisions/b.md), [c](./decisions/), [d](../LICENSE), [e](#top)", 0);
        check("[b](decisions/b.md#why-is-it-so \"a title\")", 0);
        check("[b](https://example.org/x.md)", 0);
    }

    #[test]
    fn links_in_code_are_ignored() {
        check("`[b](nowhere.md)`\n\n```\n[c](nowhere.md)\n```\n", 0);
    }
}
