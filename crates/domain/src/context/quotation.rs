//! Quotes the message that the user replies to.

use crate::conversation::{EntryContent, Text};
use crate::embed::{Embed, Field};
use crate::tool::{Outcome, ShownContent};

/// The most quoted characters.
pub const MAX_QUOTE_CHARS: usize = 500;

/// MT-12: Returns the text of a message, or the text of its first embed.
pub fn message_text(said: &EntryContent) -> String {
    match said {
        EntryContent::User(_)
        | EntryContent::Assistant(..)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => said.text(),
        EntryContent::Tools(results) => {
            let shown = results.iter().filter_map(|result| match &result.outcome {
                Outcome::Shown(showing) => Some(showing),
                Outcome::Done | Outcome::Failed | Outcome::Denied => None,
            });
            let shown: Vec<&ShownContent> = shown.collect();
            let words = shown.iter().find_map(|showing| match showing {
                ShownContent::Text(text) => Some(text.clone()),
                ShownContent::Embed(_) => None,
            });
            let embed = || {
                shown.iter().find_map(|showing| match showing {
                    ShownContent::Embed(embed) => Some(embed_text(embed)),
                    ShownContent::Text(_) => None,
                })
            };
            words.or_else(embed).unwrap_or_default()
        }
    }
}

fn embed_text(embed: &Embed) -> String {
    let bold = |text: &str| (!text.is_empty()).then(|| format!("**{text}**"));
    let field = |field: &Field| Some(format!("**{}**: {}", field.name, field.value));
    let description = Some(embed.description.clone()).filter(|text| !text.is_empty());
    let parts = [bold(&embed.title), description].into_iter().chain(embed.fields.iter().map(field));
    parts.flatten().collect::<Vec<_>>().join("\n")
}

/// MT-12, MT-13: Returns `words` as a quotation with a blank line after it; empty for an empty
/// text.
pub fn quotation(words: &str) -> String {
    if words.trim().is_empty() {
        return String::new();
    }
    let cut = match words.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words.to_owned(),
    };
    cut.lines().map(|line| format!("> {line}\n")).collect::<String>() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Block, Completeness, UserInput};
    use crate::embed::FieldLayout;
    use crate::tool::ToolResult;

    fn shown(showings: Vec<ShownContent>) -> EntryContent {
        let result = |showing| {
            let call = "a".to_owned();
            let text = "Embed sent.".to_owned();
            ToolResult { call, text, outcome: Outcome::Shown(showing), label: crate::label::Label::PLAIN }
        };
        EntryContent::Tools(showings.into_iter().map(result).collect())
    }

    /// MT-12: Plain text comes first, then the first embed; text that only the model reads is left
    /// out.
    #[test]
    fn message_text_comes_before_embed_text() {
        let field =
            Field { name: "15:00".to_owned(), value: "dentist".to_owned(), layout: FieldLayout::Inline };
        let embed = Embed { description: "two things".to_owned(), ..Embed::with_title("Today") };
        let embed = Embed { fields: vec![field.clone(), field], ..embed };
        let today = "**Today**\ntwo things\n**15:00**: dentist\n**15:00**: dentist";
        let second = ShownContent::Embed(Embed::with_title("Later"));
        assert_eq!(message_text(&shown(vec![ShownContent::Embed(embed.clone()), second])), today);
        assert_eq!(message_text(&shown(vec![ShownContent::Embed(Embed::with_title("Bare"))])), "**Bare**");
        let both = shown(vec![ShownContent::Embed(embed), ShownContent::Text("get up".to_owned())]);
        assert_eq!(message_text(&both), "get up");
        let heard = UserInput { preface: "[now]".to_owned(), text: "hello".to_owned(), images: Vec::new() };
        assert_eq!(message_text(&EntryContent::User(heard)), "hello");
        let answer = EntryContent::Assistant(vec![Block::Text("hi".to_owned())], Completeness::Complete);
        assert_eq!(message_text(&answer), "hi");
        assert_eq!(message_text(&shown(Vec::new())), "");
    }

    /// MT-12, MT-13: Every line is quoted, and the text is cut after 500 whole characters.
    #[test]
    fn quotation_is_cut_and_marks_every_line() {
        assert_eq!(quotation("a\n\nb"), "> a\n> \n> b\n\n");
        assert_eq!(quotation(" \n"), "");
        assert_eq!(quotation(&"ü".repeat(500)), format!("> {}\n\n", "ü".repeat(500)));
        assert_eq!(quotation(&"𝄞".repeat(501)), format!("> {}...\n\n", "𝄞".repeat(500)));
    }
}
