//! Formats the coverage as a table, a section, a list, or JSON.

use serde_json::json;

use super::Coverage;
use super::catalogue::Section;

/// Formats one line per section, with the ids without a test below.
pub fn format_table(coverage: &Coverage) -> String {
    let mut text = String::new();
    let mut group = "";
    let mut proven = 0;
    let mut all = 0;
    for section in coverage.catalogue.sections() {
        if section.group != group {
            group = &section.group;
            text.push_str(&format!("{group}\n"));
        }
        let missing = without_test(coverage, section);
        let covered = section.ids.len() - missing.len();
        (proven, all) = (proven + covered, all + section.ids.len());
        text.push_str(&format!(
            "  {:<4}{covered:>3}/{:<3} {}\n",
            section.prefix,
            section.ids.len(),
            section.title
        ));
        if !missing.is_empty() {
            text.push_str(&format!("             without a test: {}\n", format_ranges(section, &missing)));
        }
    }
    text + &format!("{proven} of {all} requirements have a test\n")
}

/// Formats each id with its tests.
pub fn format_section(coverage: &Coverage) -> String {
    let mut text = String::new();
    for section in coverage.catalogue.sections() {
        let covered = section.ids.len() - without_test(coverage, section).len();
        text.push_str(&format!("{} {covered}/{} {}\n", section.prefix, section.ids.len(), section.title));
        for id in &section.ids {
            let tests = coverage.tests.get(id).map(|tests| tests.iter().cloned().collect::<Vec<_>>());
            let tests = tests.map_or_else(|| "-".into(), |tests| tests.join("\n          "));
            text.push_str(&format!("  {id:<7} {tests}\n"));
        }
    }
    text
}

/// Formats the ids without a test, one per line.
pub fn format_missing(coverage: &Coverage) -> String {
    let mut ids = coverage.catalogue.sections().flat_map(|section| without_test(coverage, section));
    let first = ids.next().map(|id| format!("{id}\n")).unwrap_or_default();
    ids.fold(first, |text, id| text + id + "\n")
}

/// Formats everything as JSON.
pub fn format_json(coverage: &Coverage) -> anyhow::Result<String> {
    let sections: Vec<_> = coverage
        .catalogue
        .sections()
        .map(|section| {
            let missing = without_test(coverage, section);
            let tests: serde_json::Map<_, _> = section
                .ids
                .iter()
                .filter_map(|id| Some((id.clone(), json!(coverage.tests.get(id)?))))
                .collect();
            json!({
                "group": section.group,
                "section": section.prefix,
                "title": section.title,
                "total": section.ids.len(),
                "covered": section.ids.len() - missing.len(),
                "missing": missing,
                "tests": tests,
            })
        })
        .collect();
    Ok(serde_json::to_string_pretty(&json!({ "sections": sections, "unknown": coverage.complaints() }))?)
}

fn without_test<'a>(coverage: &Coverage, section: &'a Section) -> Vec<&'a str> {
    section.ids.iter().map(String::as_str).filter(|id| !coverage.tests.contains_key(*id)).collect()
}

/// Joins neighbours of a section: `SE-1..SE-4, SE-7`.
fn format_ranges(section: &Section, ids: &[&str]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, id) in section.ids.iter().enumerate() {
        if !ids.contains(&id.as_str()) {
            continue;
        }
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => runs.push((at, at)),
        }
    }
    let name = |(first, last): &(usize, usize)| match last - first {
        0 => section.ids[*first].clone(),
        _ => format!("{}..{}", section.ids[*first], section.ids[*last]),
    };
    runs.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Catalogue;
    use super::*;
    use crate::source_files::SourceFile;

    fn coverage() -> Coverage {
        let list = Catalogue::parse("[behaviour]\nSE 1-5 Sessions\n[reliability]\nA 1 Time\n").unwrap();
        let text = ["/// SE-3: so.", "#[test]", "fn it_is_so() {}"].join("\n");
        Coverage::compute(list, &[SourceFile::new("a.rs", text)])
    }

    #[test]
    fn table_lists_ids_without_a_test() {
        let table = format_table(&coverage());
        assert!(
            table.contains("  SE    1/5   Sessions\n             without a test: SE-1..SE-2, SE-4..SE-5\n"),
            "{table}"
        );
        assert!(table.ends_with("1 of 6 requirements have a test\n"), "{table}");
    }

    #[test]
    fn section_lists_the_tests_of_each_id() {
        let text = format_section(&coverage());
        assert!(text.contains("  SE-2    -\n  SE-3    a.rs::it_is_so\n"), "{text}");
    }

    #[test]
    fn missing_ids_are_one_per_line() {
        assert_eq!(format_missing(&coverage()), "SE-1\nSE-2\nSE-4\nSE-5\nA1\n");
    }

    #[test]
    fn json_has_the_same_content() {
        let value: serde_json::Value = serde_json::from_str(&format_json(&coverage()).unwrap()).unwrap();
        assert_eq!(value["sections"][0]["covered"], 1);
        assert_eq!(value["sections"][0]["tests"]["SE-3"][0], "a.rs::it_is_so");
        assert_eq!(value["sections"][1]["missing"][0], "A1");
    }
}
