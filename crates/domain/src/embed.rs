//! Embeds: a title, fields and buttons, shown separately from the surrounding text.
//!
//! `Embed::fitted` cuts an embed to the strictest surface, so that no surface has to cut it again.

mod button;
mod fit;

pub use button::{Button, ButtonAction, ButtonStyle, ForkExitChoice};

use fit::{CharBudget, truncate, without_emoji};

/// The most characters of a title, and of the name of a field.
pub const MAX_TITLE_CHARS: usize = 256;
/// The most characters of a description.
pub const MAX_DESCRIPTION_CHARS: usize = 4_096;
/// The most characters of the value of a field.
pub const MAX_VALUE_CHARS: usize = 1_024;
/// The most fields.
pub const MAX_FIELDS: usize = 25;
/// The most characters of an embed without its buttons.
pub const MAX_EMBED_CHARS: usize = 6_000;
/// The most buttons.
pub const MAX_BUTTONS: usize = 25;

/// A structured message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embed {
    pub title: String,
    /// The text; may be empty.
    pub description: String,
    /// The kind of news.
    pub colour: Colour,
    pub fields: Vec<Field>,
    pub buttons: Vec<Button>,
    /// The origin of the embed.
    pub footer: Footer,
}

/// The colour of an embed, by the kind of news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Information.
    #[default]
    Blue,
    /// Success.
    Green,
    /// Urgency.
    Red,
    /// Caution.
    Yellow,
    /// Anything else.
    Purple,
    /// Something that is over. Models cannot choose it.
    Grey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: String,
    pub layout: FieldLayout,
}

/// The position of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldLayout {
    /// Beside other fields, if they fit.
    #[default]
    Inline,
    FullLine,
}

/// The origin of an embed, shown below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Footer {
    /// Main, which is not shown.
    #[default]
    None,
    Fork,
    Background,
}

impl Colour {
    /// The colours that a model can choose.
    pub const ALL: [Self; 5] = [Self::Blue, Self::Green, Self::Red, Self::Yellow, Self::Purple];

    /// Returns the colour with this name, or blue.
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|colour| colour.name() == name.trim()).unwrap_or_default()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Blue => "blue",
            Self::Green => "green",
            Self::Red => "red",
            Self::Yellow => "yellow",
            Self::Purple => "purple",
            Self::Grey => "grey",
        }
    }

    /// Returns red, green and blue in one number.
    pub fn rgb(self) -> u32 {
        match self {
            Self::Blue => 0x34_98DB,
            Self::Green => 0x2E_CC71,
            Self::Red => 0xE7_4C3C,
            Self::Yellow => 0xFE_E75C,
            Self::Purple => 0x9B_59B6,
            Self::Grey => 0x99_AAB5,
        }
    }
}

impl Footer {
    /// Returns the footer with this text, or none.
    pub fn from_text(word: &str) -> Self {
        [Self::Fork, Self::Background]
            .into_iter()
            .find(|footer| footer.text() == Some(word))
            .unwrap_or_default()
    }

    /// Returns the text, if there is one.
    pub fn text(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Fork => Some("fork"),
            Self::Background => Some("bg"),
        }
    }
}

impl Embed {
    /// Returns an embed with only a title.
    pub fn with_title(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            description: String::new(),
            colour: Colour::default(),
            fields: Vec::new(),
            buttons: Vec::new(),
            footer: Footer::None,
        }
    }

    /// Returns the embed cut to the limits of the surfaces.
    #[must_use]
    pub fn fitted(self) -> Self {
        let mut room = CharBudget::new(MAX_EMBED_CHARS - self.footer.text().map_or(0, str::len));
        let title = room.take(&without_emoji(&self.title), MAX_TITLE_CHARS);
        let description = room.take(&unescape_line_breaks(&self.description), MAX_DESCRIPTION_CHARS);
        let field = |field: Field| {
            let name = room.take(&field.name, MAX_TITLE_CHARS);
            let value = room.take(&unescape_line_breaks(&field.value), MAX_VALUE_CHARS);
            Field { name, value, ..field }
        };
        let fields = self.fields.into_iter().take(MAX_FIELDS).map(field);
        let fields = fields.filter(|field| !(field.name.is_empty() && field.value.is_empty())).collect();
        let buttons = self.buttons.into_iter().take(MAX_BUTTONS).map(Button::fitted).collect();
        Self { title, description, fields, buttons, ..self }
    }
}

