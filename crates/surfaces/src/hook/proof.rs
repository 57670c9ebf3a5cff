//! Authentication of webhook calls, and the marks that identify repeated calls.
//!
//! Values are compared as whole text in constant time. A signature has only one accepted spelling.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::schedule::Proof;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::mac::{hex, hmac_sha256};

/// Maximum difference between the time of a signed call and ours, in seconds.
const APART: i64 = 5 * 60;
/// Maximum length of a call id in characters.
const ID_CHARS: usize = 256;
/// Maximum number of signatures of one call that are checked.
const SIGNATURES: usize = 16;
/// Length of a signature of Standard Webhooks: `v1,` and 32 bytes in base64.
const STANDARD_CHARS: usize = 47;
/// Length of GitHub's signature: `sha256=` and 32 bytes in hexadecimal.
const GITHUB_CHARS: usize = 71;

/// The parts of a call needed for its proof.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// Name of the webhook.
    pub id: &'a str,
    pub headers: &'a HeaderMap,
    /// Time of arrival.
    pub at: Timestamp,
}

/// Number of bytes from which a secret cannot be guessed, even without limits on attempts.
const UNGUESSABLE: usize = 24;

/// F4: returns true if the length of `secret` alone protects it. A shorter one is protected by
/// blocking failed attempts; this includes signatures, because a short key can be guessed from
/// them.
pub(super) fn is_unguessable(proof: Proof, secret: &str) -> bool {
    let bytes = match proof {
        Proof::Bearer | Proof::GitHub => secret.len(),
        Proof::Standard => standard_key(secret).map_or(0, |key| key.len()),
    };
    bytes >= UNGUESSABLE
}

/// The call did not prove that it knows the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unproven;

impl Called<'_> {
    /// WH-3: checks that the call shows `secret`.
    pub fn shows(&self, secret: &str) -> Result<(), Unproven> {
        let given = self.one("authorization").ok_or(Unproven)?;
        let (scheme, given) = given.split_at_checked(7).ok_or(Unproven)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") || secret.is_empty() {
            return Err(Unproven);
        }
        same(given, secret.as_bytes()).then_some(()).ok_or(Unproven)
    }

    /// Checks the part of the proof that does not depend on the body, so that a call whose
    /// signature cannot be right is refused before its body is read.
    pub fn claims(&self, proof: Proof) -> Result<(), Unproven> {
        let is_claimed = match proof {
            Proof::Bearer => self.one("authorization").is_some(),
            Proof::Standard => {
                let signed =
                    |signature: &str| signature.len() == STANDARD_CHARS && signature.starts_with("v1,");
                let mut signatures =
                    self.word("webhook-signature").unwrap_or_default().split(' ').take(SIGNATURES);
                self.word("webhook-id").is_some() && self.time().is_some() && signatures.any(signed)
            }
            Proof::GitHub => {
                let signature = self.one("x-hub-signature-256").unwrap_or_default();
                let is_signature = signature.len() == GITHUB_CHARS && signature.starts_with(b"sha256=");
                is_signature && self.word("x-github-delivery").is_some()
            }
        };
        is_claimed.then_some(()).ok_or(Unproven)
    }

    /// Returns the timestamp of a Standard Webhooks call, if it is close enough to ours.
    fn time(&self) -> Option<&str> {
        let time = self.word("webhook-timestamp")?;
        let seconds: i64 = time.parse().ok()?;
        (self.at.as_second().abs_diff(seconds) <= APART.unsigned_abs()).then_some(time)
    }

    /// F1: checks that `body` is signed with `secret`.
    pub fn signs(&self, proof: Proof, secret: &str, body: &[u8]) -> Result<(), Unproven> {
        match proof {
            Proof::Bearer => self.shows(secret),
            Proof::Standard => self.standard(secret, body),
            Proof::GitHub => self.github(secret, body),
        }
    }

    fn standard(&self, secret: &str, body: &[u8]) -> Result<(), Unproven> {
        let id = self.word("webhook-id").ok_or(Unproven)?;
        let time = self.time().ok_or(Unproven)?;
        let given = self.word("webhook-signature").ok_or(Unproven)?;
        let key = standard_key(secret).ok_or(Unproven)?;
        let right = standard(&key, id, time, body);
        let found = given
            .split(' ')
            .take(SIGNATURES)
            .fold(Choice::from(0), |found, one| found | same_choice(one.as_bytes(), right.as_bytes()));
        bool::from(found).then_some(()).ok_or(Unproven)
    }

    fn github(&self, secret: &str, body: &[u8]) -> Result<(), Unproven> {
        let given = self.one("x-hub-signature-256").ok_or(Unproven)?;
        if secret.is_empty() || self.word("x-github-delivery").is_none() {
            return Err(Unproven);
        }
        same(given, github(secret, body).as_bytes()).then_some(()).ok_or(Unproven)
    }

    /// P7, F2: returns the marks that identify the call. GitHub does not sign its delivery id, so
    /// the content counts too. A caller that shows the secret may give an id.
    pub fn marks(&self, proof: Proof, body: &serde_json::Value) -> Vec<String> {
        let number = |name: &str| self.word(name).map(|word| word.as_bytes().to_vec());
        let id = match proof {
            // This id is not signed, so any value is used; ignoring one would accept a call twice.
            Proof::Bearer => self.all("idempotency-key").or_else(|| self.all("webhook-id")),
            Proof::Standard => number("webhook-id"),
            Proof::GitHub => number("x-github-delivery"),
        };
        let id = id.map(|id| self.mark("id", &id));
        let said = (proof == Proof::GitHub).then(|| self.mark("said", canonical(body).as_bytes()));
        id.into_iter().chain(said).collect()
    }

    /// Returns true if the call is only a ping of GitHub.
    pub fn is_github_ping(&self, proof: Proof) -> bool {
        proof == Proof::GitHub && self.one("x-github-event") == Some(b"ping".as_slice())
    }

    fn mark(&self, kind: &str, bytes: &[u8]) -> String {
        let mut hash = Sha256::new();
        for part in [self.id.as_bytes(), kind.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hex(&hash.finalize())
    }

    /// Returns the header with this name, if there is exactly one.
    fn one(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.headers.get_all(name).iter();
        let first = all.next()?.as_bytes();
        (all.next().is_none() && !first.is_empty()).then_some(first)
    }

    /// Returns the joined values of all headers with this name, unless empty.
    fn all(&self, name: &str) -> Option<Vec<u8>> {
        let all: Vec<&[u8]> = self.headers.get_all(name).iter().map(|value| value.as_bytes()).collect();
        Some(all.join(&b'\n')).filter(|said| !said.is_empty())
    }

    /// Like `header`, as printable text.
    fn word(&self, name: &str) -> Option<&str> {
        let text = std::str::from_utf8(self.one(name)?).ok()?;
        let signatures = name == "webhook-signature";
        let fits = text.len() <= ID_CHARS || signatures;
        (fits && text.chars().all(|c| c.is_ascii_graphic() || (signatures && c == ' '))).then_some(text)
    }
}

