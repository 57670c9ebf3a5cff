//! Sign-in tests with a fake authorization server that refuses every step that breaks a rule.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fake::{FakeResponse, Request, json_response as answered, serve};
use super::*;

/// The state of the fake: the challenge of the open sign-in, the valid token, and variations.
#[derive(Default)]
struct FakeAuthorization {
    challenge: Mutex<String>,
    valid_token: Mutex<String>,
    /// The sign-in was revoked: refreshing is refused.
    revoked: Mutex<bool>,
    /// The sign-in that another process stores after it has used the refresh token first.
    concurrent_refresh: Mutex<Option<(Arc<MemoryTokenStore>, Vec<u8>)>>,
    /// Overrides of the usual metadata.
    metadata_overrides: Mutex<Value>,
}

fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    })
}

/// A protected server at `/mcp`, and its authorization server at the same origin.
fn respond(account: &FakeAuthorization, origin: &str, request: &Request) -> FakeResponse {
    let resource = format!("{origin}/mcp");
    let error = |error: &str| answered("400 Bad Request", &json!({ "error": error }));
    match request.target.as_str() {
        "/mcp" => {
            let bearer = format!("Bearer {}", account.valid_token.lock().unwrap());
            if request.header("authorization") != Some(&bearer) {
                let head = format!(
                    "www-authenticate: Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", \
                     scope=\"notes\"\r\n"
                );
                return FakeResponse::Complete(http("401 Unauthorized", &head, ""));
            }
            let message = request.json();
            let done = match message["method"].as_str().unwrap_or_default() {
                "server/discover" => json!({ "supportedVersions": ["2026-07-28"] }),
                "tools/list" => json!({ "tools": [{ "name": "note", "inputSchema": { "type": "object" } }] }),
                _ => json!({ "content": [{ "type": "text", "text": "kept" }] }),
            };
            answered("200 OK", &json!({ "jsonrpc": "2.0", "id": message["id"], "result": done }))
        }
        "/.well-known/oauth-protected-resource/mcp" => {
            answered("200 OK", &json!({ "resource": resource, "authorization_servers": [origin] }))
        }
        "/.well-known/oauth-authorization-server" => {
            let mut document = metadata(origin);
            let changed = account.metadata_overrides.lock().unwrap().clone();
            for (key, value) in changed.as_object().into_iter().flatten() {
                document[key] = value.clone();
            }
            answered("200 OK", &document)
        }
        "/register" => {
            let metadata = request.json();
            let fits = metadata["application_type"] == "native"
                && metadata["token_endpoint_auth_method"] == "none"
                && metadata["redirect_uris"][0]
                    .as_str()
                    .is_some_and(|uri| uri.starts_with("http://127.0.0.1:"));
            if !fits {
                return error("invalid_client_metadata");
            }
            answered("201 Created", &json!({ "client_id": "c1", "token_endpoint_auth_method": "none" }))
        }
        "/token" => {
            let form = request.form();
            let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
            if field("resource") != resource || field("client_id") != "c1" {
                return error("invalid_target");
            }
            let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
            let overtaken = account.concurrent_refresh.lock().unwrap().take();
            if let Some((tokens, stored)) = overtaken {
                tokens.replace("wiki", &stored).unwrap();
                return error("invalid_grant");
            }
            let token = match field("grant_type") {
                "authorization_code"
                    if field("code") == "code1" && verifier == *account.challenge.lock().unwrap() =>
                {
                    "t1"
                }
                "refresh_token" if field("refresh_token") == "r1" && !*account.revoked.lock().unwrap() => {
                    "t2"
                }
                _ => return error("invalid_grant"),
            };
            *account.valid_token.lock().unwrap() = token.to_owned();
            let granted = json!({ "access_token": token, "token_type": "Bearer", "refresh_token": "r1" });
            answered("200 OK", &granted)
        }
        _ => FakeResponse::Complete(http("404 Not Found", "", "")),
    }
}

/// A rig with one protected server named `wiki`.
struct SignInRig {
    rig: Rig,
    config: ServerConfig,
    account: Arc<FakeAuthorization>,
    origin: String,
    _tasks: JoinSet<()>,
}

impl SignInRig {
    async fn new() -> Self {
        let account = Arc::new(FakeAuthorization {
            valid_token: Mutex::new("none".to_owned()),
            ..FakeAuthorization::default()
        });
        let shared_account = Arc::clone(&account);
        let (origin, _tasks) =
            serve(move |origin: &str, request: &Request| respond(&shared_account, origin, request)).await;
        let server =
            ServerEndpoint::Address { url: format!("{origin}/mcp"), headers: BTreeMap::new(), client: None };
        let config =
            ServerConfig { name: "wiki".to_owned(), endpoint: server.clone(), kinds: BTreeMap::new() };
        Self { rig: Rig::new(vec![("wiki", server)]), config, account, origin, _tasks }
    }

    async fn begin(&self) -> Result<SignIn, String> {
        SignIn::begin(&self.config, Arc::clone(&self.rig.tokens) as Arc<dyn TokenStore>).await
    }

