//! Renders a message body as one or more Discord messages within Discord's limits.

use domain::embed::{
    Button as OurButton, ButtonAction, ButtonStyle as OurStyle, Embed as OurEmbed, FieldLayout,
};
use domain::outbox::{MAX_MENU_OPTIONS, Menu, MessageBody, Sound};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::discord::message::{
    Button, ButtonKind, Choice, Embed, Field, Flags, OutgoingMessage, Row, Select, Style,
};
use crate::discord::split::{split, units};
use crate::discord::transport::File;

/// Maximum length of a message's content.
const MAX_CONTENT: usize = 2_000;
/// Maximum number of buttons in a row, and of rows.
const MAX_ROW: usize = 5;
/// Maximum length of an option.
const MAX_OPTION: usize = 100;
/// Maximum number of messages of an approval.
const MAX_APPROVAL_MESSAGES: usize = 5;
/// Maximum number of messages of one text. A longer text is attached as a file after its beginning.
const MAX_TEXT_MESSAGES: usize = 4;

/// Renders `body` as at least one message; components are on the last.
pub(super) fn render(body: &MessageBody, ring: Sound) -> Vec<OutgoingMessage> {
    let words = body_text(body);
    let mut contents = contents(&words);
    let files = if asks_approval(body) {
        if contents.len() > MAX_APPROVAL_MESSAGES {
            vec![approval_file(&words, &mut contents)]
        } else {
            Vec::new()
        }
    } else {
        text_file(&words, &mut contents).into_iter().collect()
    };
    add_footer(&mut contents, &body.footer);
    if contents.is_empty() {
        contents.push(String::new());
    }
    let last = contents.len() - 1;
    let embeds: Vec<Embed> = body.embed.iter().map(embed).collect();
    let rows = rows(body);
    let part = |(index, content): (usize, String)| {
        let mut part = OutgoingMessage::text(content);
        if index == last {
            part.embeds.clone_from(&embeds);
            part.rows.clone_from(&rows);
            part.files.clone_from(&files);
        }
        part.flags = flags(ring, &part);
        part
    };
    contents.into_iter().enumerate().map(part).collect()
}

/// Returns true if the user is asked to approve something.
fn asks_approval(body: &MessageBody) -> bool {
    body.buttons.iter().any(|button| {
        matches!(button.action, ButtonAction::AnswerApproval(..) | ButtonAction::AnswerStep(..))
    })
}

