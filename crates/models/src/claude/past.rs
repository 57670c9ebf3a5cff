//! Hashes of the conversation. They are stored on disk and must stay stable across versions, so
//! their input format is defined here alone: every part preceded by its length.

use domain::context::Context;
use domain::conversation::{Block, Heard, Reach, Said};
use domain::tool::{Outcome, ToolResult};
use sha2::{Digest, Sha256};

use super::company::Mark;

/// The hashes of all prefixes of a context's stored entries, from the empty prefix on.
#[derive(Clone, Debug)]
pub struct Past(Vec<[u8; 32]>);

impl Past {
    /// Computes the hashes of `context`, without its transient entries.
    pub fn of(context: &Context) -> Self {
        let mut print = Print::default();
        let mut prints = vec![print.so_far()];
        for said in context.kept() {
            print.said(said);
            prints.push(print.so_far());
        }
        Self(prints)
    }

    /// Returns the number of entries.
    pub fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the mark of the first `count` entries.
    pub fn mark(&self, count: usize) -> Mark {
        let said = count.min(self.count());
        Mark { said, print: hex(&self.0[said]) }
    }

    /// Returns whether the history begins with the marked entries.
    pub fn begins_with(&self, mark: &Mark) -> bool {
        self.0.get(mark.said).is_some_and(|print| hex(print) == mark.print)
    }
}

/// Returns the hash of instructions.
pub fn instructions_print(instructions: &str) -> String {
    hex(&Sha256::digest(instructions).into())
}

fn hex(print: &[u8; 32]) -> String {
    print.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Default)]
struct Print(Sha256);

impl Print {
    fn so_far(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }

    fn said(&mut self, said: &Said) {
        match said {
            Said::Human(heard) => self.human(heard),
            Said::Assistant(blocks, reach) => {
                let reach = match reach {
                    Reach::Whole => "whole",
                    Reach::Cut => "cut",
                };
                self.parts(&["assistant", reach]);
                self.each(blocks, Self::block);
            }
            Said::Tools(results) => {
                self.parts(&["tools"]);
                self.each(results, Self::result);
            }
            Said::Summary(text) => self.parts(&["summary", text]),
            Said::Recalled(entry) => self.parts(&["recalled", &entry.0.to_string()]),
        }
    }

    fn human(&mut self, heard: &Heard) {
        self.parts(&["human", &heard.preface, &heard.text]);
        self.each(&heard.images, |print, image| print.parts(&[&image.media_type, &image.data]));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(text) => self.parts(&["text", text]),
            Block::Call(call) => self.parts(&["call", &call.id, &call.name, &call.input.0]),
            Block::Opaque(opaque) => self.parts(&["opaque", &opaque.json.0]),
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let outcome = match result.outcome {
            // Anything shown to the user with it is not sent to the model.
            Outcome::Done | Outcome::Shown(_) => "done",
            Outcome::Failed => "failed",
            Outcome::Denied => "denied",
        };
        self.parts(&[outcome, &result.call, &result.text]);
    }

    fn each<T>(&mut self, things: &[T], print: impl Fn(&mut Self, &T)) {
        self.number(things.len());
        things.iter().for_each(|thing| print(self, thing));
    }

    fn parts(&mut self, parts: &[&str]) {
        for part in parts {
            self.number(part.len());
            self.0.update(part);
        }
    }

    fn number(&mut self, number: usize) {
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

    fn past(said: Vec<Said>) -> Past {
        let said = said.into_iter().map(Arc::new).collect();
        let tools = Arc::from([]);
        let instructions = Arc::from("");
        Past::of(&Context {
            branch: Branch::Main,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools,
            instructions,
            said,
            notes: Vec::new(),
            aside: 0,
        })
    }

    /// Guards the stored format: a changed hash makes every session unusable.
    #[test]
    fn a_fingerprint_means_the_same_tomorrow() {
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
        let past = past(vec![
            Said::Summary("They like tea.".into()),
            Said::Human(Heard { preface: "[now]".into(), text: "hi".into(), images: vec![image] }),
            Said::Assistant(blocks, Reach::Whole),
            Said::Tools(vec![result]),
            Said::Recalled(EntryId(7)),
        ]);
        assert_eq!(past.mark(9), Mark { said: 5, print: EXPECTED.to_owned() });
    }

    const EXPECTED: &str = "dd44a8482e75e94c00c1cde170cb6d89cd85de054a56f06574fc8f134d8dad8f";

    #[test]
    fn what_differs_only_in_where_it_ends_has_another_fingerprint() {
        let human = |preface: &str, text: &str| {
            Said::Human(Heard { preface: preface.into(), text: text.into(), images: Vec::new() })
        };
        let words = |words: &[&str]| {
            Said::Assistant(words.iter().map(|word| Block::Text((*word).into())).collect(), Reach::Whole)
        };
        let check = |one: Said, other: Said| {
            assert!(!past(vec![other]).begins_with(&past(vec![one]).mark(1)));
        };
        check(human("ab", "c"), human("a", "bc"));
        check(words(&["ab", "c"]), words(&["a", "bc"]));
        check(words(&["a"]), Said::Assistant(vec![Block::Text("a".into())], Reach::Cut));
        check(Said::Summary("a".into()), human("", "a"));
    }
}
