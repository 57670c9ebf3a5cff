//! Runs calls that the user approved after their turn had already continued.
//!
//! The result goes to the assistant as an event; no turn waits for it.

use std::sync::Arc;

use domain::approval::{Approval, ApprovalId};
use domain::tool::ToolResult;
use tokio::task::JoinSet;

use crate::driver::{TOOL_TIMEOUT, timeout_result};
use crate::handle::AssistantHandle;
use crate::ports::ToolRunner;

/// The approved calls that are running.
pub struct ApprovedCalls {
    tools: Arc<dyn ToolRunner>,
    assistant: AssistantHandle,
    tasks: JoinSet<(ApprovalId, ToolResult)>,
}

impl ApprovedCalls {
    pub fn new(tools: Arc<dyn ToolRunner>, assistant: AssistantHandle) -> Self {
        Self { tools, assistant, tasks: JoinSet::new() }
    }

    /// Starts the approved call in the background.
    pub fn start(&mut self, approval: Approval) {
        let tools = Arc::clone(&self.tools);
        let assistant = self.assistant.clone();
        self.tasks.spawn(async move {
            let run =
                tokio::time::timeout(TOOL_TIMEOUT, tools.run(approval.turn, &approval.call, &assistant));
            let result = run.await.unwrap_or_else(|_| timeout_result(&approval.call));
            (approval.id, result)
        });
    }

    /// Returns whether any call is running.
    pub fn is_running(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the number of running calls.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the next finished call. Returns `None` for a call that panicked: its effect is
    /// unknown, so its approval card stays unchanged.
    pub async fn next_result(&mut self) -> Option<(ApprovalId, ToolResult)> {
        self.tasks.join_next().await?.ok()
    }

    /// Aborts all running calls.
    pub async fn abort_all(&mut self) {
        self.tasks.shutdown().await;
    }
}
