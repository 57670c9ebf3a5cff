//! A webhook: a job that somebody outside sets off.

use super::{ItemId, Knowing, Prompt, Terms};

/// What a call from outside must bring, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebhookSpec {
    /// Who it is, and the last part of its address.
    pub id: ItemId,
    /// The JSON Schema of what must be brought, as JSON text.
    pub fields: String,
    /// What the job knows at its start. It always runs aside.
    pub knowing: Knowing,
    /// What holds while it runs.
    pub terms: Terms,
    /// What it is told, with places for what was brought.
    pub template: Prompt,
}
