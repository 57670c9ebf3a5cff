//! Reduces the conversation in a request to what the model accepts.
//!
//! A model that refuses pictures is asked again without them, and the summary of a conversation
//! that exceeds the context window is written from a shorter excerpt. The stored entries do not
//! change.

use std::sync::Arc;

use crate::conversation::{Block, EntryContent, Opaque, UserInput};
use crate::tool::ToolResult;

/// The longest text at level 1 in characters; each further level halves it.
const MAX_TEXT_CHARS: usize = 8_000;

/// The reduction of the entries in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    pub pictures: Pictures,
    /// The number of times that the request was shortened.
    pub level: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    #[default]
    None,
    Shown,
    LeftOut,
}

impl Reduction {
    /// Returns the reduction that sends all of `said`.
    pub fn none(said: &[Arc<EntryContent>]) -> Self {
        let shows =
            said.iter().any(|said| matches!(&**said, EntryContent::User(heard) if !heard.images.is_empty()));
        Self { pictures: if shows { Pictures::Shown } else { Pictures::None }, level: 0 }
    }

    /// Returns the reduced entries; `None` if nothing is left out.
    pub fn apply(self, said: &[Arc<EntryContent>]) -> Option<Vec<Arc<EntryContent>>> {
        if self.level == 0 && self.pictures != Pictures::LeftOut {
            return None;
        }
        let newest = self.newest_part(said);
        let is_human =
            |said: &Arc<EntryContent>| matches!(**said, EntryContent::User(_) | EntryContent::Summary(_));
        let open = newest.iter().rposition(is_human).map_or(0, |human| human + 1);
        let cut = |(at, said): (usize, &Arc<EntryContent>)| Arc::new(self.reduce(said, at >= open));
        Some(newest.iter().enumerate().map(cut).collect())
    }

    /// Returns the newest part. It begins with a user message, because a tool result without its
    /// call is invalid.
    fn newest_part(self, said: &[Arc<EntryContent>]) -> &[Arc<EntryContent>] {
        let share = said.len() >> self.level.saturating_sub(1).min(63);
        let from = said.len() - share.max(1).min(said.len());
        let human = said[from..].iter().position(|said| matches!(**said, EntryContent::User(_)));
        &said[human.map_or(0, |human| from + human)..]
    }

    /// Reduces one entry. `in_tool_loop` says whether it belongs to the unfinished answer.
    fn reduce(self, said: &EntryContent, in_tool_loop: bool) -> EntryContent {
        match said {
            EntryContent::User(heard) => EntryContent::User(self.reduce_input(heard)),
            EntryContent::Assistant(blocks, reach) => {
                let cut = |block: &Block| match block {
                    Block::Text(text) => Some(Block::Text(self.shorten(text))),
                    Block::Call(_) => Some(block.clone()),
                    // Anthropic binds signed parts to the messages before them, which are changed here.
                    Block::Opaque(opaque) if opaque.origin == Opaque::ANTHROPIC => None,
                    // Other servers refuse the results of a tool loop without the reasoning before the calls.
                    Block::Opaque(_) => in_tool_loop.then(|| block.clone()),
                };
                EntryContent::Assistant(blocks.iter().filter_map(cut).collect(), *reach)
            }
            EntryContent::Tools(results) => {
                let cut =
                    |result: &ToolResult| ToolResult { text: self.shorten(&result.text), ..result.clone() };
                EntryContent::Tools(results.iter().map(cut).collect())
            }
            EntryContent::Summary(text) => EntryContent::Summary(self.shorten(text)),
            EntryContent::SummaryRecalled(summary) => EntryContent::SummaryRecalled(*summary),
        }
    }

    fn reduce_input(self, heard: &UserInput) -> UserInput {
        let preface = heard.preface.clone();
        let text = self.shorten(&heard.text);
        match (self.pictures, heard.images.len()) {
            (Pictures::LeftOut, count @ 1..) => {
                let preface =
                    format!("{preface} [{count} of the human's pictures could not be shown to you]");
                UserInput { preface, text, images: Vec::new() }
            }
            _ => UserInput { preface, text, images: heard.images.clone() },
        }
    }

