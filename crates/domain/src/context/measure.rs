//! Reduces the conversation in a request to what the model accepts.
//!
//! A model that refuses pictures is asked again without them, and the summary of a conversation
//! that exceeds the context window is written from a shorter excerpt. The stored entries do not
//! change.

use std::sync::Arc;

use crate::conversation::{Block, Heard, Opaque, Said};
use crate::tool::ToolResult;

/// The longest text at level 1 in characters; each further level halves it.
const LONGEST: usize = 8_000;

/// The reduction of the entries in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    pub pictures: Pictures,
    /// The number of times that the request was shortened.
    pub shortened: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    #[default]
    None,
    Shown,
    LeftOut,
}

impl Measure {
    /// Returns the reduction that sends all of `said`.
    pub fn all(said: &[Arc<Said>]) -> Self {
        let shows = said.iter().any(|said| matches!(&**said, Said::Human(heard) if !heard.images.is_empty()));
        Self { pictures: if shows { Pictures::Shown } else { Pictures::None }, shortened: 0 }
    }

    /// Returns the reduced entries; `None` if nothing is left out.
    pub fn of(self, said: &[Arc<Said>]) -> Option<Vec<Arc<Said>>> {
        if self.shortened == 0 && self.pictures != Pictures::LeftOut {
            return None;
        }
        let newest = self.newest(said);
        let is_human = |said: &Arc<Said>| matches!(**said, Said::Human(_) | Said::Summary(_));
        let open = newest.iter().rposition(is_human).map_or(0, |human| human + 1);
        let cut = |(at, said): (usize, &Arc<Said>)| Arc::new(self.cut(said, at >= open));
        Some(newest.iter().enumerate().map(cut).collect())
    }

    /// Returns the newest part. It begins with a user message, because a tool result without its
    /// call is invalid.
    fn newest(self, said: &[Arc<Said>]) -> &[Arc<Said>] {
        let share = said.len() >> self.shortened.saturating_sub(1).min(63);
        let from = said.len() - share.max(1).min(said.len());
        let human = said[from..].iter().position(|said| matches!(**said, Said::Human(_)));
        &said[human.map_or(0, |human| from + human)..]
    }

    /// Reduces one entry. `in_tool_loop` says whether it belongs to the unfinished answer.
    fn cut(self, said: &Said, in_tool_loop: bool) -> Said {
        match said {
            Said::Human(heard) => Said::Human(self.cut_heard(heard)),
            Said::Assistant(blocks, reach) => {
                let cut = |block: &Block| match block {
                    Block::Text(text) => Some(Block::Text(self.cut_text(text))),
                    Block::Call(_) => Some(block.clone()),
                    // Anthropic binds signed parts to the messages before them, which are changed here.
                    Block::Opaque(opaque) if opaque.origin == Opaque::ANTHROPIC => None,
                    // Other servers refuse the results of a tool loop without the reasoning before the calls.
                    Block::Opaque(_) => in_tool_loop.then(|| block.clone()),
                };
                Said::Assistant(blocks.iter().filter_map(cut).collect(), *reach)
            }
            Said::Tools(results) => {
                let cut =
                    |result: &ToolResult| ToolResult { text: self.cut_text(&result.text), ..result.clone() };
                Said::Tools(results.iter().map(cut).collect())
            }
            Said::Summary(text) => Said::Summary(self.cut_text(text)),
            Said::Recalled(summary) => Said::Recalled(*summary),
        }
    }

    fn cut_heard(self, heard: &Heard) -> Heard {
        let preface = heard.preface.clone();
        let text = self.cut_text(&heard.text);
        match (self.pictures, heard.images.len()) {
            (Pictures::LeftOut, count @ 1..) => {
                let preface =
                    format!("{preface} [{count} of the human's pictures could not be shown to you]");
                Heard { preface, text, images: Vec::new() }
            }
            _ => Heard { preface, text, images: heard.images.clone() },
        }
    }

    fn cut_text(self, text: &str) -> String {
        if self.shortened == 0 {
            return text.to_owned();
        }
        let longest = LONGEST >> self.shortened.min(63);
        match text.char_indices().nth(longest) {
            Some((end, _)) => format!("{} [shortened]", &text[..end]),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Image, Json, Reach, Text};
    use crate::label::Label;
    use crate::tool::{Outcome, ToolCall};

    fn human(text: &str, images: Vec<Image>) -> Arc<Said> {
        Arc::new(Said::Human(Heard { preface: "[now]".to_owned(), text: text.to_owned(), images }))
    }

    #[test]
    fn all_of_it_is_read_as_it_stands() {
        let said = [human("hello", Vec::new())];
        assert_eq!((Measure::all(&said), Measure::all(&said).of(&said)), (Measure::default(), None));
    }

    #[test]
    fn a_picture_that_is_left_out_leaves_a_note() {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo".to_owned() };
        let said = [human("look", vec![image])];
        assert_eq!(Measure::all(&said).pictures, Pictures::Shown);
        let blind = Measure { pictures: Pictures::LeftOut, shortened: 0 }.of(&said).unwrap();
        let Said::Human(heard) = &*blind[0] else { panic!("the human") };
        assert!(heard.images.is_empty() && heard.preface.contains("1 of the human's pictures"), "{heard:?}");
    }

    fn reasons(origin: &str, id: &str) -> Arc<Said> {
        let opaque = Opaque { origin: origin.to_owned(), json: Json(format!("{id}-thoughts")) };
        let call = ToolCall { id: id.to_owned(), name: "note".to_owned(), input: Json("{}".to_owned()) };
        Arc::new(Said::Assistant(vec![Block::Opaque(opaque), Block::Call(call)], Reach::Whole))
    }

    fn results(id: &str) -> Arc<Said> {
        let text = String::new();
        let outcome = Outcome::Done;
        Arc::new(Said::Tools(vec![ToolResult { call: id.to_owned(), text, outcome, label: Label::PLAIN }]))
    }

    /// Returns the ids of the calls whose reasoning is still sent.
    fn with_reasoning(origin: &str) -> Vec<String> {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo".to_owned() };
        let said = [
            human("look", vec![image]),
            reasons(origin, "a"),
            results("a"),
            human("again", Vec::new()),
            reasons(origin, "b"),
            results("b"),
            reasons(origin, "c"),
            results("c"),
        ];
        let read = Measure { pictures: Pictures::LeftOut, shortened: 0 }.of(&said).unwrap();
        let kept = |said: &Arc<Said>| {
            let Said::Assistant(blocks, _) = &**said else { return None };
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
    fn each_shortening_reads_less_and_begins_with_the_human() {
        let long = "x".repeat(10_000);
        let said: Vec<Arc<Said>> = (0..16)
            .flat_map(|n| {
                let result = ToolResult {
                    call: n.to_string(),
                    text: long.clone(),
                    outcome: crate::tool::Outcome::Done,
                    label: crate::label::Label::PLAIN,
                };
                [human(&format!("{n} {long}"), Vec::new()), Arc::new(Said::Tools(vec![result]))]
            })
            .collect();
        let size = |shortened| {
            let read = Measure { shortened, ..Measure::default() }.of(&said).unwrap();
            assert!(matches!(*read[0], Said::Human(_)));
            read.iter().map(|said| said.text().len()).sum::<usize>()
        };
        let sizes: Vec<usize> = (1..=5).map(size).collect();
        assert!(sizes.windows(2).all(|two| two[1] * 3 < two[0]), "{sizes:?}");
    }
}
