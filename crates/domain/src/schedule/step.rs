//! First steps: the smallest thing to begin with, as somebody wrote it down, or one that fits anything.

/// What stands before a first step.
const MARK: &str = "first step:";
/// How one can begin with anything, in a minute or two.
const ANY: [&str; 4] = [
    "put what it needs in front of you.",
    "open the one thing it begins with, nothing more.",
    "two minutes of it. stopping then is fine.",
    "find out what it needs. that is all.",
];

/// The first step in `words`, as in `call the dentist, first step: look up the number`.
pub fn first_step(words: &str) -> Option<&str> {
    let (_, after) = around(words)?;
    Some(after.lines().next().unwrap_or_default().trim()).filter(|step| !step.is_empty())
}

/// `words` up to where they say the first step.
pub fn without_step(words: &str) -> &str {
    match around(words) {
        Some((before, _)) if !before.is_empty() => before,
        Some(_) | None => words,
    }
}

/// A first step for `words` that name none.
pub fn any_step(words: &str) -> &'static str {
    let sum: usize = words.bytes().map(usize::from).sum();
    ANY.get(sum % ANY.len()).copied().unwrap_or_default()
}

/// What stands before the mark and after it, if it stands at the beginning of a part of a sentence.
fn around(words: &str) -> Option<(&str, &str)> {
    let places = words.as_bytes().windows(MARK.len()).enumerate();
    let found = places.filter(|(_, window)| window.eq_ignore_ascii_case(MARK.as_bytes()));
    found.filter_map(|(at, _)| words.split_at_checked(at)).find_map(|(before, after)| {
        let line = before.trim_end_matches([' ', '\t']);
        let begins = line.is_empty() || line.ends_with(['\n', ',', ';', '.', '!', '(', '·', '-', '–', '—']);
        let before =
            line.trim_end_matches(|letter: char| !letter.is_alphanumeric() && !"\"'”’)?!".contains(letter));
        begins.then(|| (before, after.get(MARK.len()..).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first step is found where it was written, and the rest is what it is for.
    #[test]
    fn a_first_step_is_what_stands_after_its_mark() {
        let check = |words: &str, before: &str, step: Option<&str>| {
            assert_eq!((without_step(words), first_step(words)), (before, step), "{words}");
        };
        check("call mum, first step: find her number", "call mum", Some("find her number"));
        check("call mum\nFirst step: find \"Mum\"\nand more", "call mum", Some("find \"Mum\""));
        check("taxes (urgent) - first step: a folder", "taxes (urgent)", Some("a folder"));
        check("zahnärztin; first step: öffne die liste", "zahnärztin", Some("öffne die liste"));
        check("call mum", "call mum", None);
        check("what is the first step: nobody knows", "what is the first step: nobody knows", None);
        check("call mum, first step:  ", "call mum", None);
        check("first step: shoes on", "first step: shoes on", Some("shoes on"));
    }

    /// What names no first step gets one of at most twelve words, and not always the same.
    #[test]
    fn anything_can_be_begun_with() {
        let steps: Vec<&str> = ["a", "b", "c", "d"].map(any_step).to_vec();
        assert!(ANY.iter().all(|step| steps.contains(step)), "{steps:?}");
        assert!(ANY.iter().all(|step| step.split(' ').count() <= 12));
    }
}
