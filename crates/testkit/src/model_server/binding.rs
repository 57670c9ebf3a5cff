//! Signatures of thinking blocks, and the checks when a block comes back.
//!
//! A signature binds a block to its model, to the account, to `system`, `tools` and the messages before it, to its
//! text, and to the thinking block before it. The rules are those of the vendor's page "preserved thinking"
//! (build-with-claude/preserved-thinking): the model and account checks drop a block silently, the prefix check
//! refuses the request unless it asks for `drop_block`.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::betas;
use super::catalog::{self, ModelSpec, PrefixCheck};
use super::prompt::{blocks, list};

/// The first field of a signature of this server.
const SIGNATURE_VERSION: &str = "sig1";

/// The account that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: String,
    /// Set if it was created on or after 2026-08-31, when the prefix check began to be enforced.
    pub is_new: bool,
}

/// A parsed signature.
#[derive(Debug, PartialEq, Eq)]
struct Signature {
    model: String,
    account: String,
    prefix: String,
    text: String,
    /// Digest of the preceding thinking block; empty for the first one.
    previous: String,
}

impl Signature {
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split('.').collect();
        let [SIGNATURE_VERSION, model, account, prefix, thinking, previous] = fields[..] else { return None };
        Some(Self {
            model: model.to_owned(),
            account: account.to_owned(),
            prefix: prefix.to_owned(),
            text: thinking.to_owned(),
            previous: previous.to_owned(),
        })
    }
}

/// A request after the checks.
#[derive(Debug, PartialEq)]
pub struct CheckedRequest {
    /// The request as the model reads it, without dropped blocks.
    pub request: Value,
    /// The value of `input_transformations`; empty if no block is affected.
    pub transformations: Vec<Value>,
}

/// Checks every thinking block of `request`.
pub fn check(
    request: &Value,
    model: &ModelSpec,
    betas: &[String],
    account: &Account,
) -> Result<CheckedRequest, String> {
    let mut checked = CheckedRequest { request: request.clone(), transformations: Vec::new() };
    if model.generic {
        return Ok(checked);
    }
    let behavior = request["thinking"]["block_binding"]["prefix_mismatch_behavior"].as_str();
    let enforced = match model.prefix_check {
        PrefixCheck::Never => false,
        PrefixCheck::NewAccounts => account.is_new || behavior.is_some(),
        PrefixCheck::Always => true,
    };
    let mut prefix = PrefixHash::new(request);
    let mut last_thinking: Option<String> = None;
    let mut mismatched = false;
    let mut dropped: Vec<(usize, usize)> = Vec::new();
    let messages = list(&request["messages"]);
    let latest = messages.iter().rposition(|message| message["role"] == "assistant");
    for (at, message) in messages.iter().enumerate() {
        for (index, block) in blocks(&message["content"]).iter().enumerate() {
            if block["type"] != "thinking" {
                prefix.add(&message["role"], block);
                continue;
            }
            let path = format!("messages.{at}.content.{index}");
            let invalid = format!("{path}: Invalid `signature` in `thinking` block");
            let signature = block["signature"].as_str().unwrap_or_default();
            let Some(signed) = Signature::parse(signature) else { return Err(invalid) };
            let in_order = last_thinking.as_ref().is_none_or(|last| *last == signed.previous);
            last_thinking = Some(digest(signature));
            if signed.text != digest(block["thinking"].as_str().unwrap_or_default()) {
                let modified = format!(
                    "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
                );
                return Err(if latest == Some(at) { modified } else { invalid });
            }
            mismatched |= signed.prefix != prefix.digest() || !in_order;
            let account_bound = catalog::find(&signed.model).is_some_and(|producer| producer.account_bound);
            let transformation = if !model.reads(&signed.model) {
                Some(("thinking_dropped", "model_binding_mismatch"))
            } else if account_bound && signed.account != account.id {
                Some(("thinking_dropped", "organization_binding_mismatch"))
            } else if mismatched && enforced && behavior == Some("drop_block") {
                Some(("thinking_dropped", "prefix_binding_mismatch"))
            } else if mismatched && enforced {
                return Err(prefix_mismatch_error(&path, betas));
            } else if mismatched && model.prefix_check != PrefixCheck::Never {
                Some(("thinking_mismatch_allowed", "prefix_binding_mismatch"))
            } else {
                None
            };
            if let Some((kind, reason)) = transformation {
                checked.transformations.push(json!({"type": kind, "path": path, "reason": reason}));
                if kind == "thinking_dropped" {
                    dropped.push((at, index));
                }
            }
        }
    }
    for (at, index) in dropped.into_iter().rev() {
        if let Some(content) = checked.request["messages"][at]["content"].as_array_mut() {
            content.remove(index);
        }
    }
    Ok(checked)
}

