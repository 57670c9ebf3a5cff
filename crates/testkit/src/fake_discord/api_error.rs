//! Errors of the REST API, with Discord's own codes and texts.

use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiError {
    pub status: u16,
    pub code: u32,
    pub message: String,
    pub errors: Option<Value>,
}

/// The known error codes, with their statuses and messages.
const ERROR_CODES: &[(u32, u16, &str)] = &[
    (10002, 404, "Unknown Application"),
    (10003, 404, "Unknown Channel"),
    (10008, 404, "Unknown Message"),
    (10013, 404, "Unknown User"),
    (10014, 400, "Unknown Emoji"),
    (10015, 404, "Unknown Webhook"),
    (10062, 404, "Unknown interaction"),
    (10063, 404, "Unknown application command"),
    (30010, 400, "Maximum number of reactions reached (20)"),
    (30032, 400, "Maximum number of application commands reached (100)"),
    (30034, 429, "Max number of daily application command creates has been reached (200)"),
    (30046, 429, "Maximum number of edits to messages older than 1 hour reached. Try again later"),
    (40005, 413, "Request entity too large"),
    (40060, 400, "Interaction has already been acknowledged."),
    (40094, 400, "This interaction has reached the maximum number of follow up messages"),
    (50001, 403, "Missing Access"),
    (50003, 403, "Cannot execute action on a DM channel"),
    (50005, 403, "Cannot edit a message authored by another user"),
    (50006, 400, "Cannot send an empty message"),
    (50007, 403, "Cannot send messages to this user"),
    (50013, 403, "Missing Permissions"),
    (50027, 401, "Invalid Webhook Token"),
    (50109, 400, "The request body contains invalid JSON."),
    (50278, 403, "Cannot send messages to this user due to having no mutual guilds"),
];

impl ApiError {
    /// Creates the error with `code`.
    pub fn code(code: u32) -> Self {
        let known = ERROR_CODES.iter().find(|(known, ..)| *known == code);
        let (status, message) =
            known.map_or((400, "Bad Request"), |(_, status, message)| (*status, *message));
        Self { status, code, message: message.into(), errors: None }
    }

    /// Creates an error that has only a status.
    pub fn status(status: u16) -> Self {
        let message = match status {
            401 => "401: Unauthorized",
            404 => "404: Not Found",
            405 => "405: Method Not Allowed",
            502 => "502: Bad Gateway",
            503 => "503: Service Unavailable",
            _ => "500: Internal Server Error",
        };
        Self { status, code: 0, message: message.into(), errors: None }
    }

    /// Returns the response body.
    pub fn body(&self) -> Value {
        let mut body = json!({"message": self.message, "code": self.code});
        if let Some(errors) = &self.errors {
            body["errors"] = errors.clone();
        }
        body
    }
}

/// Collects the validation errors of a request, so that all are reported at once.
#[derive(Debug, Default)]
pub(super) struct FormErrors {
    errors: Map<String, Value>,
}

impl FormErrors {
    /// Adds an error at `path`, whose parts are joined by dots.
    pub fn add(&mut self, path: &str, code: &str, message: &str) {
        let mut node = &mut self.errors;
        for part in path.split('.').filter(|part| !part.is_empty()) {
            let next = node.entry(part).or_insert_with(|| json!({}));
            let Some(inside) = next.as_object_mut() else { return };
            node = inside;
        }
        let listed = node.entry("_errors").or_insert_with(|| json!([]));
        if let Some(listed) = listed.as_array_mut() {
            listed.push(json!({"code": code, "message": message}));
        }
    }

    /// Checks an optional text of at most `most` characters.
    pub fn check_text(&mut self, path: &str, value: &Value, max: usize) {
        let Some(text) = value.as_str() else {
            if !value.is_null() {
                self.add(path, "BASE_TYPE_BAD_STRING", "Could not interpret input as string.");
            }
            return;
        };
        if text.trim().chars().count() > max {
            self.add(path, "BASE_TYPE_MAX_LENGTH", &format!("Must be {max} or fewer in length."));
        }
    }

    /// Checks a required text of one to `max` characters.
    pub fn check_required_text(&mut self, path: &str, value: &Value, max: usize) {
        let Some(text) = value.as_str() else {
            self.add(path, "BASE_TYPE_REQUIRED", "This field is required");
            return;
        };
        self.check_length(path, text.chars().count(), 1, max);
    }

    /// Checks that a length is within bounds.
    pub fn check_length(&mut self, path: &str, length: usize, min: usize, max: usize) {
        if !(min..=max).contains(&length) {
            let message = format!("Must be between {min} and {max} in length.");
            self.add(path, "BASE_TYPE_BAD_LENGTH", &message);
        }
    }

    /// Returns an error if there are any validation errors.
    pub fn finish(self) -> Result<(), ApiError> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let errors = Some(Value::Object(self.errors));
        Err(ApiError { status: 400, code: 50035, message: "Invalid Form Body".into(), errors })
    }

    /// Creates an error with a single validation error.
    pub fn single(path: &str, code: &str, message: &str) -> ApiError {
        let mut form = Self::default();
        form.add(path, code, message);
        let errors = Some(Value::Object(form.errors));
        ApiError { status: 400, code: 50035, message: "Invalid Form Body".into(), errors }
    }
}
