//! Registered commands of an application: validation and their representation in responses.

use std::time::Duration;

use serde_json::{Value, json};

use super::api_error::{ApiError, FormErrors};
use super::rest::{RequestContext, RestResult};
use super::state::DiscordState;

const DAY: Duration = Duration::from_secs(86_400);
/// The maximum number of new commands per day.
const MAX_NEW_COMMANDS_PER_DAY: usize = 200;
/// The maximum number of counted characters of one command.
const MAX_COMMAND_CHARACTERS: usize = 8_000;

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn command_type(command: &Value) -> u64 {
    command["type"].as_u64().unwrap_or(1)
}

impl DiscordState {
    /// Handles a request about the application.
    pub fn handle_application(
        &mut self,
        context: &RequestContext,
        parts: &[&str],
    ) -> Result<RestResult, ApiError> {
        match (context.request.method.as_str(), parts) {
            ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => {
                Ok(RestResult::Json(self.application_json()))
            }
            (method, ["applications", id, "commands", rest @ ..]) => {
                if *id != self.chat.application.to_string() {
                    return Err(ApiError::code(10002));
                }
                let payload = context.request.body.payload();
                match (method, rest) {
                    ("GET", []) => Ok(RestResult::Json(json!(self.app.commands))),
                    ("PUT", []) if !payload.is_array() => Err(ApiError::code(50109)),
                    ("PUT", []) => self.overwrite_commands(list(payload)).map(RestResult::Json),
                    ("POST", []) => self.add_command(payload).map(RestResult::Json),
                    ("DELETE", [id]) => self.remove_command(id),
                    _ => Err(ApiError::status(405)),
                }
            }
            _ => Err(ApiError::status(404)),
        }
    }

    fn remove_command(&mut self, id: &str) -> Result<RestResult, ApiError> {
        let before = self.app.commands.len();
        self.app.commands.retain(|command| command["id"] != id);
        if self.app.commands.len() == before { Err(ApiError::code(10063)) } else { Ok(RestResult::NoContent) }
    }

    fn add_command(&mut self, command: &Value) -> Result<Value, ApiError> {
        let same = |old: &Value| old["name"] == command["name"] && command_type(old) == command_type(command);
        let mut all: Vec<_> = self.app.commands.iter().filter(|old| !same(old)).cloned().collect();
        all.push(command.clone());
        self.overwrite_commands(&all)?;
        Ok(self.app.commands.last().cloned().unwrap_or_default())
    }

    fn overwrite_commands(&mut self, commands: &[Value]) -> Result<Value, ApiError> {
        check_commands(commands)?;
        let now = self.now.boot;
        self.app.registered_at.retain(|at| *at + DAY > now);
        let old = std::mem::take(&mut self.app.commands);
        let find_old = |command: &Value| {
            old.iter()
                .find(|old| old["name"] == command["name"] && command_type(old) == command_type(command))
                .cloned()
        };
        let new = commands.iter().filter(|command| find_old(command).is_none()).count();
        if self.app.registered_at.len() + new > MAX_NEW_COMMANDS_PER_DAY {
            self.app.commands = old;
            return Err(ApiError::code(30034));
        }
        self.app.registered_at.extend(std::iter::repeat_n(now, new));
        for command in commands {
            let id =
                find_old(command).map_or_else(|| json!(self.next_id().to_string()), |old| old["id"].clone());
            let registered = self.as_registered(command, id);
            self.app.commands.push(registered);
        }
        Ok(json!(self.app.commands))
    }

    fn as_registered(&mut self, command: &Value, id: Value) -> Value {
        let mut registered = command.clone();
        registered["id"] = id;
        registered["application_id"] = json!(self.chat.application.to_string());
        registered["version"] = json!(self.next_id().to_string());
        for (name, default) in [
            ("type", json!(1)),
            ("description", json!("")),
            ("default_member_permissions", Value::Null),
            ("dm_permission", json!(true)),
            ("integration_types", json!([0])),
            ("contexts", Value::Null),
            ("nsfw", json!(false)),
        ] {
            if registered[name].is_null() {
                registered[name] = default;
            }
        }
        registered
    }
}

