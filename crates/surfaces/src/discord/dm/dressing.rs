//! Renders a message body as one or more Discord messages within Discord's limits.

use domain::embed::{Action, Button as OurButton, Embed as OurEmbed, Stands, Style as OurStyle};
use domain::post::{Menu, OPTIONS, Ring, Sheet};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::discord::message::{Button, Choice, Embed, Field, Flags, Outgoing, Press, Row, Select, Style};
use crate::discord::split::{split, units};
use crate::discord::wire::File;

/// Maximum length of a message's content.
const LONGEST: usize = 2_000;
/// Maximum number of buttons in a row, and of rows.
const ROW: usize = 5;
/// Maximum length of an option.
const OPTION: usize = 100;
/// Maximum number of messages of an approval.
const ASKED: usize = 5;
/// Maximum number of messages of one text. A longer text is attached as a file after its beginning.
const SAID: usize = 4;

/// Renders `sheet` as at least one message; components are on the last.
pub(super) fn dress(sheet: &Sheet, ring: Ring) -> Vec<Outgoing> {
    let words = words(sheet);
    let mut contents = contents(&words);
    let files = if is_asked(sheet) {
        if contents.len() > ASKED { vec![on_paper(&words, &mut contents)] } else { Vec::new() }
    } else {
        as_file(&words, &mut contents).into_iter().collect()
    };
    add_foot(&mut contents, &sheet.foot);
    if contents.is_empty() {
        contents.push(String::new());
    }
    let last = contents.len() - 1;
    let embeds: Vec<Embed> = sheet.embed.iter().map(embed).collect();
    let rows = rows(sheet);
    let part = |(index, content): (usize, String)| {
        let mut part = Outgoing::words(content);
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
fn is_asked(sheet: &Sheet) -> bool {
    sheet.buttons.iter().any(|button| matches!(button.action, Action::Answer(..) | Action::AnswerStep(..)))
}

/// I5: an approval is never cut. If it needs too many messages, it is attached as a file after its
/// beginning, together with the hash of the file.
fn on_paper(words: &str, contents: &mut Vec<String>) -> File {
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
pub(super) fn said(words: &str) -> Vec<Outgoing> {
    let mut contents = contents(words);
    let file = as_file(words, &mut contents);
    let mut said: Vec<Outgoing> = contents.into_iter().map(Outgoing::words).collect();
    if let Some(last) = said.last_mut() {
        last.files.extend(file);
    }
    said.iter_mut().for_each(|part| part.flags = Flags::NO_EMBEDS);
    said
}

/// Returns `words` as a file if they need more than [`MAX_TEXT_MESSAGES`] messages. `contents` is
/// then reduced to the first messages and a note about the file. The first messages are those shown
/// while the text was streamed, so none of them disappears.
fn as_file(words: &str, contents: &mut Vec<String>) -> Option<File> {
    if contents.len() <= SAID {
        return None;
    }
    contents.truncate(SAID - 1);
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
pub(super) fn growing(words: &str) -> Vec<String> {
    let mut contents = contents(words);
    contents.truncate(SAID);
    contents
}

/// Splits `words` into contents of messages, without blank ones.
pub(super) fn contents(words: &str) -> Vec<String> {
    split(words).into_iter().filter(|part| !is_blank(part)).collect()
}

/// Renders text only, for when Discord refuses the rest.
pub(super) fn plainly(sheet: &Sheet, ring: Ring) -> Vec<Outgoing> {
    let mut plain = Sheet { embed: None, buttons: Vec::new(), menu: None, ..sheet.clone() };
    if let Some(embed) = &sheet.embed {
        let told = [embed.title.clone(), embed.description.clone()].into_iter();
        let fields = embed.fields.iter().map(|field| format!("{}: {}", field.name, field.value));
        let lines = told.chain(fields).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        plain.words = format!("{}\n{lines}", plain.words).trim().to_owned();
    }
    dress(&plain, ring)
}

/// I13: suppresses link previews, so Discord does not fetch links written by the model.
fn flags(ring: Ring, part: &Outgoing) -> Flags {
    let quiet = match ring {
        Ring::Loud => Flags::default(),
        Ring::Quiet => Flags::SILENT,
    };
    if part.embeds.is_empty() { quiet.and(Flags::NO_EMBEDS) } else { quiet }
}

fn words(sheet: &Sheet) -> String {
    match sheet.when {
        Some(when) => format!("{} {}", sheet.words, clock(when)),
        None => sheet.words.clone(),
    }
}

/// Formats a time as a Discord timestamp with the relative time.
pub(super) fn clock(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:f> · <t:{second}:R>")
}

/// Returns true for text that Discord rejects as empty.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
}

/// Adds the small line below the last content, or as a content of its own if it does not fit.
fn add_foot(contents: &mut Vec<String>, foot: &str) {
    if foot.is_empty() {
        return;
    }
    let lines: Vec<String> = foot.lines().map(|line| format!("-# {line}")).collect();
    let foot = lines.join("\n");
    match contents.last_mut() {
        Some(last) if units(last) + 1 + units(&foot) <= LONGEST => {
            last.push('\n');
            last.push_str(&foot);
        }
        _ => contents.extend(split(&foot)),
    }
}

fn rows(sheet: &Sheet) -> Vec<Row> {
    let embed = sheet.embed.iter().flat_map(|embed| &embed.buttons);
    let mut names = std::collections::BTreeSet::new();
    // Discord rejects two buttons with the same custom id.
    let buttons: Vec<Button> = sheet
        .buttons
        .iter()
        .chain(embed)
        .filter_map(button)
        .filter(|button| match &button.press {
            Press::Tell(_, name) => names.insert(name.clone()),
            Press::Open(_) | Press::Nothing(_) => true,
        })
        .collect();
    let buttons = buttons.chunks(ROW).map(|row| Row::Buttons(row.to_vec()));
    buttons.chain(sheet.menu.as_ref().map(menu)).take(ROW).collect()
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
    Some(Button { label, emoji: None, press: Press::Tell(style, button.action.press()?) })
}

fn menu(menu: &Menu) -> Row {
    let choice = |option: &String| {
        let label: String = option.chars().take(OPTION).collect();
        Choice { value: label.clone(), label, ..Choice::default() }
    };
    let choices = menu.options.iter().take(OPTIONS).map(choice).collect();
    Row::Menu(Select { custom_id: menu.press.clone(), placeholder: menu.label.clone(), choices })
}

fn embed(embed: &OurEmbed) -> Embed {
    let field = |field: &domain::embed::Field| Field {
        name: field.name.clone(),
        value: field.value.clone(),
        inline: field.stands == Stands::Beside,
    };
    Embed {
        title: embed.title.clone(),
        description: embed.description.clone(),
        color: Some(embed.colour.rgb()),
        fields: embed.fields.iter().map(field).collect(),
        footer: embed.footer.word().unwrap_or_default().to_owned(),
        ..Embed::default()
    }
}

#[cfg(test)]
mod tests {
    use domain::approval::{ApprovalId, Verdict};

    use super::*;

    fn asked(input: &str) -> Sheet {
        let action = Action::Answer(ApprovalId(7), Verdict::Allow);
        let yes = OurButton { label: "Yes".to_owned(), style: OurStyle::Success, action };
        let words = format!("may i run a command?\n```json\n{input}\n```");
        Sheet { words, buttons: vec![yes], foot: "number 7".to_owned(), ..Sheet::default() }
    }

    /// I5: a long call is shown completely in a few messages; a very long one is attached as a file
    /// with its hash, after its beginning. The buttons are on the last message.
    #[test]
    fn a_very_long_call_is_asked_for_on_paper() {
        let few = dress(&asked(&"x".repeat(6_000)), Ring::Loud);
        assert!(few.len() > 2 && few.iter().all(|part| part.files.is_empty()));
        let shown: usize = few.iter().map(|part| part.content.matches('x').count()).sum();
        assert_eq!(shown, 6_000, "nothing of it is left out");
        let sheet = asked(&format!("{}rm -rf", "x".repeat(100_000)));
        let many = dress(&sheet, Ring::Loud);
        let [first, last] = many.as_slice() else { panic!("{} messages", many.len()) };
        assert!(first.content.starts_with("may i run a command?") && first.rows.is_empty());
        let [file] = last.files.as_slice() else { panic!("a file") };
        assert_eq!(&file.bytes[..], sheet.words.as_bytes());
        let hash: String = Sha256::digest(&file.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(last.content.contains(&hash) && last.content.ends_with("-# number 7"), "{}", last.content);
        assert_eq!(last.rows.len(), 1);
    }

    /// A longer text than a few messages is attached as a file after its beginning, and the footer
    /// stays on the last message.
    #[test]
    fn a_long_text_is_a_file_with_its_beginning_before_it() {
        let sheet = |words: String| Sheet { words, foot: "from a routine".to_owned(), ..Sheet::default() };
        let few = dress(&sheet("word ".repeat(1_500)), Ring::Loud);
        assert!((2..=SAID).contains(&few.len()) && few.iter().all(|part| part.files.is_empty()));
        let long = "word ".repeat(1_000_000);
        let many = dress(&sheet(long.clone()), Ring::Quiet);
        assert_eq!(many.len(), SAID);
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
        assert_eq!(said(&long).len(), SAID);
        // The messages before the file equal those shown while the text was streamed.
        let live = growing(&long[..GROWING_BYTES]);
        assert_eq!(live.len(), SAID);
        let kept: Vec<String> = many[..SAID - 1].iter().map(|part| part.content.clone()).collect();
        assert_eq!(kept, live[..SAID - 1]);
    }
}
