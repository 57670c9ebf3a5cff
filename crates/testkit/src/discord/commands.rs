//! Registered commands of an application: validation and their representation in responses.

use std::time::Duration;

use serde_json::{Value, json};

use super::refusal::{Form, Refusal};
use super::rest::{Asked, Done};
use super::world::World;

const DAY: Duration = Duration::from_secs(86_400);
/// The maximum number of new commands per day.
const DAILY: usize = 200;
/// The maximum number of counted characters of one command.
const CHARACTERS: usize = 8_000;

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn kind(command: &Value) -> u64 {
    command["type"].as_u64().unwrap_or(1)
}

impl World {
    /// Handles a request about the application.
    pub fn of_application(&mut self, asked: &Asked, parts: &[&str]) -> Result<Done, Refusal> {
        match (asked.call.method.as_str(), parts) {
            ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => {
                Ok(Done::Told(self.application()))
            }
            (method, ["applications", id, "commands", rest @ ..]) => {
                if *id != self.talk.application.to_string() {
                    return Err(Refusal::code(10002));
                }
                let payload = asked.call.body.payload();
                match (method, rest) {
                    ("GET", []) => Ok(Done::Told(json!(self.desk.commands))),
                    ("PUT", []) if !payload.is_array() => Err(Refusal::code(50109)),
                    ("PUT", []) => self.overwrite(list(payload)).map(Done::Told),
                    ("POST", []) => self.add_command(payload).map(Done::Told),
                    ("DELETE", [id]) => self.remove_command(id),
                    _ => Err(Refusal::status(405)),
                }
            }
            _ => Err(Refusal::status(404)),
        }
    }

    fn remove_command(&mut self, id: &str) -> Result<Done, Refusal> {
        let before = self.desk.commands.len();
        self.desk.commands.retain(|command| command["id"] != id);
        if self.desk.commands.len() == before { Err(Refusal::code(10063)) } else { Ok(Done::Silent) }
    }

    fn add_command(&mut self, command: &Value) -> Result<Value, Refusal> {
        let same = |old: &Value| old["name"] == command["name"] && kind(old) == kind(command);
        let mut all: Vec<_> = self.desk.commands.iter().filter(|old| !same(old)).cloned().collect();
        all.push(command.clone());
        self.overwrite(&all)?;
        Ok(self.desk.commands.last().cloned().unwrap_or_default())
    }

    fn overwrite(&mut self, commands: &[Value]) -> Result<Value, Refusal> {
        check(commands)?;
        let now = self.now.boot;
        self.desk.created.retain(|at| *at + DAY > now);
        let old = std::mem::take(&mut self.desk.commands);
        let known = |command: &Value| {
            old.iter().find(|old| old["name"] == command["name"] && kind(old) == kind(command)).cloned()
        };
        let new = commands.iter().filter(|command| known(command).is_none()).count();
        if self.desk.created.len() + new > DAILY {
            self.desk.commands = old;
            return Err(Refusal::code(30034));
        }
        self.desk.created.extend(std::iter::repeat_n(now, new));
        for command in commands {
            let id =
                known(command).map_or_else(|| json!(self.next_id().to_string()), |old| old["id"].clone());
            let told = self.registered(command, id);
            self.desk.commands.push(told);
        }
        Ok(json!(self.desk.commands))
    }

    fn registered(&mut self, command: &Value, id: Value) -> Value {
        let mut told = command.clone();
        told["id"] = id;
        told["application_id"] = json!(self.talk.application.to_string());
        told["version"] = json!(self.next_id().to_string());
        for (name, usual) in [
            ("type", json!(1)),
            ("description", json!("")),
            ("default_member_permissions", Value::Null),
            ("dm_permission", json!(true)),
            ("integration_types", json!([0])),
            ("contexts", Value::Null),
            ("nsfw", json!(false)),
        ] {
            if told[name].is_null() {
                told[name] = usual;
            }
        }
        told
    }
}

