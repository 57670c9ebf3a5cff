//! Carrying out: calls that the human said yes to after their run had gone on. No turn waits for them.

use std::sync::Arc;

use domain::approval::{Approval, ApprovalId};
use domain::tool::ToolResult;
use tokio::task::JoinSet;

use crate::desk::Desk;
use crate::drive::{TOOL_TIME, too_long};
use crate::ports::Hands;

/// The calls that are being carried out.
pub struct Carrying {
    hands: Arc<dyn Hands>,
    desk: Desk,
    tasks: JoinSet<(ApprovalId, ToolResult)>,
}

impl Carrying {
    /// None yet.
    pub fn new(hands: Arc<dyn Hands>, desk: Desk) -> Self {
        Self { hands, desk, tasks: JoinSet::new() }
    }

    /// Carries out one.
    pub fn start(&mut self, approval: Approval) {
        let hands = Arc::clone(&self.hands);
        let desk = self.desk.clone();
        self.tasks.spawn(async move {
            let run = tokio::time::timeout(TOOL_TIME, hands.run(approval.turn, &approval.call, &desk));
            let result = run.await.unwrap_or_else(|_| too_long(&approval.call));
            (approval.id, result)
        });
    }

    /// Whether any is being carried out.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// How many are being carried out.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// The next that was. One that panicked leaves its card as it is: nobody knows what came of it.
    pub async fn next(&mut self) -> Option<(ApprovalId, ToolResult)> {
        self.tasks.join_next().await?.ok()
    }

    /// Ends all of them where they stand.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}
