//! The program's permission and hook requests, answered concurrently while the turn continues.

use std::sync::Arc;

use domain::conversation::{Branch, Json};
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::super::callbacks::{
    PermissionDecision, PermissionHandler, StopAttempt, StopDecision, ToolUse, TurnHooks,
};
use super::super::protocol::{HookInput, ProgramRequest};
use super::super::settings::{STOP_HOOK, TOOL_HOOK};
use super::Client;

impl Client {
    pub(super) async fn handle_question(&mut self, id: String, question: ProgramRequest) {
        let branch = self.branch.clone();
        let callbacks = &self.shared.callbacks;
        match question {
            ProgramRequest::CanUseTool { tool_name, input } => {
                let permissions = Arc::clone(&callbacks.permissions);
                let tool_use = ToolUse { branch, tool: tool_name, input: Json(input.to_string()) };
                let answer = async move { (id, permission_response(&*permissions, &tool_use, input).await) };
                self.questions.push(answer.boxed());
            }
            ProgramRequest::Hook { callback_id, input } => {
                let hooks = Arc::clone(&callbacks.hooks);
                let answer = async move { (id, hook_response(&*hooks, branch, &callback_id, input).await) };
                self.questions.push(answer.boxed());
            }
            ProgramRequest::McpMessage { .. } | ProgramRequest::Unknown => {
                let refused = Err("this host does not know that request".to_owned());
                self.send_answers(vec![(id, refused)]).await;
            }
        }
    }
}

async fn permission_response(permissions: &dyn PermissionHandler, tool_use: &ToolUse, input: Value) -> Value {
    match permissions.decide(tool_use).await {
        PermissionDecision::Allow => json!({"behavior": "allow", "updatedInput": input}),
        PermissionDecision::Deny(why) => json!({"behavior": "deny", "message": why}),
    }
}

async fn hook_response(hooks: &dyn TurnHooks, branch: Branch, callback_id: &str, input: HookInput) -> Value {
    match callback_id {
        STOP_HOOK => {
            let last_text = input.last_assistant_message;
            let already_blocked = input.stop_hook_active;
            match hooks.before_stop(&StopAttempt { branch, last_text, already_blocked }).await {
                StopDecision::Allow => json!({}),
                StopDecision::Block(reason) => json!({"decision": "block", "reason": reason}),
            }
        }
        TOOL_HOOK => {
            let used = ToolUse { branch, tool: input.tool_name, input: Json(input.tool_input.to_string()) };
            hooks.after_tool_use(&used, &Json(input.tool_response.to_string())).await;
            json!({})
        }
        _ => json!({}),
    }
}