/// I5: an approval is never cut. If it needs too many messages, it is attached as a file after its
/// beginning, together with the hash of the file.
fn approval_file(words: &str, contents: &mut Vec<String>) -> File {
    let hash: String = Sha256::digest(words.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    contents.truncate(1);
    contents.push(format!(
        "that is only its beginning. all {} characters are in the file, whose sha256 is `{hash}`. read it before you say yes.",
        words.chars().count()
    ));
    File {
        name: "call.txt".to_owned(),
        description: "the whole call".to_owned(),
        bytes: words.to_owned().into(),
    }
}

/// Renders plain text; a long text is attached as a file after its beginning.
pub(super) fn render_text(words: &str) -> Vec<OutgoingMessage> {
    let mut contents = contents(words);
    let file = text_file(words, &mut contents);
    let mut messages: Vec<OutgoingMessage> = contents.into_iter().map(OutgoingMessage::text).collect();
    if let Some(last) = messages.last_mut() {
        last.files.extend(file);
    }
    messages.iter_mut().for_each(|part| part.flags = Flags::NO_EMBEDS);
    messages
}

/// Returns `words` as a file if they need more than [`MAX_TEXT_MESSAGES`] messages. `contents` is
/// then reduced to the first messages and a note about the file. The first messages are those shown
/// while the text was streamed, so none of them disappears.
fn text_file(words: &str, contents: &mut Vec<String>) -> Option<File> {
    if contents.len() <= MAX_TEXT_MESSAGES {
        return None;
    }
    contents.truncate(MAX_TEXT_MESSAGES - 1);
    contents.push(format!(
        "That is only the beginning. All {} characters are in the file.",
        words.chars().count()
    ));
    Some(File {
        name: "message.md".to_owned(),
        description: "the whole message".to_owned(),
        bytes: words.to_owned().into(),
    })
}

/// Maximum number of bytes of a growing text that are used: more than [`MAX_TEXT_MESSAGES`]
/// messages hold.
pub(super) const GROWING_BYTES: usize = 32 * 1024;

/// Returns the contents of the messages of a text that is still growing, at most
/// [`MAX_TEXT_MESSAGES`].
pub(super) fn growing_contents(words: &str) -> Vec<String> {
    let mut contents = contents(words);
    contents.truncate(MAX_TEXT_MESSAGES);
    contents
}

/// Splits `words` into contents of messages, without blank ones.
pub(super) fn contents(words: &str) -> Vec<String> {
    split(words).into_iter().filter(|part| !is_blank(part)).collect()
}

/// Renders text only, for when Discord refuses the rest.
pub(super) fn render_plain(body: &MessageBody, ring: Sound) -> Vec<OutgoingMessage> {
    let mut plain = MessageBody { embed: None, buttons: Vec::new(), menu: None, ..body.clone() };
    if let Some(embed) = &body.embed {
        let told = [embed.title.clone(), embed.description.clone()].into_iter();
        let fields = embed.fields.iter().map(|field| format!("{}: {}", field.name, field.value));
        let lines = told.chain(fields).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        plain.text = format!("{}\n{lines}", plain.text).trim().to_owned();
    }
    render(&plain, ring)
}

/// I13: suppresses link previews, so Discord does not fetch links written by the model.
fn flags(ring: Sound, part: &OutgoingMessage) -> Flags {
    let quiet = match ring {
        Sound::Loud => Flags::default(),
        Sound::Silent => Flags::SILENT,
    };
    if part.embeds.is_empty() { quiet.union(Flags::NO_EMBEDS) } else { quiet }
}

fn body_text(body: &MessageBody) -> String {
    match body.time {
        Some(when) => format!("{} {}", body.text, time_tag(when)),
        None => body.text.clone(),
    }
}

/// Formats a time as a Discord timestamp with the relative time.
pub(super) fn time_tag(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:f> · <t:{second}:R>")
}

/// Returns true for text that Discord rejects as empty.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
}

/// Adds the small line below the last content, or as a content of its own if it does not fit.
fn add_footer(contents: &mut Vec<String>, footer: &str) {
    if footer.is_empty() {
        return;
    }
    let lines: Vec<String> = footer.lines().map(|line| format!("-# {line}")).collect();
    let footer = lines.join("\n");
    match contents.last_mut() {
        Some(last) if units(last) + 1 + units(&footer) <= MAX_CONTENT => {
            last.push('\n');
            last.push_str(&footer);
        }
        _ => contents.extend(split(&footer)),
    }
}

fn rows(body: &MessageBody) -> Vec<Row> {
    let embed = body.embed.iter().flat_map(|embed| &embed.buttons);
    let mut names = std::collections::BTreeSet::new();
    // Discord rejects two buttons with the same custom id.
    let buttons: Vec<Button> = body
        .buttons
        .iter()
        .chain(embed)
        .filter_map(button)
        .filter(|button| match &button.kind {
            ButtonKind::Interactive(_, name) => names.insert(name.clone()),
            ButtonKind::Link(_) | ButtonKind::Disabled(_) => true,
        })
        .collect();
    let buttons = buttons.chunks(MAX_ROW).map(|row| Row::Buttons(row.to_vec()));
    buttons.chain(body.menu.as_ref().map(menu)).take(MAX_ROW).collect()
}

fn button(button: &OurButton) -> Option<Button> {
    let label = match button.label.trim() {
        "" => "…".to_owned(),
        label => label.to_owned(),
    };
    let style = match button.style {
        OurStyle::Success => Style::Success,
        OurStyle::Danger => Style::Danger,
        OurStyle::Primary => Style::Primary,
        OurStyle::Secondary => Style::Secondary,
    };
    Some(Button { label, emoji: None, kind: ButtonKind::Interactive(style, button.action.button_id()?) })
}

fn menu(menu: &Menu) -> Row {
    let choice = |option: &String| {
        let label: String = option.chars().take(MAX_OPTION).collect();
        Choice { value: label.clone(), label, ..Choice::default() }
    };
    let choices = menu.options.iter().take(MAX_MENU_OPTIONS).map(choice).collect();
    Row::Menu(Select { custom_id: menu.action_id.clone(), placeholder: menu.label.clone(), choices })
}

