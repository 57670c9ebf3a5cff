//! Validation of buttons, menus and modals.

use serde_json::{Value, json};

use super::refusal::{Form, Refusal};
use super::talk::COMPONENTS_V2;

/// The set of components that a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Rows below a text.
    One,
    /// A message that consists of components.
    Two,
}

impl Version {
    /// Returns the version for a message with these flags.
    pub fn of(flags: u64) -> Self {
        if flags & COMPONENTS_V2 == 0 { Self::One } else { Self::Two }
    }
}

const ROW: u64 = 1;
const BUTTON: u64 = 2;
const TEXT_INPUT: u64 = 4;
const LABEL: u64 = 18;

fn kind(component: &Value) -> u64 {
    component["type"].as_u64().unwrap_or(0)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Validates the components of a message.
pub(super) fn check(form: &mut Form, value: &Value, version: Version) {
    let rows = list(value);
    if !value.is_null() && !value.is_array() {
        form.wrong("components", "BASE_TYPE_BAD_LIST", "Only iterables may be used in a ListType");
    }
    match version {
        Version::One => {
            if rows.len() > 5 {
                form.wrong("components", "BASE_TYPE_BAD_LENGTH", "Must be 5 or fewer in length.");
            }
            for (at, component) in rows.iter().enumerate() {
                match kind(component) {
                    ROW => row(form, &format!("components.{at}"), component),
                    _ => not_one_of(form, &format!("components.{at}.type"), "(1,)"),
                }
            }
        }
        Version::Two => {
            if all(rows).len() > 40 {
                let message = "The total number of components must be 40 or fewer";
                form.wrong("components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", message);
            }
            rows.iter().enumerate().for_each(|(at, each)| laid_out(form, &format!("components.{at}"), each));
        }
    }
    unique(form, rows);
}

fn not_one_of(form: &mut Form, path: &str, allowed: &str) {
    form.wrong(path, "UNION_TYPE_CHOICES", &format!("Value of field \"type\" must be one of {allowed}."));
}

fn row(form: &mut Form, path: &str, row: &Value) {
    let inside = list(&row["components"]);
    let menus = inside.iter().filter(|component| kind(component) != BUTTON).count();
    let most = if menus > 0 { 1 } else { 5 };
    form.between(&format!("{path}.components"), inside.len(), 1, most);
    for (at, component) in inside.iter().enumerate() {
        let path = format!("{path}.components.{at}");
        match kind(component) {
            BUTTON => button(form, &path, component),
            3 | 5..=8 => menu(form, &path, component),
            _ => not_one_of(form, &format!("{path}.type"), "(2, 3, 5, 6, 7, 8)"),
        }
    }
}

fn button(form: &mut Form, path: &str, button: &Value) {
    form.text(&format!("{path}.label"), &button["label"], 80);
    match button["style"].as_u64() {
        Some(1..=4) => form.needed(&format!("{path}.custom_id"), &button["custom_id"], 100),
        Some(5) => form.needed(&format!("{path}.url"), &button["url"], 512),
        Some(6) => {}
        _ => form.wrong(&format!("{path}.style"), "BASE_TYPE_REQUIRED", "This field is required"),
    }
    let silent = button["label"].as_str().is_none_or(|label| label.trim().is_empty());
    if silent && button["emoji"].is_null() && button["style"] != 6 {
        let message = "A button must have a label or an emoji";
        form.wrong(path, "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", message);
    }
}

fn menu(form: &mut Form, path: &str, menu: &Value) {
    form.needed(&format!("{path}.custom_id"), &menu["custom_id"], 100);
    form.text(&format!("{path}.placeholder"), &menu["placeholder"], 150);
    if kind(menu) != 3 {
        return;
    }
    let options = list(&menu["options"]);
    form.between(&format!("{path}.options"), options.len(), 1, 25);
    for (at, option) in options.iter().enumerate() {
        let path = format!("{path}.options.{at}");
        form.needed(&format!("{path}.label"), &option["label"], 100);
        form.needed(&format!("{path}.value"), &option["value"], 100);
        form.text(&format!("{path}.description"), &option["description"], 100);
        if options[..at].iter().any(|other| other["value"] == option["value"]) {
            let message = "The specified option value is already used";
            form.wrong(&format!("{path}.value"), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", message);
        }
    }
    let most = menu["max_values"].as_u64().unwrap_or(1);
    let least = menu["min_values"].as_u64().unwrap_or(1);
    if most < 1 || most as usize > options.len().min(25) || least > most {
        form.wrong(&format!("{path}.max_values"), "NUMBER_TYPE_MAX", "Value is out of range.");
    }
}

/// Validates a component of the second version: containers, sections, texts.
fn laid_out(form: &mut Form, path: &str, component: &Value) {
    match kind(component) {
        ROW => row(form, path, component),
        9 | 17 => {
            for (at, inside) in list(&component["components"]).iter().enumerate() {
                laid_out(form, &format!("{path}.components.{at}"), inside);
            }
            if kind(&component["accessory"]) == BUTTON {
                button(form, &format!("{path}.accessory"), &component["accessory"]);
            }
        }
        10 => form.needed(&format!("{path}.content"), &component["content"], 4_000),
        12..=14 => {}
        _ => not_one_of(form, &format!("{path}.type"), "(1, 9, 10, 12, 13, 14, 17)"),
    }
}

/// Returns every component, at any depth.
pub(super) fn all(rows: &[Value]) -> Vec<&Value> {
    let mut found = Vec::new();
    for component in rows {
        found.push(component);
        found.extend(all(list(&component["components"])));
        for one in ["accessory", "component"] {
            if component[one].is_object() {
                found.extend(all(std::slice::from_ref(&component[one])));
            }
        }
    }
    found
}

fn unique(form: &mut Form, rows: &[Value]) {
    let ids: Vec<_> = all(rows).into_iter().filter_map(|component| component["custom_id"].as_str()).collect();
    if let Some(at) = (1..ids.len()).find(|at| ids[..*at].contains(&ids[*at])) {
        let message = format!("Component custom id cannot be duplicated: {}", ids[at]);
        form.wrong("components", "COMPONENT_CUSTOM_ID_DUPLICATED", &message);
    }
}

/// Returns the components with the ids that Discord assigns.
pub(super) fn numbered(value: &Value) -> Value {
    let mut next = 0;
    let mut rows = value.as_array().cloned().unwrap_or_default();
    rows.iter_mut().for_each(|row| number(row, &mut next));
    Value::Array(rows)
}

fn number(component: &mut Value, next: &mut u64) {
    if !component.is_object() {
        return;
    }
    *next += 1;
    if component["id"].is_null() {
        component["id"] = json!(*next);
    }
    for inside in ["components", "accessory", "component"] {
        match component.get_mut(inside) {
            Some(Value::Array(list)) => list.iter_mut().for_each(|each| number(each, next)),
            Some(one) if one.is_object() => number(one, next),
            Some(_) | None => {}
        }
    }
}

/// Validates a modal.
pub(super) fn check_modal(modal: &Value) -> Result<(), Refusal> {
    let mut form = Form::default();
    form.needed("data.title", &modal["title"], 45);
    form.needed("data.custom_id", &modal["custom_id"], 100);
    let rows = list(&modal["components"]);
    form.between("data.components", rows.len(), 1, 5);
    for (at, row) in rows.iter().enumerate() {
        let path = format!("data.components.{at}");
        match kind(row) {
            ROW if list(&row["components"]).len() == 1 => {
                form.needed(&format!("{path}.components.0.label"), &row["components"][0]["label"], 45);
                input(&mut form, &format!("{path}.components.0"), &row["components"][0]);
            }
            LABEL => {
                form.needed(&format!("{path}.label"), &row["label"], 45);
                form.text(&format!("{path}.description"), &row["description"], 100);
                input(&mut form, &format!("{path}.component"), &row["component"]);
            }
            10 => {}
            _ => not_one_of(&mut form, &format!("{path}.type"), "(1, 10, 18)"),
        }
    }
    unique(&mut form, rows);
    form.done()
}

fn input(form: &mut Form, path: &str, input: &Value) {
    match kind(input) {
        TEXT_INPUT => {
            form.needed(&format!("{path}.custom_id"), &input["custom_id"], 100);
            form.text(&format!("{path}.value"), &input["value"], 4_000);
            form.text(&format!("{path}.placeholder"), &input["placeholder"], 100);
            if !matches!(input["style"].as_u64(), Some(1 | 2)) {
                form.wrong(&format!("{path}.style"), "BASE_TYPE_REQUIRED", "This field is required");
            }
            if input["max_length"].as_u64().is_some_and(|most| !(1..=4_000).contains(&most)) {
                form.wrong(&format!("{path}.max_length"), "NUMBER_TYPE_MAX", "Value is out of range.");
            }
        }
        3 | 5..=8 => menu(form, path, input),
        _ => not_one_of(form, &format!("{path}.type"), "(3, 4, 5, 6, 7, 8)"),
    }
}
