//! Parses `mcp.json`, the list of servers.

use std::collections::BTreeMap;

use domain::tool::ServerToolKind;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use wire::Secret;

/// The maximum number of servers.
const MAX_SERVERS: usize = 20;

/// A server with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Letters, digits and hyphens, and single underscores.
    pub name: String,
    pub endpoint: ServerEndpoint,
    /// The kinds of its tools as declared by the user, by the server's names for them.
    pub kinds: BTreeMap<String, ServerToolKind>,
}

/// The way to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEndpoint {
    /// A program that the daemon starts.
    Program {
        command: String,
        args: Vec<String>,
        /// The environment variables for it.
        env: BTreeMap<String, String>,
    },
    Address {
        url: String,
        /// Headers of every request, such as a key.
        headers: BTreeMap<String, String>,
        /// The OAuth client to sign in as; without it, one is registered at the first sign-in.
        client: Option<OauthClient>,
    },
}

/// An OAuth client that the user registered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OauthClient {
    /// The client id: an id of the authorization server, or the https address of a client id
    /// metadata document.
    pub client_id: String,
    /// The client secret, for clients that have one.
    #[serde(default, deserialize_with = "deserialize_secret")]
    pub client_secret: Option<Secret>,
    /// The port of the redirect address, for authorization servers that compare it.
    #[serde(default)]
    pub callback_port: u16,
}

fn deserialize_secret<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Secret>, D::Error> {
    Ok(Option::<String>::deserialize(value)?.map(Secret::new))
}

#[derive(Deserialize)]
struct ConfigFile {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct ServerFields {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    oauth: Option<OauthClient>,
    #[serde(default)]
    kinds: BTreeMap<String, String>,
}

/// Parses the text of `mcp.json`. Returns the servers and the problems of those that are left out.
pub fn parse_config(text: &str) -> (Vec<ServerConfig>, Vec<String>) {
    let file: ConfigFile = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let like = "write {\"mcpServers\": {\"name\": {\"command\": \"program\", \"args\": []}}}";
            return (Vec::new(), vec![format!("mcp.json cannot be read: {error}. {like}.")]);
        }
    };
    let mut servers = Vec::new();
    let mut problems = Vec::new();
    for (name, value) in file.servers {
        match parse_server(&name, value) {
            Ok(_) if servers.len() == MAX_SERVERS => {
                problems.push(format!("mcp.json: `{name}` is one more than {MAX_SERVERS} servers."))
            }
            Ok((server, kinds)) => servers.push(ServerConfig { name, endpoint: server, kinds }),
            Err(why) => problems.push(format!("mcp.json: `{name}` is left out: {why}.")),
        }
    }
    (servers, problems)
}

fn parse_server(
    name: &str,
    value: Value,
) -> Result<(ServerEndpoint, BTreeMap<String, ServerToolKind>), String> {
    if !is_valid_name(name) {
        return Err(
            "a name is 1 to 32 letters, digits and hyphens, or single underscores between them".to_owned()
        );
    }
    let ServerFields { command, args, env, url, headers, oauth, kinds } =
        serde_json::from_value(value).map_err(|error| error.to_string())?;
    let kinds = kinds.into_iter().map(parse_kind).collect::<Result<_, _>>()?;
    let server = match (command, url) {
        (Some(command), None) if !command.trim().is_empty() => ServerEndpoint::Program { command, args, env },
        (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            ServerEndpoint::Address { url, headers, client: oauth }
        }
        (None, Some(url)) => {
            return Err(format!("`{url}` is no address that begins with http:// or https://"));
        }
        _ => return Err("it has either a `command` or a `url`".to_owned()),
    };
    Ok((server, kinds))
}

fn parse_kind((tool, word): (String, String)) -> Result<(String, ServerToolKind), String> {
    let words = ServerToolKind::ALL.map(|kind| format!("`{}`", kind.as_str()));
    let kind = ServerToolKind::from_name(&word)
        .ok_or_else(|| format!("the kind of `{tool}` is `{word}`; it can be {}", words.join(", ")))?;
    Ok((tool, kind))
}

/// Two underscores separate the server from the tool in the name that the model knows.
fn is_valid_name(name: &str) -> bool {
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let apart = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
    (1..=32).contains(&name.len()) && letters && apart
}
