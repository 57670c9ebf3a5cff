//! The tools that a server offers, with a fingerprint of everything that the user accepts.

use std::collections::BTreeMap;

use domain::tool::ServerToolKind;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The maximum number of tools of one server.
const MAX_TOOLS: usize = 100;
/// The maximum number of bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 4_000;
/// The maximum number of bytes of a schema.
const MAX_SCHEMA_BYTES: usize = 20_000;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOffer {
    /// The server's name for it.
    pub tool: String,
    /// The model's name for it.
    pub name: String,
    /// The server's description.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: String,
    /// Its kind, if known: from `mcp.json`, or else from the server's annotations.
    pub kind: Option<ServerToolKind>,
    /// The relevant annotations as the server sent them.
    pub(super) hints: String,
}

impl ToolOffer {
    /// Parses the tools in `listed`, which `server` sent. Also returns the problems of those that
    /// are left out.
    pub(super) fn parse_list(
        server: &str,
        listed: &[Value],
        kinds: &BTreeMap<String, ServerToolKind>,
    ) -> (Vec<Self>, Vec<String>) {
        let mut offers = Vec::<Self>::new();
        let mut problems = Vec::new();
        for value in listed {
            match parse_offer(server, value, kinds) {
                Ok(offer) if offers.iter().any(|other| other.tool == offer.tool) => {
                    problems.push(format!("{server}: `{}` is offered twice.", offer.tool));
                }
                Ok(_) if offers.len() == MAX_TOOLS => {
                    problems.push(format!("{server}: only the first {MAX_TOOLS} tools are used."));
                    break;
                }
                Ok(offer) => offers.push(offer),
                Err(why) => problems.push(format!("{server}: {why}")),
            }
        }
        let is_offered = |tool: &str| offers.iter().any(|offer| offer.tool == tool);
        for tool in kinds.keys().filter(|tool| !is_offered(tool)) {
            problems.push(format!(
                "{server}: `kinds` in mcp.json names `{tool}`, which the server does not offer."
            ));
        }
        (offers, problems)
    }

    /// Returns a hash that changes with the description, schema, name, kind or annotations.
    pub fn fingerprint(&self) -> String {
        let kind = self.kind.map(|kind| format!("kind {}\n", kind.as_str())).unwrap_or_default();
        let whole = [&self.name, &self.description, &self.schema];
        let whole = whole.map(|part| format!("{}\n{part}\n", part.len())).concat() + &kind + &self.hints;
        Sha256::digest(whole).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn parse_offer(
    server: &str,
    value: &Value,
    kinds: &BTreeMap<String, ServerToolKind>,
) -> Result<ToolOffer, String> {
    let tool = value["name"].as_str().unwrap_or_default();
    let fits = tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !(1..=64).contains(&tool.len()) || !fits {
        return Err(format!("`{}` is no name for a tool.", tool.chars().take(80).collect::<String>()));
    }
    let description = value["description"].as_str().unwrap_or_default();
    let schema = value.get("inputSchema").filter(|schema| schema.is_object());
    let schema = schema.ok_or_else(|| format!("`{tool}` does not say what it takes."))?.to_string();
    if description.len() > MAX_DESCRIPTION_BYTES || schema.len() > MAX_SCHEMA_BYTES {
        return Err(format!("`{tool}` says too much about itself."));
    }
    let name = format!("mcp__{server}__{tool}");
    let annotations = &value["annotations"];
    let kind = kinds.get(tool).copied().or_else(|| kind_from_annotations(annotations));
    let hints = annotation_text(annotations);
    Ok(ToolOffer { tool: tool.to_owned(), name, description: description.to_owned(), schema, kind, hints })
}

/// The annotations that are taken into account.
const HINTS: [&str; 3] = ["readOnlyHint", "destructiveHint", "openWorldHint"];

/// The kind stated by the server's annotations. Only explicit hints count, and only those that keep
/// the call at the server: a tool that searches the open world may send private text there in its
/// input.
fn kind_from_annotations(annotations: &Value) -> Option<ServerToolKind> {
    match HINTS.map(|hint| annotations[hint].as_bool()) {
        [Some(true), _, Some(false)] => Some(ServerToolKind::Read),
        [Some(false), Some(false), Some(false)] => Some(ServerToolKind::Own),
        _ => None,
    }
}

/// Serializes the annotations that are set; empty if there are none.
fn annotation_text(annotations: &Value) -> String {
    let set = HINTS.into_iter().filter(|hint| !annotations[*hint].is_null());
    set.map(|hint| format!("{hint} {}\n", annotations[hint])).collect()
}