fn prefix_mismatch_error(path: &str, given: &[String]) -> String {
    let header = betas::BINDING_CONTROLS;
    let mut text = format!(
        "{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
    );
    if !given.iter().any(|beta| beta == header) {
        text += &format!(" That setting requires the `{header}` value in the `anthropic-beta` header.");
    }
    text
}

/// Signs the thinking blocks of a reply that have no signature yet.
pub fn sign(reply: &mut [Value], request: &Value, model: &str, account: &Account) {
    let mut prefix = PrefixHash::new(request);
    let mut previous = String::new();
    for message in list(&request["messages"]) {
        for block in blocks(&message["content"]) {
            if block["type"] == "thinking" {
                previous = digest(block["signature"].as_str().unwrap_or_default());
            } else {
                prefix.add(&message["role"], &block);
            }
        }
    }
    for block in reply {
        if block["type"] != "thinking" {
            prefix.add(&json!("assistant"), block);
            continue;
        }
        if block["signature"] == "" {
            let text = digest(block["thinking"].as_str().unwrap_or_default());
            let account = &account.id;
            let prefix = prefix.digest();
            block["signature"] =
                json!(format!("{SIGNATURE_VERSION}.{model}.{account}.{prefix}.{text}.{previous}"));
        }
        previous = digest(block["signature"].as_str().unwrap_or_default());
    }
}

/// The prompt before a thinking block, without the differences that the vendor ignores: the order
/// of tools and of JSON keys, cache marks, white space around text, and other thinking blocks.
struct PrefixHash(Sha256);

impl PrefixHash {
    fn new(request: &Value) -> Self {
        let deferred = |tool: &&Value| tool["defer_loading"] == true;
        let mut tools: Vec<String> =
            list(&request["tools"]).iter().filter(|tool| !deferred(tool)).map(canonical).collect();
        tools.sort_unstable();
        let mut prefix = Self(Sha256::new());
        for tool in tools {
            prefix.update(&tool);
        }
        for block in blocks(&request["system"]) {
            prefix.add(&json!("instructions"), &block);
        }
        prefix
    }

    fn add(&mut self, role: &Value, block: &Value) {
        let text = block["text"].as_str().filter(|_| block["type"] == "text");
        match text.map(str::trim) {
            Some("") => {}
            Some(text) => self.update(&format!("{role}\ntext {text}")),
            None => self.update(&format!("{role}\n{}", canonical(block))),
        }
    }

    fn update(&mut self, text: &str) {
        self.0.update(format!("{}\n{text}\n", text.len()));
    }

    fn digest(&self) -> String {
        hex(&self.0.clone().finalize())
    }
}

