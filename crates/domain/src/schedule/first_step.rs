//! First steps of a task: written in its text after `first step:`, or a generic one.

/// The marker before a first step.
const MARKER: &str = "first step:";
/// Generic first steps, each one or two minutes long.
const GENERIC_STEPS: [&str; 4] = [
    "put what it needs in front of you.",
    "open the one thing it begins with, nothing more.",
    "two minutes of it. stopping then is fine.",
    "find out what it needs. that is all.",
];

/// The first step in `words`, as in `call the dentist, first step: look up the number`.
pub fn first_step(words: &str) -> Option<&str> {
    let (_, after) = split_at_marker(words)?;
    Some(after.lines().next().unwrap_or_default().trim()).filter(|step| !step.is_empty())
}

/// Returns `words` without the first step.
pub fn without_step(words: &str) -> &str {
    match split_at_marker(words) {
        Some((before, _)) if !before.is_empty() => before,
        Some(_) | None => words,
    }
}

/// A generic first step for a text without one, chosen by its content.
pub fn generic_step(words: &str) -> &'static str {
    let sum: usize = words.bytes().map(usize::from).sum();
    GENERIC_STEPS.get(sum % GENERIC_STEPS.len()).copied().unwrap_or_default()
}

/// The text before and after the marker, if it begins a clause.
fn split_at_marker(words: &str) -> Option<(&str, &str)> {
    let places = words.as_bytes().windows(MARKER.len()).enumerate();
    let found = places.filter(|(_, window)| window.eq_ignore_ascii_case(MARKER.as_bytes()));
    found.filter_map(|(at, _)| words.split_at_checked(at)).find_map(|(before, after)| {
        let line = before.trim_end_matches([' ', '\t']);
        let begins = line.is_empty() || line.ends_with(['\n', ',', ';', '.', '!', '(', '·', '-', '–', '—']);
        let before =
            line.trim_end_matches(|letter: char| !letter.is_alphanumeric() && !"\"'”’)?!".contains(letter));
        begins.then(|| (before, after.get(MARKER.len()..).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first step is extracted after its marker, and the rest is the task.
    #[test]
    fn the_first_step_follows_its_marker() {
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

    /// Generic first steps have at most twelve words and vary with the text.
    #[test]
    fn generic_steps_are_short_and_vary() {
        let steps: Vec<&str> = ["a", "b", "c", "d"].map(generic_step).to_vec();
        assert!(GENERIC_STEPS.iter().all(|step| steps.contains(step)), "{steps:?}");
        assert!(GENERIC_STEPS.iter().all(|step| step.split(' ').count() <= 12));
    }
}
