//! How much of the conversation one request holds: all of it, unless the model cannot take that.
//!
//! A model that refuses pictures is asked again without them, and a summary of a conversation that is longer
//! than the model reads is written from less of it. What was said stays as it is.

use std::sync::Arc;

use crate::conversation::{Block, Heard, Said};
use crate::tool::ToolResult;

/// The longest text at the first shortening, in characters; each one halves it.
const LONGEST: usize = 8_000;

/// How much of what was said is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Whether pictures are.
    pub pictures: Pictures,
    /// How often it was shortened.
    pub shortened: u32,
}

/// Whether pictures are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    /// There are none.
    #[default]
    None,
    /// They are.
    Shown,
    /// They are left out.
    LeftOut,
}

impl Measure {
    /// All of `said`.
    pub fn all(said: &[Arc<Said>]) -> Self {
        let shows = said.iter().any(|said| matches!(&**said, Said::Human(heard) if !heard.images.is_empty()));
        Self { pictures: if shows { Pictures::Shown } else { Pictures::None }, shortened: 0 }
    }

    /// What of `said` is read; nothing, if that is all of it.
    pub fn of(self, said: &[Arc<Said>]) -> Option<Vec<Arc<Said>>> {
        if self.shortened == 0 && self.pictures != Pictures::LeftOut {
            return None;
        }
        Some(self.newest(said).iter().map(|said| Arc::new(self.cut(said))).collect())
    }

    /// The newest part, from words of the human on: a result without its call could not be read.
    fn newest(self, said: &[Arc<Said>]) -> &[Arc<Said>] {
        let share = said.len() >> self.shortened.saturating_sub(1).min(63);
        let from = said.len() - share.max(1).min(said.len());
        let human = said[from..].iter().position(|said| matches!(**said, Said::Human(_)));
        &said[human.map_or(0, |human| from + human)..]
    }

    fn cut(self, said: &Said) -> Said {
        match said {
            Said::Human(heard) => Said::Human(self.cut_heard(heard)),
            Said::Assistant(blocks, reach) => {
                let cut = |block: &Block| match block {
                    Block::Text(text) => Some(Block::Text(self.cut_text(text))),
                    Block::Call(_) => Some(block.clone()),
                    // Signed parts are bound to the messages before them, which are changed here.
                    Block::Opaque(_) => None,
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
        let (preface, text) = (heard.preface.clone(), self.cut_text(&heard.text));
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
    use crate::conversation::{Image, Text};

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
