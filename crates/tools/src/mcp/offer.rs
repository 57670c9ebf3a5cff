//! What a server offers: tools with a description and a schema, known by a fingerprint of all of it.

use std::collections::BTreeMap;

use domain::tool::ServerKind;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The most tools of one server.
const TOOLS: usize = 100;
/// The most bytes of a description.
const DESCRIPTION: usize = 4_000;
/// The most bytes of a schema.
const SCHEMA: usize = 20_000;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What its server calls it.
    pub tool: String,
    /// What the model knows it as.
    pub name: String,
    /// What its server says that it does.
    pub description: String,
    /// What it takes, as a JSON Schema.
    pub schema: String,
    /// What it does, if that is known: from `mcp.json`, or else from the server's annotations.
    pub kind: Option<ServerKind>,
    /// The annotations that say what it does, as the server sent them.
    pub(super) hints: String,
}

impl Offer {
    /// The tools in `listed`, which `server` sent, and what is wrong with those that are left out.
    pub(super) fn read(
        server: &str,
        listed: &[Value],
        kinds: &BTreeMap<String, ServerKind>,
    ) -> (Vec<Self>, Vec<String>) {
        let mut offers = Vec::<Self>::new();
        let mut wrong = Vec::new();
        for value in listed {
            match one(server, value, kinds) {
                Ok(offer) if offers.iter().any(|other| other.tool == offer.tool) => {
                    wrong.push(format!("{server}: `{}` is offered twice.", offer.tool));
                }
                Ok(_) if offers.len() == TOOLS => {
                    wrong.push(format!("{server}: only the first {TOOLS} tools are used."));
                    break;
                }
                Ok(offer) => offers.push(offer),
                Err(why) => wrong.push(format!("{server}: {why}")),
            }
        }
        let is_offered = |tool: &str| offers.iter().any(|offer| offer.tool == tool);
        for tool in kinds.keys().filter(|tool| !is_offered(tool)) {
            wrong.push(format!(
                "{server}: `kinds` in mcp.json names `{tool}`, which the server does not offer."
            ));
        }
        (offers, wrong)
    }

    /// What it is accepted by: another description, schema, name, kind or annotation has another one.
    pub fn fingerprint(&self) -> String {
        let kind = self.kind.map(|kind| format!("kind {}\n", kind.as_str())).unwrap_or_default();
        let whole = [&self.name, &self.description, &self.schema];
        let whole = whole.map(|part| format!("{}\n{part}\n", part.len())).concat() + &kind + &self.hints;
        Sha256::digest(whole).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn one(server: &str, value: &Value, kinds: &BTreeMap<String, ServerKind>) -> Result<Offer, String> {
    let tool = value["name"].as_str().unwrap_or_default();
    let fits = tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !(1..=64).contains(&tool.len()) || !fits {
        return Err(format!("`{}` is no name for a tool.", tool.chars().take(80).collect::<String>()));
    }
    let description = value["description"].as_str().unwrap_or_default();
    let schema = value.get("inputSchema").filter(|schema| schema.is_object());
    let schema = schema.ok_or_else(|| format!("`{tool}` does not say what it takes."))?.to_string();
    if description.len() > DESCRIPTION || schema.len() > SCHEMA {
        return Err(format!("`{tool}` says too much about itself."));
    }
    let name = format!("mcp__{server}__{tool}");
    let annotations = &value["annotations"];
    let kind = kinds.get(tool).copied().or_else(|| annotated(annotations));
    let hints = hints(annotations);
    Ok(Offer { tool: tool.to_owned(), name, description: description.to_owned(), schema, kind, hints })
}

/// The annotations that say what a tool does.
const HINTS: [&str; 3] = ["readOnlyHint", "destructiveHint", "openWorldHint"];

/// The kind that the server's annotations state. Only explicit hints count, and only those that keep the call at the
/// server: a tool that looks things up in the open world may carry private text there in its input.
fn annotated(annotations: &Value) -> Option<ServerKind> {
    match HINTS.map(|hint| annotations[hint].as_bool()) {
        [Some(true), _, Some(false)] => Some(ServerKind::Read),
        [Some(false), Some(false), Some(false)] => Some(ServerKind::Own),
        _ => None,
    }
}

/// The annotations in one spelling; nothing, where none is set.
fn hints(annotations: &Value) -> String {
    let set = HINTS.into_iter().filter(|hint| !annotations[*hint].is_null());
    set.map(|hint| format!("{hint} {}\n", annotations[hint])).collect()
}
