//! Authentication of webhook calls, and the marks that identify repeated calls.
//!
//! Values are compared as whole text in constant time. A signature has only one accepted spelling.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::schedule::WebhookAuth;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::hmac::{hex, hmac_sha256};

/// Maximum difference between the time of a signed call and ours, in seconds.
const MAX_CLOCK_DIFFERENCE: i64 = 5 * 60;
/// Maximum length of a call id in characters.
const MAX_ID_CHARS: usize = 256;
/// Maximum number of signatures of one call that are checked.
const MAX_SIGNATURES: usize = 16;
/// Length of a signature of Standard Webhooks: `v1,` and 32 bytes in base64.
const STANDARD_SIGNATURE_CHARS: usize = 47;
/// Length of GitHub's signature: `sha256=` and 32 bytes in hexadecimal.
const GITHUB_SIGNATURE_CHARS: usize = 71;

/// The parts of a call needed for its proof.
#[derive(Clone, Copy, Debug)]
pub struct WebhookCall<'a> {
    /// Name of the webhook.
    pub id: &'a str,
    pub headers: &'a HeaderMap,
    /// Time of arrival.
    pub at: Timestamp,
}

/// Number of bytes from which a secret cannot be guessed, even without limits on attempts.
const UNGUESSABLE_BYTES: usize = 24;

/// F4: returns true if the length of `secret` alone protects it. A shorter one is protected by
/// blocking failed attempts; this includes signatures, because a short key can be guessed from
/// them.
pub(super) fn is_unguessable(proof: WebhookAuth, secret: &str) -> bool {
    let bytes = match proof {
        WebhookAuth::Bearer | WebhookAuth::GitHub => secret.len(),
        WebhookAuth::Standard => standard_key(secret).map_or(0, |key| key.len()),
    };
    bytes >= UNGUESSABLE_BYTES
}

/// The call did not prove that it knows the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidProof;

impl WebhookCall<'_> {
    /// WH-3: checks that the call shows `secret`.
    pub fn verify_bearer(&self, secret: &str) -> Result<(), InvalidProof> {
        let given = self.header("authorization").ok_or(InvalidProof)?;
        let (scheme, given) = given.split_at_checked(7).ok_or(InvalidProof)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") || secret.is_empty() {
            return Err(InvalidProof);
        }
        is_equal(given, secret.as_bytes()).then_some(()).ok_or(InvalidProof)
    }

    /// Checks the part of the proof that does not depend on the body, so that a call whose
    /// signature cannot be right is refused before its body is read.
    pub fn check_claims(&self, proof: WebhookAuth) -> Result<(), InvalidProof> {
        let is_claimed = match proof {
            WebhookAuth::Bearer => self.header("authorization").is_some(),
            WebhookAuth::Standard => {
                let signed = |signature: &str| {
                    signature.len() == STANDARD_SIGNATURE_CHARS && signature.starts_with("v1,")
                };
                let mut signatures =
                    self.text_header("webhook-signature").unwrap_or_default().split(' ').take(MAX_SIGNATURES);
                self.text_header("webhook-id").is_some()
                    && self.timestamp().is_some()
                    && signatures.any(signed)
            }
            WebhookAuth::GitHub => {
                let signature = self.header("x-hub-signature-256").unwrap_or_default();
                let is_signature =
                    signature.len() == GITHUB_SIGNATURE_CHARS && signature.starts_with(b"sha256=");
                is_signature && self.text_header("x-github-delivery").is_some()
            }
        };
        is_claimed.then_some(()).ok_or(InvalidProof)
    }

    /// Returns the timestamp of a Standard Webhooks call, if it is close enough to ours.
    fn timestamp(&self) -> Option<&str> {
        let time = self.text_header("webhook-timestamp")?;
        let seconds: i64 = time.parse().ok()?;
        (self.at.as_second().abs_diff(seconds) <= MAX_CLOCK_DIFFERENCE.unsigned_abs()).then_some(time)
    }

    /// F1: checks that `body` is signed with `secret`.
    pub fn verify(&self, proof: WebhookAuth, secret: &str, body: &[u8]) -> Result<(), InvalidProof> {
        match proof {
            WebhookAuth::Bearer => self.verify_bearer(secret),
            WebhookAuth::Standard => self.verify_standard(secret, body),
            WebhookAuth::GitHub => self.verify_github(secret, body),
        }
    }

    fn verify_standard(&self, secret: &str, body: &[u8]) -> Result<(), InvalidProof> {
        let id = self.text_header("webhook-id").ok_or(InvalidProof)?;
        let time = self.timestamp().ok_or(InvalidProof)?;
        let given = self.text_header("webhook-signature").ok_or(InvalidProof)?;
        let key = standard_key(secret).ok_or(InvalidProof)?;
        let right = standard_signature(&key, id, time, body);
        let found = given.split(' ').take(MAX_SIGNATURES).fold(Choice::from(0), |found, one| {
            found | constant_time_equal(one.as_bytes(), right.as_bytes())
        });
        bool::from(found).then_some(()).ok_or(InvalidProof)
    }

    fn verify_github(&self, secret: &str, body: &[u8]) -> Result<(), InvalidProof> {
        let given = self.header("x-hub-signature-256").ok_or(InvalidProof)?;
        if secret.is_empty() || self.text_header("x-github-delivery").is_none() {
            return Err(InvalidProof);
        }
        is_equal(given, github_signature(secret, body).as_bytes()).then_some(()).ok_or(InvalidProof)
    }

    /// P7, F2: returns the marks that identify the call. GitHub does not sign its delivery id, so
    /// the content counts too. A caller that shows the secret may give an id.
    pub fn marks(&self, proof: WebhookAuth, body: &serde_json::Value) -> Vec<String> {
        let number = |name: &str| self.text_header(name).map(|word| word.as_bytes().to_vec());
        let id = match proof {
            // This id is not signed, so any value is used; ignoring one would accept a call twice.
            WebhookAuth::Bearer => {
                self.joined_headers("idempotency-key").or_else(|| self.joined_headers("webhook-id"))
            }
            WebhookAuth::Standard => number("webhook-id"),
            WebhookAuth::GitHub => number("x-github-delivery"),
        };
        let id = id.map(|id| self.hash_mark("id", &id));
        let said = (proof == WebhookAuth::GitHub).then(|| self.hash_mark("said", canonical(body).as_bytes()));
        id.into_iter().chain(said).collect()
    }

    /// Returns true if the call is only a ping of GitHub.
    pub fn is_github_ping(&self, proof: WebhookAuth) -> bool {
        proof == WebhookAuth::GitHub && self.header("x-github-event") == Some(b"ping".as_slice())
    }

    fn hash_mark(&self, kind: &str, bytes: &[u8]) -> String {
        let mut hash = Sha256::new();
        for part in [self.id.as_bytes(), kind.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hex(&hash.finalize())
    }

    /// Returns the header with this name, if there is exactly one.
    fn header(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.headers.get_all(name).iter();
        let first = all.next()?.as_bytes();
        (all.next().is_none() && !first.is_empty()).then_some(first)
    }

    /// Returns the joined values of all headers with this name, unless empty.
    fn joined_headers(&self, name: &str) -> Option<Vec<u8>> {
        let all: Vec<&[u8]> = self.headers.get_all(name).iter().map(|value| value.as_bytes()).collect();
        Some(all.join(&b'\n')).filter(|said| !said.is_empty())
    }

    /// Like `header`, as printable text.
    fn text_header(&self, name: &str) -> Option<&str> {
        let text = std::str::from_utf8(self.header(name)?).ok()?;
        let signatures = name == "webhook-signature";
        let fits = text.len() <= MAX_ID_CHARS || signatures;
        (fits && text.chars().all(|c| c.is_ascii_graphic() || (signatures && c == ' '))).then_some(text)
    }
}

