//! The visible messages as readable text, for snapshots in tests.

use serde_json::Value;

use super::FakeDiscord;
use super::chat::Message;
use super::components::all_components;
use super::fake_user::FakeUser;
use super::state::DiscordState;
use super::views::MessageView;

impl FakeDiscord {
    /// Returns the owner's view as text, without ids and times.
    pub fn transcript(&self) -> String {
        self.transcript_of(&self.owner())
    }

    /// Returns a user's view as text, without ids and times.
    pub fn transcript_of(&self, user: &FakeUser) -> String {
        self.with_state(|state| {
            state.visible_messages(user.channel()).map(|message| state.message_text(message)).collect()
        })
    }
}

impl DiscordState {
    fn message_text(&self, message: &Message) -> String {
        let view = self.message_view(message);
        let mut text = String::new();
        if let Some(replied_to) = message.reply_to {
            let quoted = self.chat.message(message.channel, replied_to).map(Message::content);
            text += &format!("  ╭ {}\n", quoted.map_or("(a message that is gone)".into(), excerpt));
        }
        let metadata = message.json.get("interaction_metadata").filter(|data| data["type"] == 2);
        if let Some(command) = metadata.filter(|_| message.json.get("type") == Some(&Value::from(20))) {
            let by = command["user"]["username"].as_str().unwrap_or_default();
            text += &format!("  ╭ {by} used {}\n", command["name"].as_str().unwrap_or_default());
        }
        text += &format!("{}{}: {}\n", view.author, remarks(&view), indented(&view.content));
        if view.is_loading() {
            text += "    is thinking…\n";
        }
        view.embeds.iter().for_each(|embed| text += &embed_lines(embed));
        for file in &view.attachments {
            let alt = file["description"].as_str().map(|alt| format!(" ({alt})")).unwrap_or_default();
            text += &format!("    file {}{alt}\n", file["filename"].as_str().unwrap_or_default());
        }
        view.components.iter().for_each(|row| text += &row_line(row));
        if !view.reactions.is_empty() {
            let each = |(emoji, by): &(String, Vec<String>)| format!("{emoji} {}", by.join(" "));
            text += &format!("    {}\n", view.reactions.iter().map(each).collect::<Vec<_>>().join(", "));
        }
        text
    }
}

fn excerpt(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn remarks(view: &MessageView) -> String {
    let mut remarks = Vec::new();
    if view.is_ephemeral() {
        remarks.push("for them alone".to_owned());
    } else if !view.notifies() {
        remarks.push("silent".to_owned());
    }
    match view.edits {
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
    let mut output = String::new();
    let mut line = |text: &str| output += &format!("    │ {}\n", text.replace('\n', "\n    │ "));
    let non_empty = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(author) = non_empty(&embed["author"]["name"]) {
        line(&author);
    }
    if let Some(title) = non_empty(&embed["title"]) {
        line(&format!("**{title}**"));
    }
    if let Some(description) = non_empty(&embed["description"]) {
        line(&description);
    }
    for field in embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let part = |name: &str| field[name].as_str().unwrap_or_default();
        line(&format!("{}: {}", part("name"), part("value")));
    }
    if let Some(footer) = non_empty(&embed["footer"]["text"]) {
        line(&format!("_{footer}_"));
    }
    output
}

fn row_line(row: &Value) -> String {
    let mut pieces = Vec::new();
    let mut texts = String::new();
    for component in all_components(std::slice::from_ref(row)) {
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
