//! Consent and tokens. A code is valid once, for the client that requested it, and with its PKCE
//! verifier.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::door::Answer;
use super::{CLIENT, CLIENT_SECRET, Received, World};

/// The supported scopes.
const SCOPES: [&str; 3] = [
    "https://www.googleapis.com/auth/tasks",
    "https://www.googleapis.com/auth/calendar.events",
    "https://www.googleapis.com/auth/gmail.readonly",
];

/// An issued authorization code.
#[derive(Clone, Debug)]
pub struct Code {
    pub code: String,
    /// The PKCE challenge.
    pub challenge: String,
    /// The redirect address of the request.
    pub redirect: String,
    /// The scopes that the user granted, separated by spaces.
    pub scope: String,
}

/// Simulates the user's consent. Returns the redirect address, or `None` if the request is invalid.
pub(super) fn consent(world: &mut World, received: &Received) -> Option<String> {
    let asks = |name: &str| received.asks(name).map(str::to_owned);
    let right = asks("client_id")? == CLIENT
        && asks("response_type")? == "code"
        && asks("access_type")? == "offline"
        && asks("code_challenge_method")? == "S256"
        && asks("prompt")? == "consent";
    let scopes = asks("scope")?;
    let right = right && !scopes.is_empty() && scopes.split(' ').all(|scope| SCOPES.contains(&scope));
    let redirect = asks("redirect_uri")?;
    let state = asks("state")?;
    if !right || !redirect.starts_with("http://127.0.0.1:") || state.len() < 16 {
        return None;
    }
    let code = format!("4/code-canary-{}", world.requests.len());
    let granted: Vec<&str> = scopes.split(' ').filter(|scope| !world.unticked.contains(scope)).collect();
    let scope = granted.join(" ");
    let address = format!("{redirect}/?state={state}&code={code}&scope={}", granted.join("%20"));
    world.codes.push(Code { code, challenge: asks("code_challenge")?, redirect, scope });
    Some(address)
}

/// Exchanges a code or a refresh token for an access token.
pub(super) fn token(world: &mut World, form: &[(String, String)]) -> Answer {
    let says = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let refused = |error: &str, why: &str| json!({ "error": error, "error_description": why });
    if says("client_id") != Some(CLIENT) || says("client_secret") != Some(CLIENT_SECRET) {
        return (401, refused("invalid_client", "The OAuth client was not found."));
    }
    let number = world.requests.len();
    let access = format!("ya29.access-canary-{number}");
    match says("grant_type") {
        Some("refresh_token")
            if world.refresh.iter().any(|good| Some(good.as_str()) == says("refresh_token")) =>
        {
            world.access.push(access.clone());
            (200, json!({ "access_token": access, "expires_in": 3599, "token_type": "Bearer" }))
        }
        Some("authorization_code") => {
            let Some(scope) = take(world, says("code"), says("redirect_uri"), says("code_verifier")) else {
                return (400, refused("invalid_grant", "Malformed auth code."));
            };
            let refresh = format!("1//refresh-canary-{number}");
            world.access.push(access.clone());
            world.refresh.push(refresh.clone());
            (
                200,
                json!({ "access_token": access, "refresh_token": refresh, "expires_in": 3599,
                "token_type": "Bearer", "scope": scope }),
            )
        }
        Some("refresh_token") => (400, refused("invalid_grant", "Token has been expired or revoked.")),
        _ => (400, refused("unsupported_grant_type", "Invalid grant_type")),
    }
}

/// Redeems a code and returns the granted scopes; `None` if it is invalid.
fn take(
    world: &mut World,
    code: Option<&str>,
    redirect: Option<&str>,
    verifier: Option<&str>,
) -> Option<String> {
    let at = world.codes.iter().position(|known| Some(known.code.as_str()) == code)?;
    let known = world.codes.remove(at);
    let proven = verifier.is_some_and(|verifier| base64_url(&Sha256::digest(verifier)) == known.challenge);
    (proven && redirect == Some(known.redirect.as_str())).then_some(known.scope)
}

/// Revokes a token.
pub(super) fn revoke(world: &mut World, form: &[(String, String)]) -> Answer {
    let says = |token: &String| form.iter().any(|(key, value)| key == "token" && value == token);
    let before = world.refresh.len();
    world.refresh.retain(|token| !says(token));
    if world.refresh.len() < before {
        world.access.clear();
        (200, json!({}))
    } else {
        (400, json!({ "error": "invalid_token" }))
    }
}

/// URL-safe Base64, independent of our client's implementation.
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in (0..=three.len()).map(|place| 18 - 6 * place) {
            text.push(char::from(LETTERS[(number >> place & 63) as usize]));
        }
    }
    text
}
