//! The note for the model about a message that the offline assistant left unanswered.

/// The most quoted characters.
const MAX_QUOTED_CHARS: usize = 2_000;

/// Returns the note: the messages before it were answered without the model, and `words` is still
/// unanswered.
pub fn unanswered_note(words: &str) -> String {
    let quoted: String = words.chars().take(MAX_QUOTED_CHARS).collect();
    format!(
        "[you could not be reached, and what stands above was answered without you. this is still unanswered, answer it \
         now: {quoted}]"
    )
}
