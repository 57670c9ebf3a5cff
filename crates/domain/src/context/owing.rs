//! What the model reads when it comes back and something is still unanswered.

/// The most characters of the words that are quoted.
const QUOTED: usize = 2_000;

/// That the words before this were answered without the model, and what still waits for it.
pub fn still_owed(words: &str) -> String {
    let quoted: String = words.chars().take(QUOTED).collect();
    format!(
        "[you could not be reached, and what stands above was answered without you. this is still unanswered, answer it \
         now: {quoted}]"
    )
}
