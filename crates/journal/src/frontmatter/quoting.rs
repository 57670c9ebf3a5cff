//! Repairs a common mistake in files by other authors: a plain YAML value that contains `: `.

use super::Value;
use super::scan::entries;

/// Quotes the one-line plain values in `yaml` that contain a colon; `None` if there are none.
pub(crate) fn with_quoted_values(yaml: &str) -> Option<String> {
    let mut lines: Vec<String> = yaml.lines().map(str::to_owned).collect();
    let mut changed = false;
    for entry in entries(yaml) {
        let line = &lines[entry.first];
        let Some((before, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let is_plain = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#', '%', '@', '`']);
        if entry.first == entry.last && is_plain && (value.contains(": ") || value.ends_with(':')) {
            lines[entry.first] = format!("{before}: {}", Value::Text(value.to_owned()).inline_text());
            changed = true;
        }
    }
    changed.then(|| lines.iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_a_colon_are_quoted() {
        let check = |yaml: &str, expected: Option<&str>| {
            assert_eq!(with_quoted_values(yaml).as_deref(), expected, "{yaml}");
        };
        check("name: a\ndescription: Use when: x\n", Some("name: a\ndescription: \"Use when: x\"\n"));
        check("description: \"Use when: x\"\n", None);
        check("description: see http://x\n", None);
        check("metadata:\n  a: b: c\n", None);
    }
}
