//! The visible messages as readable text, for snapshots in tests.

use serde_json::Value;

use super::Discord;
use super::components::all;
use super::person::Person;
use super::screen::Seen;
use super::talk::Message;
use super::world::World;

impl Discord {
    /// Returns the owner's view as text, without ids and times.
    pub fn transcript(&self) -> String {
        self.transcript_of(&self.owner())
    }

    /// Returns a user's view as text, without ids and times.
    pub fn transcript_of(&self, person: &Person) -> String {
        self.look(|world| {
            world.on_screen(person.channel()).map(|message| world.told_in_lines(message)).collect()
        })
    }
}

impl World {
    fn told_in_lines(&self, message: &Message) -> String {
        let seen = self.seen(message);
        let mut told = String::new();
        if let Some(answered) = message.reply_to {
            let quoted = self.talk.message(message.channel, answered).map(Message::content);
            told += &format!("  ╭ {}\n", quoted.map_or("(a message that is gone)".into(), beginning));
        }
        let metadata = message.wire.get("interaction_metadata").filter(|data| data["type"] == 2);
        if let Some(used) = metadata.filter(|_| message.wire.get("type") == Some(&Value::from(20))) {
            let by = used["user"]["username"].as_str().unwrap_or_default();
            told += &format!("  ╭ {by} used {}\n", used["name"].as_str().unwrap_or_default());
        }
        told += &format!("{}{}: {}\n", seen.author, remarks(&seen), indented(&seen.content));
        if seen.is_awaited() {
            told += "    is thinking…\n";
        }
        seen.embeds.iter().for_each(|embed| told += &embed_lines(embed));
        for file in &seen.attachments {
            let alt = file["description"].as_str().map(|alt| format!(" ({alt})")).unwrap_or_default();
            told += &format!("    file {}{alt}\n", file["filename"].as_str().unwrap_or_default());
        }
        seen.components.iter().for_each(|row| told += &row_line(row));
        if !seen.reactions.is_empty() {
            let each = |(emoji, by): &(String, Vec<String>)| format!("{emoji} {}", by.join(" "));
            told += &format!("    {}\n", seen.reactions.iter().map(each).collect::<Vec<_>>().join(", "));
        }
        told
    }
}

fn beginning(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn remarks(seen: &Seen) -> String {
    let mut remarks = Vec::new();
    if seen.is_ephemeral() {
        remarks.push("for them alone".to_owned());
    } else if !seen.buzzes() {
        remarks.push("silent".to_owned());
    }
    match seen.edits {
        0 => {}
        1 => remarks.push("edited once".to_owned()),
        times => remarks.push(format!("edited {times} times")),
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) }
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn embed_lines(embed: &Value) -> String {
    let mut told = String::new();
    let mut line = |text: &str| told += &format!("    │ {}\n", text.replace('\n', "\n    │ "));
    let said = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(author) = said(&embed["author"]["name"]) {
        line(&author);
    }
    if let Some(title) = said(&embed["title"]) {
        line(&format!("**{title}**"));
    }
    if let Some(description) = said(&embed["description"]) {
        line(&description);
    }
    for field in embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let part = |name: &str| field[name].as_str().unwrap_or_default();
        line(&format!("{}: {}", part("name"), part("value")));
    }
    if let Some(footer) = said(&embed["footer"]["text"]) {
        line(&format!("_{footer}_"));
    }
    told
}

fn row_line(row: &Value) -> String {
    let mut pieces = Vec::new();
    let mut texts = String::new();
    for component in all(std::slice::from_ref(row)) {
        let part = |name: &str| component[name].as_str().unwrap_or_default();
        match component["type"].as_u64() {
            Some(2) => {
                let emoji =
                    component["emoji"]["name"].as_str().map(|emoji| format!("{emoji} ")).unwrap_or_default();
                let grey = if component["disabled"] == true { " (grey)" } else { "" };
                pieces.push(format!("[{emoji}{}{grey}]", part("label")).replace(" ]", "]"));
            }
            Some(3) => {
                let options = component["options"].as_array().cloned().unwrap_or_default();
                let labels: Vec<_> = options.iter().filter_map(|option| option["label"].as_str()).collect();
                pieces.push(format!("[{} ▾ {}]", part("placeholder"), labels.join(" | ")));
            }
            Some(10) => texts += &format!("    {}\n", indented(part("content"))),
            _ => {}
        }
    }
    if pieces.is_empty() { texts } else { format!("{texts}    {}\n", pieces.join(" ")) }
}
