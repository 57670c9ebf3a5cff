//! Consent and tokens. A code is valid once, for the client that requested it, and with its PKCE
//! verifier.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::http::JsonResponse;
use super::{CLIENT, CLIENT_SECRET, GoogleAccount, GoogleRequest};

/// The supported scopes.
const SCOPES: [&str; 3] = [
    "https://www.googleapis.com/auth/tasks",
    "https://www.googleapis.com/auth/calendar.events",
    "https://www.googleapis.com/auth/gmail.readonly",
];

/// An issued authorization code.
#[derive(Clone, Debug)]
pub struct AuthorizationCode {
    pub code: String,
    /// The PKCE challenge.
    pub challenge: String,
    /// The redirect address of the request.
    pub redirect: String,
    /// The scopes that the user granted, separated by spaces.
    pub scope: String,
}

/// Simulates the user's consent. Returns the redirect address, or `None` if the request is invalid.
pub(super) fn consent(account: &mut GoogleAccount, request: &GoogleRequest) -> Option<String> {
    let parameter = |name: &str| request.query_value(name).map(str::to_owned);
    let valid = parameter("client_id")? == CLIENT
        && parameter("response_type")? == "code"
        && parameter("access_type")? == "offline"
        && parameter("code_challenge_method")? == "S256"
        && parameter("prompt")? == "consent";
    let scopes = parameter("scope")?;
    let valid = valid && !scopes.is_empty() && scopes.split(' ').all(|scope| SCOPES.contains(&scope));
    let redirect = parameter("redirect_uri")?;
    let state = parameter("state")?;
    if !valid || !redirect.starts_with("http://127.0.0.1:") || state.len() < 16 {
        return None;
    }
    let code = format!("4/code-canary-{}", account.requests.len());
    let granted: Vec<&str> =
        scopes.split(' ').filter(|scope| !account.denied_scopes.contains(scope)).collect();
    let scope = granted.join(" ");
    let address = format!("{redirect}/?state={state}&code={code}&scope={}", granted.join("%20"));
    account.codes.push(AuthorizationCode { code, challenge: parameter("code_challenge")?, redirect, scope });
    Some(address)
}

/// Exchanges a code or a refresh token for an access token.
pub(super) fn exchange_token(account: &mut GoogleAccount, form: &[(String, String)]) -> JsonResponse {
    let parameter = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let refused =
        |error: &str, description: &str| json!({ "error": error, "error_description": description });
    if parameter("client_id") != Some(CLIENT) || parameter("client_secret") != Some(CLIENT_SECRET) {
        return (401, refused("invalid_client", "The OAuth client was not found."));
    }
    let number = account.requests.len();
    let access = format!("ya29.access-canary-{number}");
    match parameter("grant_type") {
        Some("refresh_token")
            if account
                .refresh_tokens
                .iter()
                .any(|good| Some(good.as_str()) == parameter("refresh_token")) =>
        {
            account.access_tokens.push(access.clone());
            (200, json!({ "access_token": access, "expires_in": 3599, "token_type": "Bearer" }))
        }
        Some("authorization_code") => {
            let Some(scope) = redeem_code(
                account,
                parameter("code"),
                parameter("redirect_uri"),
                parameter("code_verifier"),
            ) else {
                return (400, refused("invalid_grant", "Malformed auth code."));
            };
            let refresh = format!("1//refresh-canary-{number}");
            account.access_tokens.push(access.clone());
            account.refresh_tokens.push(refresh.clone());
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
fn redeem_code(
    account: &mut GoogleAccount,
    code: Option<&str>,
    redirect: Option<&str>,
    verifier: Option<&str>,
) -> Option<String> {
    let at = account.codes.iter().position(|known| Some(known.code.as_str()) == code)?;
    let known = account.codes.remove(at);
    let verified = verifier.is_some_and(|verifier| base64_url(&Sha256::digest(verifier)) == known.challenge);
    (verified && redirect == Some(known.redirect.as_str())).then_some(known.scope)
}

/// Revokes a token.
pub(super) fn revoke(account: &mut GoogleAccount, form: &[(String, String)]) -> JsonResponse {
    let is_token = |token: &String| form.iter().any(|(key, value)| key == "token" && value == token);
    let before = account.refresh_tokens.len();
    account.refresh_tokens.retain(|token| !is_token(token));
    if account.refresh_tokens.len() < before {
        account.access_tokens.clear();
        (200, json!({}))
    } else {
        (400, json!({ "error": "invalid_token" }))
    }
}

/// URL-safe Base64, independent of our client's implementation.
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for shift in (0..=chunk.len()).map(|shift| 18 - 6 * shift) {
            text.push(char::from(LETTERS[(number >> shift & 63) as usize]));
        }
    }
    text
}
