//! Recognizes questions and statements, in which a time does not request a reminder.

const QUESTION_WORDS: [&str; 28] = [
    "what", "what's", "whats", "when", "when's", "where", "where's", "who", "who's", "why", "how", "how's",
    "which", "should", "is", "are", "was", "were", "do", "does", "did", "will", "would", "can", "could",
    "may", "am", "has",
];
const STATEMENT_SUBJECTS: [&str; 9] = ["i", "we", "he", "she", "they", "it", "you", "that", "this"];
const STATEMENT_VERBS: [&str; 34] = [
    "was", "were", "had", "went", "did", "met", "got", "saw", "ate", "slept", "woke", "came", "left",
    "forgot", "finished", "called", "said", "told", "made", "took", "missed", "sat", "am", "feel", "felt",
    "think", "thought", "hate", "love", "didn't", "haven't", "wasn't", "can't", "ran",
];

/// Returns whether the text begins like a question.
pub(super) fn is_question(text: &str) -> bool {
    let first = text.split([' ', ',']).next().unwrap_or_default().to_ascii_lowercase();
    QUESTION_WORDS.contains(&first.as_str())
}

/// Returns whether the text is about the past or about how the user feels.
pub(super) fn is_statement(text: &str) -> bool {
    let lower = unquoted(text).to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let teller = |word: &&str| STATEMENT_SUBJECTS.contains(word);
    let told = match words[..] {
        [first, second, ..] => teller(&first) && STATEMENT_VERBS.contains(&second),
        [..] => false,
    };
    told || lower.starts_with("i'm ")
        || words.iter().any(|word| ["was", "were", "wasn't", "weren't"].contains(word))
}

/// The text without double-quoted parts.
fn unquoted(text: &str) -> String {
    text.split('"').step_by(2).collect()
}
