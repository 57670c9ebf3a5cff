//! The list of all requirements: sections of numbered ids, in the format of
//! `docs/requirements.txt`.

use anyhow::{Context, bail, ensure};

/// All sections, in the order of the list.
#[derive(Clone, Debug)]
pub struct Catalogue(Vec<Section>);

/// One section of the list.
#[derive(Clone, Debug)]
pub struct Section {
    /// The part of the list: `behaviour` or `reliability`.
    pub group: String,
    /// The prefix of all its ids.
    pub prefix: String,
    pub title: String,
    /// Its ids, in order.
    pub ids: Vec<String>,
}

impl Catalogue {
    /// Parses the list.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut group = None;
        let mut sections: Vec<Section> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                group = Some(name.to_owned());
                continue;
            }
            let context = || format!("line {} of the list of requirements", at + 1);
            let group =
                group.as_deref().context("a section needs a `[group]` above it").with_context(context)?;
            let section = Section::parse(group, line).with_context(context)?;
            ensure!(
                sections.iter().all(|other| other.prefix != section.prefix),
                "the section {} stands in the list twice",
                section.prefix
            );
            sections.push(section);
        }
        Ok(Self(sections))
    }

    /// Returns whether `id` is in the list.
    pub fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|section| section.ids.iter().any(|known| known == id))
    }

    /// All sections.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.0.iter()
    }

    /// Returns the list with only one section.
    pub fn section_only(&self, letters: &str) -> anyhow::Result<Self> {
        match self.0.iter().find(|section| section.prefix.eq_ignore_ascii_case(letters)) {
            Some(section) => Ok(Self(vec![section.clone()])),
            None => {
                let known: Vec<_> = self.0.iter().map(|section| section.prefix.as_str()).collect();
                bail!("there is no section {letters}; there are {}", known.join(" "))
            }
        }
    }
}

impl Section {
    /// Parses `DD 1-56 Data directory and files`, or `I 1-3,3b,4-14 Authority`.
    fn parse(group: &str, line: &str) -> anyhow::Result<Self> {
        let mut words = line.splitn(3, ' ');
        let (Some(letters), Some(numbers), Some(title)) = (words.next(), words.next(), words.next()) else {
            bail!("`{line}` is not letters, numbers and a title");
        };
        ensure!(letters.chars().all(|c| c.is_ascii_uppercase()), "`{letters}` are not capital letters");
        // Ids of the behaviour part have a hyphen, those of the reliability part have none.
        let hyphen = if group == "behaviour" { "-" } else { "" };
        let mut ids = Vec::new();
        for part in numbers.split(',') {
            for number in
                expand_numbers(part).with_context(|| format!("`{part}` is no number and no range"))?
            {
                ids.push(format!("{letters}{hyphen}{number}"));
            }
        }
        Ok(Self { group: group.into(), prefix: letters.into(), title: title.into(), ids })
    }
}

/// Expands `7`, `3b` or `1-56` to numbers.
fn expand_numbers(part: &str) -> Option<Vec<String>> {
    if let Some((first, last)) = part.split_once('-') {
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        return (first <= last).then(|| (first..=last).map(|n| n.to_string()).collect());
    }
    let digits = part.trim_end_matches(|c: char| c.is_ascii_lowercase());
    digits.parse::<u32>().ok()?;
    (part.len() - digits.len() <= 1).then(|| vec![part.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_suffixed_numbers_expand() {
        let list = Catalogue::parse(
            "# Words.\n[behaviour]\nSE 1-2,5 Sessions\n\n[reliability]\nI 3,3b,4 Authority\n",
        );
        let ids: Vec<_> = list.unwrap().sections().flat_map(|section| section.ids.clone()).collect();
        assert_eq!(ids, ["SE-1", "SE-2", "SE-5", "I3", "I3b", "I4"]);
    }

    #[test]
    fn invalid_list_is_refused() {
        for text in [
            "SE 1-2 No group",
            "[behaviour]\nSE 2-1 Backwards",
            "[behaviour]\nSE one Words",
            "[behaviour]\nSE 1",
            "[behaviour]\nse 1 Small",
            "[behaviour]\nSE 1 Once\nSE 2 Twice",
        ] {
            assert!(Catalogue::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_section_can_be_selected() {
        let list = Catalogue::parse("[behaviour]\nSE 1-2 Sessions\nDD 1 Files\n").unwrap();
        assert!(list.section_only("dd").unwrap().contains("DD-1"));
        assert!(!list.section_only("DD").unwrap().contains("SE-1"));
        assert!(list.section_only("XX").unwrap_err().to_string().contains("SE DD"));
    }
}
