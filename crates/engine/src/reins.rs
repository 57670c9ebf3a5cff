//! Reins: how a turn that goes on is reached. It can be stopped, hurried, and told what was decided about what it asked for.

use std::collections::BTreeMap;

use domain::approval::ApprovalId;
use domain::permission::Decision;
use domain::tool::ToolResult;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

type Decisions = BTreeMap<ApprovalId, Decision>;
type Results = BTreeMap<String, ToolResult>;

/// The end that the turn holds.
#[derive(Clone, Debug)]
pub struct Reins {
    /// Whether it should end.
    pub stop: CancellationToken,
    /// Whether somebody waits for it, though nobody did when it started.
    pub hurry: CancellationToken,
    decisions: watch::Receiver<Decisions>,
    results: watch::Receiver<Results>,
}

/// The end that its owner holds.
#[derive(Debug)]
pub struct Hold {
    stop: CancellationToken,
    hurry: CancellationToken,
    decisions: watch::Sender<Decisions>,
    results: watch::Sender<Results>,
}

impl Hold {
    /// Both ends, for a turn that is about to start.
    pub fn new() -> (Self, Reins) {
        let stop = CancellationToken::new();
        let hurry = CancellationToken::new();
        let (sender, receiver) = watch::channel(Decisions::new());
        let (came, results) = watch::channel(Results::new());
        let hold = Self { stop: stop.clone(), hurry: hurry.clone(), decisions: sender, results: came };
        (hold, Reins { stop, hurry, decisions: receiver, results })
    }

    /// Asks the turn to end.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Tells the turn that somebody waits for it now.
    pub fn hurry(&self) {
        self.hurry.cancel();
    }

    /// Tells the turn what was decided. It is kept until the turn asks for it.
    pub fn decide(&self, id: ApprovalId, decision: Decision) {
        self.decisions.send_modify(|decisions| _ = decisions.insert(id, decision));
    }

    /// Tells the turn what came of a call that somebody else worked on.
    pub fn answer(&self, result: ToolResult) {
        self.results.send_modify(|results| _ = results.insert(result.call.clone(), result));
    }
}

impl Reins {
    /// Waits for what is decided under `id`: nothing, if the turn should end before that.
    pub async fn decided(&self, id: ApprovalId) -> Option<Decision> {
        let mut decisions = self.decisions.clone();
        let decided = decisions.wait_for(|decisions| decisions.contains_key(&id));
        // Whoever is stopped is told why before that, so what came is looked at once more.
        let _ = self.stop.run_until_cancelled(decided).await;
        self.decisions.borrow().get(&id).cloned()
    }

    /// Waits for what comes of `call`: nothing, if the turn should end before that.
    pub async fn answered(&self, call: &str) -> Option<ToolResult> {
        let mut results = self.results.clone();
        let answered = results.wait_for(|results| results.contains_key(call));
        let _ = self.stop.run_until_cancelled(answered).await;
        self.results.borrow().get(call).cloned()
    }
}