    fn shorten(self, text: &str) -> String {
        if self.level == 0 {
            return text.to_owned();
        }
        let longest = MAX_TEXT_CHARS >> self.level.min(63);
        match text.char_indices().nth(longest) {
            Some((end, _)) => format!("{} [shortened]", &text[..end]),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Completeness, Image, Json, Text};
    use crate::label::Label;
    use crate::tool::{Outcome, ToolCall};

    fn user_message(text: &str, images: Vec<Image>) -> Arc<EntryContent> {
        Arc::new(EntryContent::User(UserInput { preface: "[now]".to_owned(), text: text.to_owned(), images }))
    }

    #[test]
    fn no_reduction_keeps_all_entries() {
        let said = [user_message("hello", Vec::new())];
        assert_eq!(
            (Reduction::none(&said), Reduction::none(&said).apply(&said)),
            (Reduction::default(), None)
        );
    }

    #[test]
    fn omitted_picture_leaves_a_note() {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo".to_owned() };
        let said = [user_message("look", vec![image])];
        assert_eq!(Reduction::none(&said).pictures, Pictures::Shown);
        let blind = Reduction { pictures: Pictures::LeftOut, level: 0 }.apply(&said).unwrap();
        let EntryContent::User(heard) = &*blind[0] else { panic!("the human") };
        assert!(heard.images.is_empty() && heard.preface.contains("1 of the human's pictures"), "{heard:?}");
    }

    fn reasoning_call(origin: &str, id: &str) -> Arc<EntryContent> {
        let opaque = Opaque { origin: origin.to_owned(), json: Json(format!("{id}-thoughts")) };
        let call = ToolCall { id: id.to_owned(), name: "note".to_owned(), input: Json("{}".to_owned()) };
        Arc::new(EntryContent::Assistant(
            vec![Block::Opaque(opaque), Block::Call(call)],
            Completeness::Complete,
        ))
    }

    fn results(id: &str) -> Arc<EntryContent> {
        let text = String::new();
        let outcome = Outcome::Done;
        Arc::new(EntryContent::Tools(vec![ToolResult {
            call: id.to_owned(),
            text,
            outcome,
            label: Label::PLAIN,
        }]))
    }

    /// Returns the ids of the calls whose reasoning is still sent.
    fn with_reasoning(origin: &str) -> Vec<String> {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo".to_owned() };
        let said = [
            user_message("look", vec![image]),
            reasoning_call(origin, "a"),
            results("a"),
            user_message("again", Vec::new()),
            reasoning_call(origin, "b"),
            results("b"),
            reasoning_call(origin, "c"),
            results("c"),
        ];
        let read = Reduction { pictures: Pictures::LeftOut, level: 0 }.apply(&said).unwrap();
        let kept = |said: &Arc<EntryContent>| {
            let EntryContent::Assistant(blocks, _) = &**said else { return None };
            let [Block::Opaque(_), Block::Call(call)] = &blocks[..] else { return None };
            Some(call.id.clone())
        };
        read.iter().filter_map(kept).collect()
    }

    /// Anthropic's blocks are bound to the messages before them, which change. Other servers refuse
    /// the results of an open tool loop without the reasoning that led to its calls.
    #[test]
    fn reasoning_of_an_open_tool_loop_is_kept_for_servers_that_want_it_back() {
        assert_eq!(with_reasoning(Opaque::ANTHROPIC), [""; 0]);
        assert_eq!(with_reasoning("https://api.deepseek.com/v1 deepseek-v4"), ["b", "c"]);
    }

    #[test]
    fn each_level_is_shorter_and_begins_with_a_user_message() {
        let long = "x".repeat(10_000);
        let said: Vec<Arc<EntryContent>> = (0..16)
            .flat_map(|n| {
                let result = ToolResult {
                    call: n.to_string(),
                    text: long.clone(),
                    outcome: crate::tool::Outcome::Done,
                    label: crate::label::Label::PLAIN,
                };
                [
                    user_message(&format!("{n} {long}"), Vec::new()),
                    Arc::new(EntryContent::Tools(vec![result])),
                ]
            })
            .collect();
        let size = |shortened| {
            let read = Reduction { level: shortened, ..Reduction::default() }.apply(&said).unwrap();
            assert!(matches!(*read[0], EntryContent::User(_)));
            read.iter().map(|said| said.text().len()).sum::<usize>()
        };
        let sizes: Vec<usize> = (1..=5).map(size).collect();
        assert!(sizes.windows(2).all(|two| two[1] * 3 < two[0]), "{sizes:?}");
    }
}