/// Validates all commands.
fn check(commands: &[Value]) -> Result<(), Refusal> {
    for (sort, most) in [(1, 100), (2, 15), (3, 15)] {
        if commands.iter().filter(|command| kind(command) == sort).count() > most {
            return Err(Refusal::code(30032));
        }
    }
    let mut form = Form::default();
    for (at, command) in commands.iter().enumerate() {
        let path = at.to_string();
        check_name(&mut form, &format!("{path}.name"), command);
        match kind(command) {
            1 => form.needed(&format!("{path}.description"), &command["description"], 100),
            _ if command["description"].as_str().is_some_and(|text| !text.is_empty()) => {
                let message = "Context menu commands cannot have description";
                form.wrong(
                    &format!("{path}.description"),
                    "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION",
                    message,
                );
            }
            _ => {}
        }
        options(&mut form, &path, list(&command["options"]));
        if characters(command) > CHARACTERS {
            let message = "Command exceeds maximum size (8000)";
            form.wrong(&path, "APPLICATION_COMMAND_TOO_LARGE", message);
        }
        let same = |other: &Value| other["name"] == command["name"] && kind(other) == kind(command);
        if commands[..at].iter().any(same) {
            let message = "Application command names must be unique";
            form.wrong(&format!("{path}.name"), "APPLICATION_COMMANDS_DUPLICATE_NAME", message);
        }
    }
    form.done()
}

fn check_name(form: &mut Form, path: &str, command: &Value) {
    form.needed(path, &command["name"], 32);
    if kind(command) == 1 {
        plain_name(form, path, &command["name"]);
    }
}

fn plain_name(form: &mut Form, path: &str, name: &Value) {
    let name = name.as_str().unwrap_or_default();
    let fits = |letter: char| letter.is_alphanumeric() || "-_'".contains(letter);
    if !name.chars().all(fits) || name.to_lowercase() != name {
        let message = format!("Command name is invalid: {name}");
        form.wrong(path, "APPLICATION_COMMAND_INVALID_NAME", &message);
    }
}

fn options(form: &mut Form, path: &str, options: &[Value]) {
    if options.len() > 25 {
        form.wrong(&format!("{path}.options"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    let mut optional = false;
    for (at, option) in options.iter().enumerate() {
        let path = format!("{path}.options.{at}");
        form.needed(&format!("{path}.name"), &option["name"], 32);
        plain_name(form, &format!("{path}.name"), &option["name"]);
        form.needed(&format!("{path}.description"), &option["description"], 100);
        if !matches!(option["type"].as_u64(), Some(1..=11)) {
            let message = "Value is not one of the allowed option types.";
            form.wrong(&format!("{path}.type"), "BASE_TYPE_CHOICES", message);
        }
        let required = option["required"] == true;
        if required && optional {
            let message = "Required options must be placed before non-required options";
            form.wrong(&path, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message);
        }
        optional |= !required;
        if options[..at].iter().any(|other| other["name"] == option["name"]) {
            let message = "Option names must be unique";
            form.wrong(&format!("{path}.name"), "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", message);
        }
        choices(form, &path, option);
        self::options(form, &path, list(&option["options"]));
    }
}

fn choices(form: &mut Form, path: &str, option: &Value) {
    let choices = list(&option["choices"]);
    if choices.len() > 25 {
        form.wrong(&format!("{path}.choices"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    if option["autocomplete"] == true && !choices.is_empty() {
        let message = "Autocomplete options cannot have choices";
        form.wrong(path, "APPLICATION_COMMAND_AUTOCOMPLETE_AND_CHOICES", message);
    }
    for (at, choice) in choices.iter().enumerate() {
        form.needed(&format!("{path}.choices.{at}.name"), &choice["name"], 100);
        if choice["value"].is_string() {
            form.needed(&format!("{path}.choices.{at}.value"), &choice["value"], 100);
        }
    }
}

/// Returns the characters of a command that count: names, descriptions and values.
fn characters(command: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let own = length(&command["name"]) + length(&command["description"]) + length(&command["value"]);
    let inside = list(&command["options"]).iter().chain(list(&command["choices"]));
    own + inside.map(characters).sum::<usize>()
}
