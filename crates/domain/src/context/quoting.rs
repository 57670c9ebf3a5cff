//! Quotes the message that the user replies to.

use crate::conversation::{Said, Text};
use crate::embed::{Embed, Field};
use crate::tool::{Outcome, Showing};

/// The most quoted characters.
pub const QUOTE_CHARS: usize = 500;

/// MT-12: Returns the text of a message, or the text of its first embed.
pub fn message_words(said: &Said) -> String {
    match said {
        Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_) => said.text(),
        Said::Tools(results) => {
            let shown = results.iter().filter_map(|result| match &result.outcome {
                Outcome::Shown(showing) => Some(showing),
                Outcome::Done | Outcome::Failed | Outcome::Denied => None,
            });
            let shown: Vec<&Showing> = shown.collect();
            let words = shown.iter().find_map(|showing| match showing {
                Showing::Words(text) => Some(text.clone()),
                Showing::Embed(_) => None,
            });
            let embed = || {
                shown.iter().find_map(|showing| match showing {
                    Showing::Embed(embed) => Some(embed_words(embed)),
                    Showing::Words(_) => None,
                })
            };
            words.or_else(embed).unwrap_or_default()
        }
    }
}

fn embed_words(embed: &Embed) -> String {
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
    let cut = match words.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words.to_owned(),
    };
    cut.lines().map(|line| format!("> {line}\n")).collect::<String>() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Block, Heard, Reach};
    use crate::embed::Stands;
    use crate::tool::ToolResult;

    fn shown(showings: Vec<Showing>) -> Said {
        let result = |showing| {
            let call = "a".to_owned();
            let text = "Embed sent.".to_owned();
            ToolResult { call, text, outcome: Outcome::Shown(showing), label: crate::label::Label::PLAIN }
        };
        Said::Tools(showings.into_iter().map(result).collect())
    }

    /// MT-12: Plain text comes first, then the first embed; text that only the model reads is left
    /// out.
    #[test]
    fn a_message_has_its_words_or_those_of_its_first_embed() {
        let field = Field { name: "15:00".to_owned(), value: "dentist".to_owned(), stands: Stands::Beside };
        let embed = Embed { description: "two things".to_owned(), ..Embed::titled("Today") };
        let embed = Embed { fields: vec![field.clone(), field], ..embed };
        let today = "**Today**\ntwo things\n**15:00**: dentist\n**15:00**: dentist";
        let second = Showing::Embed(Embed::titled("Later"));
        assert_eq!(message_words(&shown(vec![Showing::Embed(embed.clone()), second])), today);
        assert_eq!(message_words(&shown(vec![Showing::Embed(Embed::titled("Bare"))])), "**Bare**");
        let both = shown(vec![Showing::Embed(embed), Showing::Words("get up".to_owned())]);
        assert_eq!(message_words(&both), "get up");
        let heard = Heard { preface: "[now]".to_owned(), text: "hello".to_owned(), images: Vec::new() };
        assert_eq!(message_words(&Said::Human(heard)), "hello");
        let answer = Said::Assistant(vec![Block::Text("hi".to_owned())], Reach::Whole);
        assert_eq!(message_words(&answer), "hi");
        assert_eq!(message_words(&shown(Vec::new())), "");
    }

    /// MT-12, MT-13: Every line is quoted, and the text is cut after 500 whole characters.
    #[test]
    fn a_quotation_is_short_and_every_line_says_that_it_is_one() {
        assert_eq!(quotation("a\n\nb"), "> a\n> \n> b\n\n");
        assert_eq!(quotation(" \n"), "");
        assert_eq!(quotation(&"ü".repeat(500)), format!("> {}\n\n", "ü".repeat(500)));
        assert_eq!(quotation(&"𝄞".repeat(501)), format!("> {}...\n\n", "𝄞".repeat(500)));
    }
}
