//! Runs calls that the user approved after their turn had already continued.
//!
//! The result goes to the assistant as an event; no turn waits for it.

use std::sync::Arc;

use domain::approval::{Approval, ApprovalId};
use domain::tool::ToolResult;
use tokio::task::JoinSet;

use crate::desk::Desk;
use crate::drive::{TOOL_TIME, too_long};
use crate::ports::Hands;

/// The approved calls that are running.
pub struct Carrying {
    hands: Arc<dyn Hands>,
    desk: Desk,
    tasks: JoinSet<(ApprovalId, ToolResult)>,
}

impl Carrying {
    pub fn new(hands: Arc<dyn Hands>, desk: Desk) -> Self {
        Self { hands, desk, tasks: JoinSet::new() }
    }

    /// Starts the approved call in the background.
    pub fn start(&mut self, approval: Approval) {
        let hands = Arc::clone(&self.hands);
        let desk = self.desk.clone();
        self.tasks.spawn(async move {
            let run = tokio::time::timeout(TOOL_TIME, hands.run(approval.turn, &approval.call, &desk));
            let result = run.await.unwrap_or_else(|_| too_long(&approval.call));
            (approval.id, result)
        });
    }

    /// Returns whether any call is running.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the number of running calls.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the next finished call. Returns `None` for a call that panicked: its effect is
    /// unknown, so its approval card stays unchanged.
    pub async fn next(&mut self) -> Option<(ApprovalId, ToolResult)> {
        self.tasks.join_next().await?.ok()
    }

    /// Aborts all running calls.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}