/// Returns the headers with which a caller proves a call with `body`.
pub fn sign(
    proof: WebhookAuth,
    secret: &str,
    id: &str,
    at: Timestamp,
    body: &[u8],
) -> Vec<(&'static str, String)> {
    match proof {
        WebhookAuth::Bearer => {
            vec![("authorization", format!("Bearer {secret}")), ("idempotency-key", id.to_owned())]
        }
        WebhookAuth::Standard => {
            let time = at.as_second().to_string();
            let key = standard_key(secret).unwrap_or_default();
            let signature = standard_signature(&key, id, &time, body);
            vec![("webhook-id", id.to_owned()), ("webhook-timestamp", time), ("webhook-signature", signature)]
        }
        WebhookAuth::GitHub => {
            vec![
                ("x-github-delivery", id.to_owned()),
                ("x-hub-signature-256", github_signature(secret, body)),
            ]
        }
    }
}

/// Returns true if a call can be proven with `secret` at all.
pub fn can_prove(proof: WebhookAuth, secret: &str) -> bool {
    match proof {
        WebhookAuth::Bearer | WebhookAuth::GitHub => !secret.is_empty(),
        WebhookAuth::Standard => standard_key(secret).is_some(),
    }
}

/// Decodes the key of a Standard Webhooks secret.
pub(super) fn standard_key(secret: &str) -> Option<Vec<u8>> {
    let spelled = secret.strip_prefix("whsec_").unwrap_or(secret);
    STANDARD.decode(spelled).ok().filter(|key| !key.is_empty())
}

fn standard_signature(key: &[u8], id: &str, time: &str, body: &[u8]) -> String {
    let code = hmac_sha256(key, &[id.as_bytes(), b".", time.as_bytes(), b".", body]);
    format!("v1,{}", STANDARD.encode(code))
}

fn github_signature(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex(&hmac_sha256(secret.as_bytes(), &[body])))
}

fn is_equal(one: &[u8], other: &[u8]) -> bool {
    constant_time_equal(one, other).into()
}

/// Compares in a time that reveals neither the position of a difference nor the length of the
/// secret.
fn constant_time_equal(one: &[u8], other: &[u8]) -> Choice {
    let hash = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
    hash(one).ct_eq(&hash(other))
}

/// Serializes JSON with sorted keys, so equal content has one form.
fn canonical(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(fields) => {
            let mut pairs: Vec<(&String, &serde_json::Value)> = fields.iter().collect();
            pairs.sort_by_key(|(name, _)| *name);
            let pair = |(name, value): &(&String, &serde_json::Value)| {
                format!("{}:{}", serde_json::Value::from(name.as_str()), canonical(value))
            };
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
        }
        serde_json::Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => value.to_string(),
    }
}
