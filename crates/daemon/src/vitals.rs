//! How the assistant is, for the page and the command line.

use std::sync::Arc;

use domain::conversation::Branch;
use engine::ports::Journal as _;
use futures_util::future::BoxFuture;
use journal::Journal;
use surfaces::web::vitals::{Health, Vitals};

/// What does not change while it runs, and the journal for what does.
pub struct Pulse {
    /// Everything that is known at the start.
    pub fixed: Health,
    /// Where the session is looked up.
    pub journal: Arc<Journal>,
}

impl Vitals for Pulse {
    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async {
            let open = self.journal.lineage().await.map(|lineage| lineage.open).unwrap_or_default();
            let main = open.into_iter().find(|(branch, ..)| *branch == Branch::Main);
            let session = main.map(|(_, session, _)| session.to_string());
            Health { session, ..self.fixed.clone() }
        })
    }
}
