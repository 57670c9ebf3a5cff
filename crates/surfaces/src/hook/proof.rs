//! Proofs: that whoever calls knows the secret, and what the call is known by.
//!
//! What is compared is compared as text, whole, in a time that tells nothing: a signature has one spelling, so that no
//! other spelling of it is let in.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::schedule::Proof;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::mac::{hex, hmac_sha256};

/// How far the time of a signed call may be from ours, in seconds.
const APART: i64 = 5 * 60;
/// The most characters of what a call is known by.
const ID_CHARS: usize = 256;
/// The most signatures of one call that are looked at.
const SIGNATURES: usize = 16;
/// The length of one signature of Standard Webhooks: `v1,` and 32 bytes in base64.
const STANDARD_CHARS: usize = 47;
/// The length of GitHub's signature: `sha256=` and 32 bytes in hex.
const GITHUB_CHARS: usize = 71;

/// A call as it came.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// Which webhook.
    pub id: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// When it came.
    pub at: Timestamp,
}

/// How many bytes of a secret nobody guesses, however often they may ask.
const UNGUESSABLE: usize = 24;

/// F4: whether `secret` is protected by its length alone. For a shorter one it is the protection that whoever guesses is
/// not heard for a while; a signature with a short key can be guessed as well as the key.
pub(super) fn is_unguessable(proof: Proof, secret: &str) -> bool {
    let bytes = match proof {
        Proof::Bearer | Proof::GitHub => secret.len(),
        Proof::Standard => standard_key(secret).map_or(0, |key| key.len()),
    };
    bytes >= UNGUESSABLE
}

/// Nothing was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unproven;

impl Called<'_> {
    /// WH-3: whether the call shows `secret`.
    pub fn shows(&self, secret: &str) -> Result<(), Unproven> {
        let given = self.one("authorization").ok_or(Unproven)?;
        let (scheme, given) = given.split_at_checked(7).ok_or(Unproven)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") || secret.is_empty() {
            return Err(Unproven);
        }
        same(given, secret.as_bytes()).then_some(()).ok_or(Unproven)
    }

    /// Checks all of the proof that does not depend on the body, so that a caller whose signature cannot be right is
    /// refused before its body is waited for.
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

    /// The time that a call of Standard Webhooks names, if it is close enough to ours.
    fn time(&self) -> Option<&str> {
        let time = self.word("webhook-timestamp")?;
        let seconds: i64 = time.parse().ok()?;
        (self.at.as_second().abs_diff(seconds) <= APART.unsigned_abs()).then_some(time)
    }

    /// F1: whether `body` is signed with `secret`.
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

    /// P7, F2: what the call is known by. GitHub does not sign its number, so there what it says counts too; whoever
    /// shows the secret may give a number.
    pub fn marks(&self, proof: Proof, body: &serde_json::Value) -> Vec<String> {
        let number = |name: &str| self.word(name).map(|word| word.as_bytes().to_vec());
        let id = match proof {
            // Nobody signed this number, so any will do: one that was passed over would let a call in twice.
            Proof::Bearer => self.all("idempotency-key").or_else(|| self.all("webhook-id")),
            Proof::Standard => number("webhook-id"),
            Proof::GitHub => number("x-github-delivery"),
        };
        let id = id.map(|id| self.mark("id", &id));
        let said = (proof == Proof::GitHub).then(|| self.mark("said", canonical(body).as_bytes()));
        id.into_iter().chain(said).collect()
    }

    /// Whether GitHub only asks if somebody is here.
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

    /// The header of this name, if there is exactly one.
    fn one(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.headers.get_all(name).iter();
        let first = all.next()?.as_bytes();
        (all.next().is_none() && !first.is_empty()).then_some(first)
    }

    /// Whatever the headers of this name say, if they say anything.
    fn all(&self, name: &str) -> Option<Vec<u8>> {
        let all: Vec<&[u8]> = self.headers.get_all(name).iter().map(|value| value.as_bytes()).collect();
        Some(all.join(&b'\n')).filter(|said| !said.is_empty())
    }

    /// The same as text that everybody reads in the same way.
    fn word(&self, name: &str) -> Option<&str> {
        let text = std::str::from_utf8(self.one(name)?).ok()?;
        let signatures = name == "webhook-signature";
        let fits = text.len() <= ID_CHARS || signatures;
        (fits && text.chars().all(|c| c.is_ascii_graphic() || (signatures && c == ' '))).then_some(text)
    }
}

/// The headers that prove a call of webhook `proof` with `body`, for whoever calls.
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

/// Whether anybody who knows `secret` could prove it by `proof`.
pub fn can_prove(proof: Proof, secret: &str) -> bool {
    match proof {
        Proof::Bearer | Proof::GitHub => !secret.is_empty(),
        Proof::Standard => standard_key(secret).is_some(),
    }
}

/// The key that a secret of Standard Webhooks spells.
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

/// Whether both are the same, in a time that tells neither where they differ nor how long the secret one is.
fn same_choice(one: &[u8], other: &[u8]) -> Choice {
    let hash = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
    hash(one).ct_eq(&hash(other))
}

/// The same JSON in one spelling, whatever the order of its names.
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
