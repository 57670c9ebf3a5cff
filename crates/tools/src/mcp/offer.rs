//! What a server offers: tools with a description and a schema, known by a fingerprint of all of it.

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
}

impl Offer {
    /// The tools in `listed`, which `server` sent, and what is wrong with those that are left out.
    pub(super) fn read(server: &str, listed: &[Value]) -> (Vec<Self>, Vec<String>) {
        let (mut offers, mut wrong) = (Vec::<Self>::new(), Vec::new());
        for value in listed {
            match one(server, value) {
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
        (offers, wrong)
    }

    /// What it is accepted by: another description, schema or name has another one.
    pub fn fingerprint(&self) -> String {
        let whole =
            [&self.name, &self.description, &self.schema].map(|part| format!("{}\n{part}\n", part.len()));
        Sha256::digest(whole.concat()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn one(server: &str, value: &Value) -> Result<Offer, String> {
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
    Ok(Offer { tool: tool.to_owned(), name, description: description.to_owned(), schema })
}