    /// The user opens the URL, and the browser is redirected with `query` and the state.
    async fn sign_in(&self, query: &str) -> Result<(), String> {
        let sign_in = self.begin().await?;
        let address: Url = sign_in.authorization_url().parse().unwrap();
        let query_pairs: BTreeMap<String, String> = address.query_pairs().into_owned().collect();
        assert_eq!(address.path(), "/authorize");
        assert_eq!(query_pairs["resource"], format!("{}/mcp", self.origin));
        assert_eq!((&*query_pairs["scope"], &*query_pairs["client_id"]), ("notes", "c1"));
        assert_eq!(
            (&*query_pairs["response_type"], &*query_pairs["code_challenge_method"]),
            ("code", "S256")
        );
        *self.account.challenge.lock().unwrap() = query_pairs["code_challenge"].clone();
        let redirect = format!("{}?{query}&state={}", query_pairs["redirect_uri"], query_pairs["state"]);
        assert_eq!(sign_in.paste().offer(&redirect), PasteOutcome::Accepted);
        let result = sign_in.finish().await;
        let port = redirect.parse::<Url>().unwrap().port().unwrap();
        let reached = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        assert!(reached.is_err(), "the port of the redirect is still open");
        result
    }

    fn granted_query(&self) -> String {
        format!("code=code1&iss={}", self.origin)
    }
}

/// The sign-in is requested, tools work after it, an expired token is refreshed, and a revoked
/// sign-in is reported.
#[tokio::test]
async fn sign_in_is_refreshed_and_its_end_is_reported() {
    let signing = SignInRig::new().await;
    let told = signing.rig.call("mcp__wiki__note").await;
    assert!(told.contains("needs you to sign in. Run `ollim-bot mcp-servers login wiki`"), "{told}");
    signing.sign_in(&signing.granted_query()).await.unwrap();
    signing.rig.accept().await;
    assert_eq!(signing.rig.call("mcp__wiki__note").await, "kept");

    *signing.account.valid_token.lock().unwrap() = "another".to_owned();
    assert_eq!(signing.rig.call("mcp__wiki__note").await, "kept");
    assert_eq!(*signing.account.valid_token.lock().unwrap(), "t2");

    *signing.account.valid_token.lock().unwrap() = "another".to_owned();
    *signing.account.revoked.lock().unwrap() = true;
    let told = signing.rig.call("mcp__wiki__note").await;
    assert!(told.contains("has ended your sign-in. Run `ollim-bot mcp-servers login wiki`"), "{told}");
}

/// Two processes refresh a single-use token at once: the second one uses the token of the first.
#[tokio::test]
async fn token_refreshed_by_another_process_is_used() {
    let signing = SignInRig::new().await;
    signing.sign_in(&signing.granted_query()).await.unwrap();
    signing.rig.accept().await;
    let tokens = Arc::clone(&signing.rig.tokens);
    let stored = tokens.read("wiki").unwrap().unwrap();
    let refreshed = String::from_utf8(stored).unwrap().replace("\"t1\"", "\"t9\"");
    *signing.account.concurrent_refresh.lock().unwrap() = Some((tokens, refreshed.into_bytes()));
    *signing.account.valid_token.lock().unwrap() = "t9".to_owned();
    assert_eq!(signing.rig.call("mcp__wiki__note").await, "kept");
    assert!(signing.account.concurrent_refresh.lock().unwrap().is_none(), "a refresh was tried");
}

#[tokio::test]
async fn denied_sign_in_is_reported_and_stores_nothing() {
    let signing = SignInRig::new().await;
    let told = signing.sign_in("error=access_denied").await.unwrap_err();
    assert!(told.contains("was denied (access_denied). Nothing has changed"), "{told}");
    let told = signing.sign_in(&signing.granted_query().replace("code1", "code2")).await.unwrap_err();
    assert!(told.contains("failed: invalid_grant"), "{told}");
    assert!(signing.rig.tokens.0.lock().unwrap().is_empty());
}

/// RFC 9207: a response with another issuer, or without a promised one, is not used.
#[tokio::test]
async fn response_of_another_issuer_is_not_used() {
    let signing = SignInRig::new().await;
    for query in ["code=code1&iss=https://evil.example", "code=code1"] {
        let told = signing.sign_in(query).await.unwrap_err();
        assert!(told.contains("answered by another authorization server"), "{told}");
    }
}

/// Metadata of another issuer, without PKCE, or without registration results in an error message.
#[tokio::test]
async fn unusable_authorization_server_is_reported() {
    let signing = SignInRig::new().await;
    for (changed, why) in [
        (json!({ "issuer": "https://evil.example" }), "whose metadata is of another one"),
        (json!({ "code_challenge_methods_supported": ["plain"] }), "without PKCE"),
        (json!({ "registration_endpoint": null }), "\"oauth\": {\"clientId\""),
    ] {
        *signing.account.metadata_overrides.lock().unwrap() = changed;
        let told = signing.begin().await.err().unwrap();
        assert!(told.contains(why), "{told}");
    }
}

/// A token belongs to its address: another address under the same name does not get it.
#[tokio::test]
async fn token_is_not_sent_to_another_address() {
    let signing = SignInRig::new().await;
    signing.sign_in(&signing.granted_query()).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let (other, _tasks) = serve(move |_: &str, request: &Request| {
        log.lock().unwrap().push(request.header("authorization").map(str::to_owned));
        FakeResponse::Complete(http("401 Unauthorized", "", ""))
    })
    .await;
    let server =
        ServerEndpoint::Address { url: format!("{other}/mcp"), headers: BTreeMap::new(), client: None };
    let rig = Rig::new(vec![("wiki", server)]);
    let stored = signing.rig.tokens.0.lock().unwrap().clone();
    *rig.tokens.0.lock().unwrap() = stored;
    assert!(rig.call("mcp__wiki__note").await.contains("needs you to sign in"));
    assert_eq!(*seen.lock().unwrap(), [None]);
}