/// Returns the headers with which a caller proves a call with `body`.
pub fn sign(proof: Proof, secret: &str, id: &str, at: Timestamp, body: &[u8]) -> Vec<(&'static str, String)> {
    match proof {
        Proof::Bearer => {
            vec![("authorization", format!("Bearer {secret}")), ("idempotency-key", id.to_owned())]
        }
        Proof::Standard => {
            let time = at.as_second().to_string();
            let key = standard_key(secret).unwrap_or_default();
            let signature = standard(&key, id, &time, body);
            vec![("webhook-id", id.to_owned()), ("webhook-timestamp", time), ("webhook-signature", signature)]
        }
        Proof::GitHub => {
            vec![("x-github-delivery", id.to_owned()), ("x-hub-signature-256", github(secret, body))]
        }
    }
}

/// Returns true if a call can be proven with `secret` at all.
pub fn can_prove(proof: Proof, secret: &str) -> bool {
    match proof {
        Proof::Bearer | Proof::GitHub => !secret.is_empty(),
        Proof::Standard => standard_key(secret).is_some(),
    }
}

/// Decodes the key of a Standard Webhooks secret.
pub(super) fn standard_key(secret: &str) -> Option<Vec<u8>> {
    let spelled = secret.strip_prefix("whsec_").unwrap_or(secret);
    STANDARD.decode(spelled).ok().filter(|key| !key.is_empty())
}

fn standard(key: &[u8], id: &str, time: &str, body: &[u8]) -> String {
    let code = hmac_sha256(key, &[id.as_bytes(), b".", time.as_bytes(), b".", body]);
    format!("v1,{}", STANDARD.encode(code))
}

fn github(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex(&hmac_sha256(secret.as_bytes(), &[body])))
}

fn same(one: &[u8], other: &[u8]) -> bool {
    same_choice(one, other).into()
}

/// Compares in a time that reveals neither the position of a difference nor the length of the
/// secret.
fn same_choice(one: &[u8], other: &[u8]) -> Choice {
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