fn embed(embed: &OurEmbed) -> Embed {
    let field = |field: &domain::embed::Field| Field {
        name: field.name.clone(),
        value: field.value.clone(),
        inline: field.layout == FieldLayout::Inline,
    };
    Embed {
        title: embed.title.clone(),
        description: embed.description.clone(),
        color: Some(embed.colour.rgb()),
        fields: embed.fields.iter().map(field).collect(),
        footer: embed.footer.text().unwrap_or_default().to_owned(),
        ..Embed::default()
    }
}

#[cfg(test)]
mod tests {
    use domain::approval::{ApprovalAnswer, ApprovalId};

    use super::*;

    fn approval(input: &str) -> MessageBody {
        let action = ButtonAction::AnswerApproval(ApprovalId(7), ApprovalAnswer::Allow);
        let yes = OurButton { label: "Yes".to_owned(), style: OurStyle::Success, action };
        let words = format!("may i run a command?\n```json\n{input}\n```");
        MessageBody {
            text: words,
            buttons: vec![yes],
            footer: "number 7".to_owned(),
            ..MessageBody::default()
        }
    }

    /// I5: a long call is shown completely in a few messages; a very long one is attached as a file
    /// with its hash, after its beginning. The buttons are on the last message.
    #[test]
    fn a_very_long_call_is_attached_as_a_file() {
        let few = render(&approval(&"x".repeat(6_000)), Sound::Loud);
        assert!(few.len() > 2 && few.iter().all(|part| part.files.is_empty()));
        let shown: usize = few.iter().map(|part| part.content.matches('x').count()).sum();
        assert_eq!(shown, 6_000, "nothing of it is left out");
        let sheet = approval(&format!("{}rm -rf", "x".repeat(100_000)));
        let many = render(&sheet, Sound::Loud);
        let [first, last] = many.as_slice() else { panic!("{} messages", many.len()) };
        assert!(first.content.starts_with("may i run a command?") && first.rows.is_empty());
        let [file] = last.files.as_slice() else { panic!("a file") };
        assert_eq!(&file.bytes[..], sheet.text.as_bytes());
        let hash: String = Sha256::digest(&file.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(last.content.contains(&hash) && last.content.ends_with("-# number 7"), "{}", last.content);
        assert_eq!(last.rows.len(), 1);
    }

    /// A longer text than a few messages is attached as a file after its beginning, and the footer
    /// stays on the last message.
    #[test]
    fn a_long_text_is_attached_as_a_file_after_its_beginning() {
        let sheet = |words: String| MessageBody {
            text: words,
            footer: "from a routine".to_owned(),
            ..MessageBody::default()
        };
        let few = render(&sheet("word ".repeat(1_500)), Sound::Loud);
        assert!((2..=MAX_TEXT_MESSAGES).contains(&few.len()) && few.iter().all(|part| part.files.is_empty()));
        let long = "word ".repeat(1_000_000);
        let many = render(&sheet(long.clone()), Sound::Silent);
        assert_eq!(many.len(), MAX_TEXT_MESSAGES);
        let shown: usize = many.iter().map(|part| part.content.matches("word").count()).sum();
        assert!(shown > 1_000, "{shown}");
        let [.., before, last] = many.as_slice() else { panic!("{} messages", many.len()) };
        assert!(before.files.is_empty());
        assert_eq!(
            last.content,
            "That is only the beginning. All 5000000 characters are in the file.\n-# from a routine"
        );
        let [file] = last.files.as_slice() else { panic!("a file") };
        assert_eq!((file.name.as_str(), &file.bytes[..]), ("message.md", long.as_bytes()));
        assert_eq!(render_text(&long).len(), MAX_TEXT_MESSAGES);
        // The messages before the file equal those shown while the text was streamed.
        let live = growing_contents(&long[..GROWING_BYTES]);
        assert_eq!(live.len(), MAX_TEXT_MESSAGES);
        let kept: Vec<String> =
            many[..MAX_TEXT_MESSAGES - 1].iter().map(|part| part.content.clone()).collect();
        assert_eq!(kept, live[..MAX_TEXT_MESSAGES - 1]);
    }
}