/// The JSON of `value` without cache marks. Keys are in alphabetical order and whole numbers have no fraction.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().filter(|(key, _)| *key != "cache_control").collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", canonical(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SONNET: &str = "claude-sonnet-5-5";

    fn account() -> Account {
        Account { id: "org1".to_owned(), is_new: true }
    }

    /// A conversation of two turns whose replies were signed by `model`.
    fn conversation(model: &str) -> Value {
        let mut request = json!({
            "system": "Be kind.",
            "tools": [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b"}],
            "messages": [],
        });
        for turn in ["one", "two"] {
            let messages = request["messages"].as_array_mut().unwrap();
            messages.push(json!({"role": "user", "content": turn}));
            let mut reply = vec![
                json!({"type": "thinking", "thinking": "hm", "signature": ""}),
                json!({"type": "text", "text": format!("re {turn}")}),
            ];
            sign(&mut reply, &request, model, &account());
            request["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": reply}));
        }
        request["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "three"}));
        request
    }

    fn transformations(request: &Value, reader: &str) -> Result<Vec<Value>, String> {
        check(request, catalog::find(reader).unwrap(), &[], &account()).map(|checked| checked.transformations)
    }

    #[test]
    fn harmless_differences_keep_thinking_valid() {
        let original = conversation(SONNET);
        let valid = |change: &dyn Fn(&mut Value)| {
            let mut request = original.clone();
            change(&mut request);
            assert_eq!(transformations(&request, SONNET), Ok(Vec::new()), "{request}");
        };
        valid(&|_| {});
        valid(&|request| request["tools"].as_array_mut().unwrap().reverse());
        valid(&|request| {
            request["tools"].as_array_mut().unwrap().push(json!({"name": "c", "defer_loading": true}));
        });
        valid(&|request| {
            request["system"] =
                json!([{"type": "text", "text": "Be kind. ", "cache_control": {"type": "ephemeral"}}]);
        });
        valid(&|request| request["output_config"] = json!({"effort": "low"}));
        valid(&|request| {
            request["messages"][1]["content"].as_array_mut().unwrap().remove(0);
        });
        valid(&|request| {
            request["messages"][3]["content"].as_array_mut().unwrap().remove(0);
        });
    }

    #[test]
    fn edited_prefix_is_refused_or_dropped() {
        let original = conversation(SONNET);
        let invalid = |path: &str, change: &dyn Fn(&mut Value)| {
            let mut request = original.clone();
            change(&mut request);
            let refusal = transformations(&request, SONNET).unwrap_err();
            let expected = format!(
                "{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
            );
            assert_eq!(refusal, expected);
            request["thinking"] =
                json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
            let dropped = transformations(&request, SONNET).unwrap();
            assert_eq!(dropped[0]["path"], path);
            assert_eq!(dropped[0]["reason"], "prefix_binding_mismatch");
        };
        invalid("messages.1.content.0", &|request| request["system"] = json!("Be short."));
        invalid("messages.1.content.0", &|request| {
            request["tools"].as_array_mut().unwrap().pop();
        });
        invalid("messages.1.content.0", &|request| request["messages"][0]["content"] = json!("other"));
        invalid("messages.3.content.0", &|request| request["messages"][2]["content"] = json!("other"));
    }

    #[test]
    fn drop_block_removes_the_failing_block_and_all_later_ones() {
        let mut request = conversation(SONNET);
        request["system"] = json!("Be short.");
        request["thinking"] =
            json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        let checked = check(&request, catalog::find(SONNET).unwrap(), &[], &account()).unwrap();
        assert_eq!(checked.transformations.len(), 2);
        assert!(!checked.request["messages"].to_string().contains("thinking"));
    }

    #[test]
    fn older_accounts_are_checked_only_on_request_except_by_fable_5_2() {
        let older = Account { is_new: false, ..account() };
        let kinds = |model: &str| {
            let mut request = conversation(model);
            request["system"] = json!("Be short.");
            let checked = check(&request, catalog::find(model).unwrap(), &[], &older);
            checked.map(|checked| checked.transformations[0]["type"].clone())
        };
        assert_eq!(kinds(SONNET), Ok(json!("thinking_mismatch_allowed")));
        assert!(kinds("claude-fable-5-2").is_err());
    }

    #[test]
    fn another_model_or_account_drops_blocks_without_an_error() {
        let dropped = transformations(&conversation(SONNET), "claude-haiku-5-5").unwrap();
        assert_eq!(dropped[1]["reason"], "model_binding_mismatch");
        let other = Account { id: "org2".to_owned(), is_new: true };
        let checked = check(&conversation(SONNET), catalog::find(SONNET).unwrap(), &[], &other).unwrap();
        assert_eq!(checked.transformations[0]["reason"], "organization_binding_mismatch");
    }

    #[test]
    fn changed_thinking_text_is_refused() {
        let mut request = conversation(SONNET);
        request["messages"][3]["content"][0]["thinking"] = json!("changed");
        let refusal = transformations(&request, SONNET).unwrap_err();
        assert!(refusal.contains("in the latest assistant message cannot be modified"), "{refusal}");
        request["messages"][3]["content"][0]["signature"] = json!("bm9uc2Vuc2U=");
        let refusal = transformations(&request, SONNET).unwrap_err();
        assert_eq!(refusal, "messages.3.content.0: Invalid `signature` in `thinking` block");
    }
}