/// Validates all commands.
fn check_commands(commands: &[Value]) -> Result<(), ApiError> {
    for (kind, most) in [(1, 100), (2, 15), (3, 15)] {
        if commands.iter().filter(|command| command_type(command) == kind).count() > most {
            return Err(ApiError::code(30032));
        }
    }
    let mut form = FormErrors::default();
    for (at, command) in commands.iter().enumerate() {
        let path = at.to_string();
        check_name(&mut form, &format!("{path}.name"), command);
        match command_type(command) {
            1 => form.check_required_text(&format!("{path}.description"), &command["description"], 100),
            _ if command["description"].as_str().is_some_and(|text| !text.is_empty()) => {
                let message = "Context menu commands cannot have description";
                form.add(
                    &format!("{path}.description"),
                    "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION",
                    message,
                );
            }
            _ => {}
        }
        check_options(&mut form, &path, list(&command["options"]));
        if counted_characters(command) > MAX_COMMAND_CHARACTERS {
            let message = "Command exceeds maximum size (8000)";
            form.add(&path, "APPLICATION_COMMAND_TOO_LARGE", message);
        }
        let is_duplicate =
            |other: &Value| other["name"] == command["name"] && command_type(other) == command_type(command);
        if commands[..at].iter().any(is_duplicate) {
            let message = "Application command names must be unique";
            form.add(&format!("{path}.name"), "APPLICATION_COMMANDS_DUPLICATE_NAME", message);
        }
    }
    form.finish()
}

fn check_name(form: &mut FormErrors, path: &str, command: &Value) {
    form.check_required_text(path, &command["name"], 32);
    if command_type(command) == 1 {
        check_plain_name(form, path, &command["name"]);
    }
}

fn check_plain_name(form: &mut FormErrors, path: &str, name: &Value) {
    let name = name.as_str().unwrap_or_default();
    let is_allowed = |letter: char| letter.is_alphanumeric() || "-_'".contains(letter);
    if !name.chars().all(is_allowed) || name.to_lowercase() != name {
        let message = format!("Command name is invalid: {name}");
        form.add(path, "APPLICATION_COMMAND_INVALID_NAME", &message);
    }
}

fn check_options(form: &mut FormErrors, path: &str, options: &[Value]) {
    if options.len() > 25 {
        form.add(&format!("{path}.options"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    let mut optional = false;
    for (at, option) in options.iter().enumerate() {
        let path = format!("{path}.options.{at}");
        form.check_required_text(&format!("{path}.name"), &option["name"], 32);
        check_plain_name(form, &format!("{path}.name"), &option["name"]);
        form.check_required_text(&format!("{path}.description"), &option["description"], 100);
        if !matches!(option["type"].as_u64(), Some(1..=11)) {
            let message = "Value is not one of the allowed option types.";
            form.add(&format!("{path}.type"), "BASE_TYPE_CHOICES", message);
        }
        let required = option["required"] == true;
        if required && optional {
            let message = "Required options must be placed before non-required options";
            form.add(&path, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message);
        }
        optional |= !required;
        if options[..at].iter().any(|other| other["name"] == option["name"]) {
            let message = "Option names must be unique";
            form.add(&format!("{path}.name"), "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", message);
        }
        check_choices(form, &path, option);
        self::check_options(form, &path, list(&option["options"]));
    }
}

fn check_choices(form: &mut FormErrors, path: &str, option: &Value) {
    let choices = list(&option["choices"]);
    if choices.len() > 25 {
        form.add(&format!("{path}.choices"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    if option["autocomplete"] == true && !choices.is_empty() {
        let message = "Autocomplete options cannot have choices";
        form.add(path, "APPLICATION_COMMAND_AUTOCOMPLETE_AND_CHOICES", message);
    }
    for (at, choice) in choices.iter().enumerate() {
        form.check_required_text(&format!("{path}.choices.{at}.name"), &choice["name"], 100);
        if choice["value"].is_string() {
            form.check_required_text(&format!("{path}.choices.{at}.value"), &choice["value"], 100);
        }
    }
}

/// Returns the characters of a command that count: names, descriptions and values.
fn counted_characters(command: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let own = length(&command["name"]) + length(&command["description"]) + length(&command["value"]);
    let inside = list(&command["options"]).iter().chain(list(&command["choices"]));
    own + inside.map(counted_characters).sum::<usize>()
}
