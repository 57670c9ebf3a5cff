//! Dressing: a sheet as messages of Discord, each of which fits.

use domain::embed::{Button as OurButton, Embed as OurEmbed, Stands, Style as OurStyle};
use domain::post::{Menu, OPTIONS, Ring, Sheet};
use jiff::Timestamp;

use crate::discord::message::{Button, Choice, Embed, Field, Flags, Outgoing, Press, Row, Select, Style};
use crate::discord::split::{split, units};

/// The longest content of a message.
const LONGEST: usize = 2_000;
/// The most buttons in a row, and the most rows.
const ROW: usize = 5;
/// The longest text of an option.
const OPTION: usize = 100;

/// The messages that `sheet` is, in order: at least one, and what can be pressed is on the last.
pub(super) fn dress(sheet: &Sheet, ring: Ring) -> Vec<Outgoing> {
    let mut contents = contents(&words(sheet));
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
        }
        part.flags = flags(ring, &part);
        part
    };
    contents.into_iter().enumerate().map(part).collect()
}

/// The contents of the messages that `words` are: none that nobody could see.
pub(super) fn contents(words: &str) -> Vec<String> {
    split(words).into_iter().filter(|part| !is_blank(part)).collect()
}

/// The words alone, for where the rest is refused.
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

/// I13: no link of a model's is fetched by Discord for a preview.
fn flags(ring: Ring, part: &Outgoing) -> Flags {
    let quiet = match ring {
        Ring::Loud => Flags::default(),
        Ring::Quiet => Flags::SILENT,
    };
    match part.embeds.is_empty() {
        true => quiet.and(Flags::NO_EMBEDS),
        false => quiet,
    }
}

fn words(sheet: &Sheet) -> String {
    match sheet.when {
        Some(when) => format!("{} {}", sheet.words, clock(when)),
        None => sheet.words.clone(),
    }
}

/// A time, as each reader's own clock shows it, and how far away it is.
pub(super) fn clock(when: Timestamp) -> String {
    let second = when.as_second();
    format!("<t:{second}:f> · <t:{second}:R>")
}

/// Discord takes no message that nobody could see.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
}

/// The small line goes below the last words, or alone if there is no room.
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
    // Discord takes no two buttons with one name.
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
