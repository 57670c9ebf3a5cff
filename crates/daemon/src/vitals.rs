//! How the assistant is, for the page and the command line.

use std::sync::Arc;

use domain::conversation::Branch;
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
            let session = self.journal.session(Branch::Main).await.ok().flatten();
            let session = session.map(|session| session.to_string());
            Health { session, ..self.fixed.clone() }
        })
    }
}
