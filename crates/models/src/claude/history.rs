//! Hashes of the conversation. They are stored on disk and must stay stable across versions, so
//! their input format is defined here alone: every part preceded by its length.

use domain::context::Context;
use domain::conversation::{Block, Completeness, EntryContent, UserInput};
use domain::tool::{Outcome, ToolResult};
use sha2::{Digest, Sha256};

use super::callbacks::HistoryMark;

/// The hashes of all prefixes of a context's stored entries, from the empty prefix on.
#[derive(Clone, Debug)]
pub struct HistoryHashes(Vec<[u8; 32]>);

impl HistoryHashes {
    /// Computes the hashes of `context`, without its transient entries.
    pub fn of(context: &Context) -> Self {
        let mut hasher = HistoryHasher::default();
        let mut hashes = vec![hasher.current()];
        for entry in context.stored_entries() {
            hasher.add_entry(entry);
            hashes.push(hasher.current());
        }
        Self(hashes)
    }

    /// Returns the number of entries.
    pub fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the mark of the first `count` entries.
    pub fn mark(&self, count: usize) -> HistoryMark {
        let count = count.min(self.count());
        HistoryMark { count, hash: hex(&self.0[count]) }
    }

    /// Returns whether the history begins with the marked entries.
    pub fn starts_with(&self, mark: &HistoryMark) -> bool {
        self.0.get(mark.count).is_some_and(|hash| hex(hash) == mark.hash)
    }
}

/// Returns the hash of instructions.
pub fn instructions_hash(instructions: &str) -> String {
    hex(&Sha256::digest(instructions).into())
}

fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Default)]
struct HistoryHasher(Sha256);

impl HistoryHasher {
    fn current(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }

    fn add_entry(&mut self, entry: &EntryContent) {
        match entry {
            EntryContent::User(heard) => self.add_user_input(heard),
            EntryContent::Assistant(blocks, completeness) => {
                let completeness = match completeness {
                    Completeness::Complete => "whole",
                    Completeness::Interrupted => "cut",
                };
                self.add_parts(&["assistant", completeness]);
                self.add_list(blocks, Self::add_block);
            }
            EntryContent::Tools(results) => {
                self.add_parts(&["tools"]);
                self.add_list(results, Self::add_result);
            }
            EntryContent::Summary(text) => self.add_parts(&["summary", text]),
            EntryContent::SummaryRecalled(entry) => self.add_parts(&["recalled", &entry.0.to_string()]),
        }
    }

    fn add_user_input(&mut self, input: &UserInput) {
        self.add_parts(&["human", &input.preface, &input.text]);
        self.add_list(&input.images, |print, image| print.add_parts(&[&image.media_type, &image.data]));
    }

    fn add_block(&mut self, block: &Block) {
        match block {
            Block::Text(text) => self.add_parts(&["text", text]),
            Block::Call(call) => self.add_parts(&["call", &call.id, &call.name, &call.input.0]),
            Block::Opaque(opaque) => self.add_parts(&["opaque", &opaque.json.0]),
        }
    }

    fn add_result(&mut self, result: &ToolResult) {
        let outcome = match result.outcome {
            // Anything shown to the user with it is not sent to the model.
            Outcome::Done | Outcome::Shown(_) => "done",
            Outcome::Failed => "failed",
            Outcome::Denied => "denied",
        };
        self.add_parts(&[outcome, &result.call, &result.text]);
    }

    fn add_list<T>(&mut self, items: &[T], add: impl Fn(&mut Self, &T)) {
        self.add_length(items.len());
        items.iter().for_each(|item| add(self, item));
    }

    fn add_parts(&mut self, parts: &[&str]) {
        for part in parts {
            self.add_length(part.len());
            self.0.update(part);
        }
    }

    fn add_length(&mut self, number: usize) {
        self.0.update(u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::conversation::{Branch, EntryId, Image, Json, Opaque};
    use domain::effort::Effort;
    use domain::thinking::Thinking;
    use domain::tool::ToolCall;

    use super::*;

    fn history(said: Vec<EntryContent>) -> HistoryHashes {
        let said = said.into_iter().map(Arc::new).collect();
        let tools = Arc::from([]);
        let instructions = Arc::from("");
        HistoryHashes::of(&Context {
            branch: Branch::Main,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools,
            instructions,
            entries: said,
            notes: Vec::new(),
            transient_count: 0,
        })
    }

    /// Guards the stored format: a changed hash makes every session unusable.
    #[test]
    fn history_hash_is_stable() {
        let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        let call = ToolCall { id: "t1".into(), name: "note".into(), input: Json("{}".into()) };
        let result = ToolResult {
            call: "t1".into(),
            text: "noted".into(),
            outcome: Outcome::Done,
            label: domain::label::Label::PLAIN,
        };
        let blocks =
            vec![Block::Opaque(Opaque::anthropic("{}")), Block::Text("hm".into()), Block::Call(call)];
        let past = history(vec![
            EntryContent::Summary("They like tea.".into()),
            EntryContent::User(UserInput { preface: "[now]".into(), text: "hi".into(), images: vec![image] }),
            EntryContent::Assistant(blocks, Completeness::Complete),
            EntryContent::Tools(vec![result]),
            EntryContent::SummaryRecalled(EntryId(7)),
        ]);
        assert_eq!(past.mark(9), HistoryMark { count: 5, hash: EXPECTED.to_owned() });
    }

    const EXPECTED: &str = "dd44a8482e75e94c00c1cde170cb6d89cd85de054a56f06574fc8f134d8dad8f";

    #[test]
    fn moved_text_boundaries_change_the_hash() {
        let human = |preface: &str, text: &str| {
            EntryContent::User(UserInput { preface: preface.into(), text: text.into(), images: Vec::new() })
        };
        let words = |words: &[&str]| {
            EntryContent::Assistant(
                words.iter().map(|word| Block::Text((*word).into())).collect(),
                Completeness::Complete,
            )
        };
        let check = |one: EntryContent, other: EntryContent| {
            assert!(!history(vec![other]).starts_with(&history(vec![one]).mark(1)));
        };
        check(human("ab", "c"), human("a", "bc"));
        check(words(&["ab", "c"]), words(&["a", "bc"]));
        check(
            words(&["a"]),
            EntryContent::Assistant(vec![Block::Text("a".into())], Completeness::Interrupted),
        );
        check(EntryContent::Summary("a".into()), human("", "a"));
    }
}
