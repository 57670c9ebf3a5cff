//! The program's permission and hook requests, answered concurrently while the turn continues.

use std::sync::Arc;

use domain::conversation::{Branch, Json};
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::super::company::{Hooks, Opinion, Permissions, Stopping, Use, Verdict};
use super::super::settings::{STOPPING, USED};
use super::super::wire::{Asked, HookInput};
use super::Client;

impl Client {
    pub(super) async fn question(&mut self, id: String, asked: Asked) {
        let branch = self.branch.clone();
        let company = &self.shared.company;
        match asked {
            Asked::MayUse { tool_name, input } => {
                let permissions = Arc::clone(&company.permissions);
                let wanted = Use { branch, tool: tool_name, input: Json(input.to_string()) };
                let answer = async move { (id, may_use(&*permissions, &wanted, input).await) };
                self.questions.push(answer.boxed());
            }
            Asked::Hook { callback_id, input } => {
                let hooks = Arc::clone(&company.hooks);
                let answer = async move { (id, hook(&*hooks, branch, &callback_id, input).await) };
                self.questions.push(answer.boxed());
            }
            Asked::Tools { .. } | Asked::Unknown => {
                let refused = Err("this host does not know that request".to_owned());
                self.answer(vec![(id, refused)]).await;
            }
        }
    }
}

async fn may_use(permissions: &dyn Permissions, wanted: &Use, input: Value) -> Value {
    match permissions.may_use(wanted).await {
        Verdict::Allow => json!({"behavior": "allow", "updatedInput": input}),
        Verdict::Deny(why) => json!({"behavior": "deny", "message": why}),
    }
}

async fn hook(hooks: &dyn Hooks, branch: Branch, which: &str, input: HookInput) -> Value {
    match which {
        STOPPING => {
            let last = input.last_assistant_message;
            let again = input.stop_hook_active;
            match hooks.stopping(&Stopping { branch, last, again }).await {
                Opinion::None => json!({}),
                Opinion::Block(reason) => json!({"decision": "block", "reason": reason}),
            }
        }
        USED => {
            let used = Use { branch, tool: input.tool_name, input: Json(input.tool_input.to_string()) };
            hooks.used(&used, &Json(input.tool_response.to_string())).await;
            json!({})
        }
        _ => json!({}),
    }
}
