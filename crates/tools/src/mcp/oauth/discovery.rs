//! Discovery: from a 401 to the endpoints of an authorization server.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde_json::{Map, Value, json};

use super::{client_for, fetch_json, resource_of};
use crate::mcp::protocol::{MODERN_VERSION, add_envelope, request, string_array};

/// The endpoints and requirements of the authorization server of a server.
#[derive(Debug)]
pub(super) struct AuthorizationServer {
    pub issuer: String,
    pub authorization_endpoint: Url,
    pub token_endpoint: Url,
    pub registration_endpoint: Option<Url>,
    /// The scopes to ask for, with spaces between them.
    pub scope: Option<String>,
    /// Each authorization response must contain the issuer.
    pub requires_issuer: bool,
    /// The supported client authentication methods of the token endpoint.
    pub auth_methods: Vec<String>,
}

/// The `Bearer` challenge of a 401.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
}

/// Finds the authorization server of the server at `url`. A failure is the end of a sentence about that server.
pub(super) async fn discover(url: &Url) -> Result<AuthorizationServer, String> {
    let Some(challenge) = request_challenge(url).await? else {
        return Err("does not ask for a sign-in".to_owned());
    };
    let metadata = fetch_resource_metadata(url, &challenge).await?;
    let (issuer, scopes) = match &metadata {
        Some(metadata) => {
            let resource = metadata["resource"].as_str().unwrap_or_default();
            if !applies_to(resource, url) {
                return Err("describes the sign-in of another address, so nothing is sent there".to_owned());
            }
            let servers = metadata.get("authorization_servers").and_then(string_array).unwrap_or_default();
            let issuer = servers.first().ok_or("does not name an authorization server")?;
            (
                String::from(*issuer),
                metadata.get("scopes_supported").and_then(string_array).unwrap_or_default(),
            )
        }
        // Servers of 2025-03-26 are their own authorization server.
        None => (url.origin().ascii_serialization(), Vec::new()),
    };
    let found = fetch_server_metadata(&issuer).await?;
    let scope = challenge.scope.or_else(|| Some(scopes.join(" ")).filter(|scope| !scope.is_empty()));
    parse_metadata(&found, scope)
}

/// Sends a request without a token. Returns `None` if the status is not 401.
async fn request_challenge(url: &Url) -> Result<Option<Challenge>, String> {
    let mut params = Map::new();
    add_envelope(&mut params, MODERN_VERSION);
    let message = request(1, "server/discover", &json!(params));
    let sent = client_for(url)?
        .post(url.clone())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .header("mcp-protocol-version", MODERN_VERSION)
        .header("mcp-method", "server/discover")
        .body(message.to_string())
        .send();
    let response = sent.await.map_err(|error| format!("cannot be reached ({})", wire::root_cause(&error)))?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(None);
    }
    Ok(Some(Challenge::from_headers(response.headers())))
}

impl Challenge {
    fn from_headers(headers: &HeaderMap) -> Self {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let bearer = texts.filter(|text| text.to_ascii_lowercase().starts_with("bearer"));
        bearer.map(Self::parse).next().unwrap_or_default()
    }

    /// Parses `Bearer name="value", name=value`.
    fn parse(text: &str) -> Self {
        let mut challenge = Self::default();
        let mut rest = text.get("bearer".len()..).unwrap_or_default();
        while let Some((name, after)) = rest.split_once('=') {
            let (value, left) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_once([',', ' ']).unwrap_or((after, "")),
            };
            match name.trim_matches([' ', ',']).to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value.to_owned()),
                "scope" => challenge.scope = Some(value.to_owned()),
                _ => {}
            }
            rest = left;
        }
        challenge
    }
}

/// Fetches the protected resource metadata, or `None` if the server has none.
async fn fetch_resource_metadata(url: &Url, challenge: &Challenge) -> Result<Option<Value>, String> {
    let candidates = match &challenge.resource_metadata {
        Some(address) => {
            vec![address.parse().map_err(|_| "names a wrong address of its resource metadata".to_owned())?]
        }
        None => well_known_urls(url, "oauth-protected-resource"),
    };
    for address in candidates {
        if let Some(document) = fetch_document(&address).await? {
            return Ok(Some(document));
        }
    }
    match challenge.resource_metadata {
        Some(_) => Err("names resource metadata that cannot be read".to_owned()),
        None => Ok(None),
    }
}

/// Fetches the metadata of the authorization server `issuer`, and checks that it is that server's own.
async fn fetch_server_metadata(issuer: &str) -> Result<Value, String> {
    let url: Url =
        issuer.parse().map_err(|_| "names an authorization server without an address".to_owned())?;
    let mut candidates = well_known_urls(&url, "oauth-authorization-server");
    candidates.truncate(1);
    let oidc = well_known_urls(&url, "openid-configuration");
    candidates.extend(oidc.into_iter().take(1));
    let path = url.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut appended = url.clone();
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        candidates.push(appended);
    }
    for address in candidates {
        let Some(document) = fetch_document(&address).await? else { continue };
        let reported_issuer = document["issuer"].as_str().unwrap_or_default();
        if reported_issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(format!(
                "names the authorization server {}, whose metadata is of another one. Nothing was sent there",
                wire::host_and_port(&url)
            ));
        }
        return Ok(document);
    }
    Err(format!("names the authorization server {}, which has no metadata", wire::host_and_port(&url)))
}

