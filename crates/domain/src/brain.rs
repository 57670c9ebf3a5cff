//! The offline brain: what plain words mean when no model is there to read them.
//!
//! Deterministic, and honest about what it is: it never pretends to converse. What it does not understand
//! it keeps, so that nothing the human says is lost.

/// What the human meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A greeting.
    Greeting,
    /// Thanks.
    Thanks,
    /// What can you do?
    Help,
    /// How do things stand?
    Status,
    /// What did I tell you?
    Inbox,
    /// Keep this, plainly asked for.
    Keep(String),
    /// Something with a time, which it can only keep for now.
    Remind(String),
    /// Anything else.
    Unclear,
}

const GREETINGS: [&str; 12] = [
    "hi",
    "hello",
    "hey",
    "hiya",
    "yo",
    "moin",
    "hallo",
    "good morning",
    "good afternoon",
    "good evening",
    "morning",
    "hi there",
];
const THANKS: [&str; 6] = ["thanks", "thank you", "thx", "ty", "cheers", "great"];
const HELP: [&str; 8] = [
    "help",
    "?",
    "/help",
    "what can you do",
    "what do you do",
    "who are you",
    "how does this work",
    "what are you",
];
const STATUS: [&str; 5] = ["status", "/status", "how are you", "how is it going", "are you there"];
const INBOX: [&str; 9] = [
    "inbox",
    "/inbox",
    "list",
    "list inbox",
    "show inbox",
    "what's in my inbox",
    "whats in my inbox",
    "what did i tell you",
    "what do you remember",
];
const KEEP: [&str; 10] = [
    "remember that ",
    "remember: ",
    "remember to ",
    "remember ",
    "note: ",
    "note ",
    "keep: ",
    "keep ",
    "add: ",
    "todo: ",
];

/// Reads what the human wrote.
pub fn read(text: &str) -> Meant {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words.to_lowercase();
    let plain = said.trim_end_matches(['.', '!', '?', ' ', ',']);
    let plain = if plain.is_empty() { said.as_str() } else { plain };
    let is = |list: &[&str]| list.contains(&plain);
    if is(&GREETINGS) {
        return Meant::Greeting;
    }
    if is(&THANKS) {
        return Meant::Thanks;
    }
    if is(&HELP) || said == "?" {
        return Meant::Help;
    }
    if is(&STATUS) {
        return Meant::Status;
    }
    if is(&INBOX) {
        return Meant::Inbox;
    }
    if said.starts_with("remind me ") {
        return Meant::Remind(words);
    }
    match kept(&words) {
        Some(rest) => Meant::Keep(rest.to_owned()),
        None => Meant::Unclear,
    }
}

/// What follows a word that asks to keep it.
fn kept(words: &str) -> Option<&str> {
    let after = |lead: &&str| {
        let head = words.get(..lead.len())?;
        let rest = words[lead.len()..].trim();
        (head.eq_ignore_ascii_case(lead) && !rest.is_empty()).then_some(rest)
    };
    KEEP.iter().find_map(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_mean_what_people_mean_by_them() {
        let check = |text: &str, meant: Meant| assert_eq!(read(text), meant, "{text}");
        check("Hello!", Meant::Greeting);
        check("  good   morning ", Meant::Greeting);
        check("thanks.", Meant::Thanks);
        check("?", Meant::Help);
        check("What can you do?", Meant::Help);
        check("status", Meant::Status);
        check("What's in my inbox?", Meant::Inbox);
        check("remember: locker 214", Meant::Keep("locker 214".to_owned()));
        check("Remember that Tom likes figs", Meant::Keep("Tom likes figs".to_owned()));
        check("remind me to stretch at 3", Meant::Remind("remind me to stretch at 3".to_owned()));
        check("remember", Meant::Unclear);
        check("hello there, can you plan my trip?", Meant::Unclear);
        check("🦀", Meant::Unclear);
        check("nöte: x", Meant::Unclear);
    }
}
