//! The model of a story: scripted, or a real vendor client with a scripted server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use domain::context::Context;
use domain::model::{ModelChoices, ModelNaming, SHORT_NAMES, ThinkingControl};
use engine::ports::Model;

use crate::scripted_model::{ModelOutcome, ScriptedModel};
use crate::wire_models::WireModel;

pub enum StoryModel {
    /// A function of its context.
    Scripted(Arc<ScriptedModel>),
    /// A vendor client and its server.
    Wire(WireModel),
}

impl StoryModel {
    /// Returns the model for a program that starts.
    pub fn model(&self) -> Arc<dyn Model> {
        match self {
            Self::Scripted(puppet) => puppet.clone(),
            Self::Wire(troupe) => troupe.model(),
        }
    }

    /// Renews the key. A vendor client reads its key by itself.
    pub fn renew_key(&self) {
        match self {
            Self::Scripted(puppet) => puppet.renew_key(),
            Self::Wire(_) => {}
        }
    }

    /// Returns every context of the model.
    pub fn contexts(&self) -> Vec<Context> {
        match self {
            Self::Scripted(puppet) => puppet.contexts(),
            Self::Wire(troupe) => troupe.contexts(),
        }
    }
}

/// Returns the models that the user of a story can choose.
pub fn model_choices() -> ModelChoices {
    let id = |name: &str| (name.to_owned(), format!("claude-{name}-9"));
    let naming = ModelNaming::ShortNames(SHORT_NAMES.into_iter().map(id).collect());
    let usual = "puppet".to_owned();
    let human = "julius".to_owned();
    ModelChoices {
        default_model: usual,
        naming,
        thinking_control: ThinkingControl::Full,
        user_name: human,
        ..ModelChoices::default()
    }
}

/// Takes the next outcome, or a text that reports the end of the script.
pub fn next_outcome(outcomes: &Mutex<VecDeque<ModelOutcome>>) -> ModelOutcome {
    let outcome = outcomes.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    outcome.unwrap_or_else(|| ModelOutcome::text("(the model has no more lines)"))
}