fn parse_metadata(metadata: &Value, scope: Option<String>) -> Result<AuthorizationServer, String> {
    let address = |key: &str| -> Result<Option<Url>, String> {
        let Some(text) = metadata[key].as_str() else { return Ok(None) };
        let url: Url = text.parse().map_err(|_| format!("has an authorization server with a wrong {key}"))?;
        wire::check_key_transport(&url)?;
        Ok(Some(url))
    };
    let required =
        |key: &str| address(key)?.ok_or_else(|| format!("has an authorization server without {key}"));
    let list = |key: &str| metadata.get(key).and_then(string_array).unwrap_or_default();
    if !list("code_challenge_methods_supported").contains(&"S256") {
        return Err(
            "has an authorization server without PKCE (S256), so a sign-in would not be safe".to_owned()
        );
    }
    // Some servers issue a refresh token only for this scope.
    let scope = match scope {
        Some(scope)
            if list("scopes_supported").contains(&"offline_access")
                && !scope.split(' ').any(|one| one == "offline_access") =>
        {
            Some(format!("{scope} offline_access"))
        }
        scope => scope,
    };
    Ok(AuthorizationServer {
        // Unchanged, since the response must contain the same text.
        issuer: metadata["issuer"].as_str().unwrap_or_default().to_owned(),
        authorization_endpoint: required("authorization_endpoint")?,
        token_endpoint: required("token_endpoint")?,
        registration_endpoint: address("registration_endpoint")?,
        scope,
        requires_issuer: metadata["authorization_response_iss_parameter_supported"] == true,
        auth_methods: list("token_endpoint_auth_methods_supported").into_iter().map(str::to_owned).collect(),
    })
}

/// The addresses of a well-known document: between origin and path, then at the origin.
fn well_known_urls(url: &Url, name: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let at = |path: String| {
        let mut address = url.clone();
        address.set_query(None);
        address.set_fragment(None);
        address.set_path(&path);
        address
    };
    let root = at(format!("/.well-known/{name}"));
    if path.is_empty() { vec![root] } else { vec![at(format!("/.well-known/{name}{path}")), root] }
}

/// Fetches a JSON object, or `None` if there is none at that address.
async fn fetch_document(address: &Url) -> Result<Option<Value>, String> {
    let request = client_for(address)?.get(address.clone()).header(ACCEPT, "application/json");
    let unreachable =
        |why| format!("has a sign-in at {} that cannot be reached ({why})", wire::host_and_port(address));
    let (status, document) = fetch_json(request).await.map_err(unreachable)?;
    if status.is_server_error() {
        return Err(format!("has a sign-in at {} that answers with {status}", wire::host_and_port(address)));
    }
    Ok(Some(document).filter(|document| status.is_success() && document.is_object()))
}

/// Returns whether metadata of `resource` applies to `url`: same origin, and the same path or a
/// parent of it.
fn applies_to(resource: &str, url: &Url) -> bool {
    let Ok(resource) = resource.parse::<Url>() else { return false };
    let folder = format!("{}/", resource.path().trim_end_matches('/'));
    let path = format!("{}/", url.path().trim_end_matches('/'));
    resource.origin() == url.origin()
        && path.starts_with(&folder)
        && (resource.query().is_none() || resource_of(&resource) == resource_of(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_is_parsed_in_any_order() {
        let read = Challenge::parse(
            r#"Bearer error="invalid_token", scope="a b", resource_metadata="https://r/x,y""#,
        );
        assert_eq!(read.scope.as_deref(), Some("a b"));
        assert_eq!(read.resource_metadata.as_deref(), Some("https://r/x,y"));
        assert_eq!(Challenge::parse("Bearer"), Challenge::default());
        assert_eq!(Challenge::parse("Bearer scope=a, x=y").scope.as_deref(), Some("a"));
    }

    /// RFC 9728 section 3.3: metadata of another resource is not used.
    #[test]
    fn metadata_applies_only_to_its_own_address() {
        let url: Url = "https://r.example/team/mcp".parse().unwrap();
        for resource in ["https://r.example", "https://r.example/team", "https://r.example/team/mcp"] {
            assert!(applies_to(resource, &url), "{resource}");
        }
        for resource in ["https://e.example/team/mcp", "https://r.example/te", "http://r.example/", "", "x"] {
            assert!(!applies_to(resource, &url), "{resource}");
        }
    }

    #[test]
    fn well_known_part_is_between_origin_and_path() {
        let check = |url: &str, expected: &[&str]| {
            let found: Vec<String> =
                well_known_urls(&url.parse().unwrap(), "x").into_iter().map(String::from).collect();
            assert_eq!(found, expected);
        };
        check("https://a/sse?b", &["https://a/.well-known/x/sse", "https://a/.well-known/x"]);
        check("https://a/", &["https://a/.well-known/x"]);
    }

    #[test]
    fn a_server_without_pkce_or_with_plain_http_is_refused() {
        let metadata = |methods: Value, token: &str| {
            json!({
                "authorization_endpoint": "https://a/authorize", "token_endpoint": token,
                "code_challenge_methods_supported": methods,
            })
        };
        assert!(parse_metadata(&metadata(json!(["S256"]), "https://a/t"), None).is_ok());
        let plain = parse_metadata(&metadata(json!(["plain"]), "https://a/t"), None);
        assert!(plain.unwrap_err().contains("PKCE"));
        assert!(parse_metadata(&metadata(json!(["S256"]), "http://a.example/t"), None).is_err());
    }
}
