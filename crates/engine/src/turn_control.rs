//! The control channel of a running turn: stop it, hurry it, and deliver approvals and delegated
//! results.

use std::collections::BTreeMap;

use domain::approval::ApprovalId;
use domain::permission::Decision;
use domain::tool::ToolResult;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

type Decisions = BTreeMap<ApprovalId, Decision>;
type Results = BTreeMap<String, ToolResult>;

/// The end of the channel that the turn uses.
#[derive(Clone, Debug)]
pub struct TurnControl {
    /// Cancelled when the turn should end.
    pub stop: CancellationToken,
    /// Cancelled when the user starts to wait for a turn that started unattended.
    pub hurry: CancellationToken,
    decisions: watch::Receiver<Decisions>,
    results: watch::Receiver<Results>,
}

/// The end of the channel that the owner of the turn uses.
#[derive(Debug)]
pub struct TurnHandle {
    stop: CancellationToken,
    hurry: CancellationToken,
    decisions: watch::Sender<Decisions>,
    results: watch::Sender<Results>,
}

impl TurnHandle {
    /// Creates both ends for a turn that is about to start.
    pub fn new() -> (Self, TurnControl) {
        let stop = CancellationToken::new();
        let hurry = CancellationToken::new();
        let (decision_sender, decision_receiver) = watch::channel(Decisions::new());
        let (result_sender, results) = watch::channel(Results::new());
        let handle = Self {
            stop: stop.clone(),
            hurry: hurry.clone(),
            decisions: decision_sender,
            results: result_sender,
        };
        (handle, TurnControl { stop, hurry, decisions: decision_receiver, results })
    }

    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Notifies the turn that the user waits for it now.
    pub fn hurry(&self) {
        self.hurry.cancel();
    }

    /// Delivers a decision to the turn. It is stored until the turn asks for it.
    pub fn decide(&self, id: ApprovalId, decision: Decision) {
        self.decisions.send_modify(|decisions| _ = decisions.insert(id, decision));
    }

    /// Delivers the result of a delegated call to the turn.
    pub fn answer(&self, result: ToolResult) {
        self.results.send_modify(|results| _ = results.insert(result.call.clone(), result));
    }
}

impl TurnControl {
    /// Waits for the decision of `id`. Returns `None` if the turn is stopped before.
    pub async fn decision(&self, id: ApprovalId) -> Option<Decision> {
        let mut decisions = self.decisions.clone();
        let decided = decisions.wait_for(|decisions| decisions.contains_key(&id));
        // Before a turn is stopped its approvals are decided, so the decisions are checked once
        // more.
        let _ = self.stop.run_until_cancelled(decided).await;
        self.decisions.borrow().get(&id).cloned()
    }

    /// Waits for the result of `call`. Returns `None` if the turn is stopped before.
    pub async fn result(&self, call: &str) -> Option<ToolResult> {
        let mut results = self.results.clone();
        let answered = results.wait_for(|results| results.contains_key(call));
        let _ = self.stop.run_until_cancelled(answered).await;
        self.results.borrow().get(call).cloned()
    }
}