/// Replaces `\n` in two characters by a line break, because models write it so.
fn unescape_line_breaks(text: &str) -> String {
    text.replace("\\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> Field {
        Field { name: name.to_owned(), value: value.to_owned(), layout: FieldLayout::Inline }
    }

    /// XB-1, TL-5: There are five colours; unknown names are blue.
    #[test]
    fn an_unknown_colour_is_blue() {
        let check = |name: &str, rgb: u32| assert_eq!(Colour::from_name(name).rgb(), rgb, "{name}");
        check("blue", 0x3498DB);
        check("green", 0x2ECC71);
        check("red", 0xE74C3C);
        check("yellow", 0xFEE75C);
        check("purple", 0x9B59B6);
        check("mauve", 0x3498DB);
        assert_eq!(Colour::Grey.rgb(), 0x99AAB5);
    }

    /// XB-2, XB-3: The title has no emoji, and an escaped line break becomes a real one.
    #[test]
    fn title_has_no_emoji_and_text_has_line_breaks() {
        let mut embed = Embed::with_title("🎉 Done ✅  for today ⏰");
        embed.description = "first\\nsecond 🎉".to_owned();
        embed.fields = vec![field("a\\nb", "c\\nd")];
        let embed = embed.fitted();
        assert_eq!(embed.title, "Done for today");
        assert_eq!(embed.description, "first\nsecond 🎉");
        assert_eq!(embed.fields, [field("a\\nb", "c\nd")]);
    }

    /// XB-4: Each text and the total are cut.
    #[test]
    fn texts_are_cut_to_the_limits() {
        let mut embed = Embed::with_title(&"t".repeat(300));
        embed.description = "d".repeat(5_000);
        embed.fields = vec![field(&"n".repeat(300), &"v".repeat(2_000)); 40];
        let embed = embed.fitted();
        let chars = |text: &str| text.encode_utf16().count();
        assert_eq!((chars(&embed.title), chars(&embed.description)), (256, 4_096));
        assert_eq!((chars(&embed.fields[0].name), chars(&embed.fields[0].value)), (256, 1_024));
        let fields: usize = embed.fields.iter().map(|field| chars(&field.name) + chars(&field.value)).sum();
        assert_eq!(256 + 4_096 + fields, 6_000);
        assert!(
            embed.fields.iter().all(|field| !field.name.is_empty()),
            "a field without a name is left out"
        );
        let many = Embed { fields: vec![field("n", "v"); 40], ..Embed::with_title("t") };
        assert_eq!(many.fitted().fields.len(), 25);
    }

    /// XB-5: The number of buttons is limited.
    #[test]
    fn button_count_is_limited() {
        let label = "Plan it".to_owned();
        let style = ButtonStyle::default();
        let action = ButtonAction::Dismiss;
        let button = Button { label, style, action };
        let many = Embed { buttons: vec![button; 30], ..Embed::with_title("t") };
        assert_eq!(many.fitted().buttons.len(), 25);
        assert!(Embed::with_title("t").fitted().buttons.is_empty());
    }

    /// XB-4: A character of two units is cut as a whole.
    #[test]
    fn no_character_is_cut_in_half() {
        let mut embed = Embed::with_title("t");
        embed.description = "𝄞".repeat(3_000);
        assert_eq!(embed.fitted().description.chars().count(), 2_048);
    }
}
