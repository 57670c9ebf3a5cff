//! Validation of buttons, menus and modals.

use serde_json::{Value, json};

use super::api_error::{ApiError, FormErrors};
use super::chat::COMPONENTS_V2;

/// The set of components that a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComponentVersion {
    /// Rows below a text.
    V1,
    /// A message that consists of components.
    V2,
}

impl ComponentVersion {
    /// Returns the version for a message with these flags.
    pub fn from_flags(flags: u64) -> Self {
        if flags & COMPONENTS_V2 == 0 { Self::V1 } else { Self::V2 }
    }
}

const ROW: u64 = 1;
const BUTTON: u64 = 2;
const TEXT_INPUT: u64 = 4;
const LABEL: u64 = 18;

fn component_type(component: &Value) -> u64 {
    component["type"].as_u64().unwrap_or(0)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Validates the components of a message.
pub(super) fn check_components(form: &mut FormErrors, value: &Value, version: ComponentVersion) {
    let rows = list(value);
    if !value.is_null() && !value.is_array() {
        form.add("components", "BASE_TYPE_BAD_LIST", "Only iterables may be used in a ListType");
    }
    match version {
        ComponentVersion::V1 => {
            if rows.len() > 5 {
                form.add("components", "BASE_TYPE_BAD_LENGTH", "Must be 5 or fewer in length.");
            }
            for (at, component) in rows.iter().enumerate() {
                match component_type(component) {
                    ROW => check_row(form, &format!("components.{at}"), component),
                    _ => add_type_error(form, &format!("components.{at}.type"), "(1,)"),
                }
            }
        }
        ComponentVersion::V2 => {
            if all_components(rows).len() > 40 {
                let message = "The total number of components must be 40 or fewer";
                form.add("components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", message);
            }
            rows.iter()
                .enumerate()
                .for_each(|(at, each)| check_v2_component(form, &format!("components.{at}"), each));
        }
    }
    check_unique_ids(form, rows);
}

fn add_type_error(form: &mut FormErrors, path: &str, allowed: &str) {
    form.add(path, "UNION_TYPE_CHOICES", &format!("Value of field \"type\" must be one of {allowed}."));
}

fn check_row(form: &mut FormErrors, path: &str, row: &Value) {
    let inside = list(&row["components"]);
    let menus = inside.iter().filter(|component| component_type(component) != BUTTON).count();
    let most = if menus > 0 { 1 } else { 5 };
    form.check_length(&format!("{path}.components"), inside.len(), 1, most);
    for (at, component) in inside.iter().enumerate() {
        let path = format!("{path}.components.{at}");
        match component_type(component) {
            BUTTON => check_button(form, &path, component),
            3 | 5..=8 => check_menu(form, &path, component),
            _ => add_type_error(form, &format!("{path}.type"), "(2, 3, 5, 6, 7, 8)"),
        }
    }
}

fn check_button(form: &mut FormErrors, path: &str, button: &Value) {
    form.check_text(&format!("{path}.label"), &button["label"], 80);
    match button["style"].as_u64() {
        Some(1..=4) => form.check_required_text(&format!("{path}.custom_id"), &button["custom_id"], 100),
        Some(5) => form.check_required_text(&format!("{path}.url"), &button["url"], 512),
        Some(6) => {}
        _ => form.add(&format!("{path}.style"), "BASE_TYPE_REQUIRED", "This field is required"),
    }
    let without_label = button["label"].as_str().is_none_or(|label| label.trim().is_empty());
    if without_label && button["emoji"].is_null() && button["style"] != 6 {
        let message = "A button must have a label or an emoji";
        form.add(path, "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", message);
    }
}

fn check_menu(form: &mut FormErrors, path: &str, menu: &Value) {
    form.check_required_text(&format!("{path}.custom_id"), &menu["custom_id"], 100);
    form.check_text(&format!("{path}.placeholder"), &menu["placeholder"], 150);
    if component_type(menu) != 3 {
        return;
    }
    let options = list(&menu["options"]);
    form.check_length(&format!("{path}.options"), options.len(), 1, 25);
    for (at, option) in options.iter().enumerate() {
        let path = format!("{path}.options.{at}");
        form.check_required_text(&format!("{path}.label"), &option["label"], 100);
        form.check_required_text(&format!("{path}.value"), &option["value"], 100);
        form.check_text(&format!("{path}.description"), &option["description"], 100);
        if options[..at].iter().any(|other| other["value"] == option["value"]) {
            let message = "The specified option value is already used";
            form.add(&format!("{path}.value"), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", message);
        }
    }
    let most = menu["max_values"].as_u64().unwrap_or(1);
    let least = menu["min_values"].as_u64().unwrap_or(1);
    if most < 1 || most as usize > options.len().min(25) || least > most {
        form.add(&format!("{path}.max_values"), "NUMBER_TYPE_MAX", "Value is out of range.");
    }
}

/// Validates a component of the second version: containers, sections, texts.
fn check_v2_component(form: &mut FormErrors, path: &str, component: &Value) {
    match component_type(component) {
        ROW => check_row(form, path, component),
        9 | 17 => {
            for (at, inside) in list(&component["components"]).iter().enumerate() {
                check_v2_component(form, &format!("{path}.components.{at}"), inside);
            }
            if component_type(&component["accessory"]) == BUTTON {
                check_button(form, &format!("{path}.accessory"), &component["accessory"]);
            }
        }
        10 => form.check_required_text(&format!("{path}.content"), &component["content"], 4_000),
        12..=14 => {}
        _ => add_type_error(form, &format!("{path}.type"), "(1, 9, 10, 12, 13, 14, 17)"),
    }
}

/// Returns every component, at any depth.
pub(super) fn all_components(rows: &[Value]) -> Vec<&Value> {
    let mut found = Vec::new();
    for component in rows {
        found.push(component);
        found.extend(all_components(list(&component["components"])));
        for one in ["accessory", "component"] {
            if component[one].is_object() {
                found.extend(all_components(std::slice::from_ref(&component[one])));
            }
        }
    }
    found
}

fn check_unique_ids(form: &mut FormErrors, rows: &[Value]) {
    let ids: Vec<_> =
        all_components(rows).into_iter().filter_map(|component| component["custom_id"].as_str()).collect();
    if let Some(at) = (1..ids.len()).find(|at| ids[..*at].contains(&ids[*at])) {
        let message = format!("Component custom id cannot be duplicated: {}", ids[at]);
        form.add("components", "COMPONENT_CUSTOM_ID_DUPLICATED", &message);
    }
}

/// Returns the components with the ids that Discord assigns.
pub(super) fn with_ids(value: &Value) -> Value {
    let mut next = 0;
    let mut rows = value.as_array().cloned().unwrap_or_default();
    rows.iter_mut().for_each(|row| assign_ids(row, &mut next));
    Value::Array(rows)
}

fn assign_ids(component: &mut Value, next: &mut u64) {
    if !component.is_object() {
        return;
    }
    *next += 1;
    if component["id"].is_null() {
        component["id"] = json!(*next);
    }
    for inside in ["components", "accessory", "component"] {
        match component.get_mut(inside) {
            Some(Value::Array(list)) => list.iter_mut().for_each(|each| assign_ids(each, next)),
            Some(one) if one.is_object() => assign_ids(one, next),
            Some(_) | None => {}
        }
    }
}

/// Validates a modal.
pub(super) fn check_modal(modal: &Value) -> Result<(), ApiError> {
    let mut form = FormErrors::default();
    form.check_required_text("data.title", &modal["title"], 45);
    form.check_required_text("data.custom_id", &modal["custom_id"], 100);
    let rows = list(&modal["components"]);
    form.check_length("data.components", rows.len(), 1, 5);
    for (at, row) in rows.iter().enumerate() {
        let path = format!("data.components.{at}");
        match component_type(row) {
            ROW if list(&row["components"]).len() == 1 => {
                form.check_required_text(
                    &format!("{path}.components.0.label"),
                    &row["components"][0]["label"],
                    45,
                );
                check_input(&mut form, &format!("{path}.components.0"), &row["components"][0]);
            }
            LABEL => {
                form.check_required_text(&format!("{path}.label"), &row["label"], 45);
                form.check_text(&format!("{path}.description"), &row["description"], 100);
                check_input(&mut form, &format!("{path}.component"), &row["component"]);
            }
            10 => {}
            _ => add_type_error(&mut form, &format!("{path}.type"), "(1, 10, 18)"),
        }
    }
    check_unique_ids(&mut form, rows);
    form.finish()
}

fn check_input(form: &mut FormErrors, path: &str, input: &Value) {
    match component_type(input) {
        TEXT_INPUT => {
            form.check_required_text(&format!("{path}.custom_id"), &input["custom_id"], 100);
            form.check_text(&format!("{path}.value"), &input["value"], 4_000);
            form.check_text(&format!("{path}.placeholder"), &input["placeholder"], 100);
            if !matches!(input["style"].as_u64(), Some(1 | 2)) {
                form.add(&format!("{path}.style"), "BASE_TYPE_REQUIRED", "This field is required");
            }
            if input["max_length"].as_u64().is_some_and(|most| !(1..=4_000).contains(&most)) {
                form.add(&format!("{path}.max_length"), "NUMBER_TYPE_MAX", "Value is out of range.");
            }
        }
        3 | 5..=8 => check_menu(form, path, input),
        _ => add_type_error(form, &format!("{path}.type"), "(3, 4, 5, 6, 7, 8)"),
    }
}
