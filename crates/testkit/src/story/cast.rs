//! The model of a story: scripted, or a real vendor client with a scripted server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use domain::context::Context;
use domain::model::{Choices, Naming, SHORT_NAMES, Thinks};
use engine::ports::Model;

use crate::puppet::{Line, Puppet};
use crate::troupe::Troupe;

pub enum Cast {
    /// A function of its context.
    Puppet(Arc<Puppet>),
    /// A vendor client and its server.
    Troupe(Troupe),
}

impl Cast {
    /// Returns the model for a program that starts.
    pub fn model(&self) -> Arc<dyn Model> {
        match self {
            Self::Puppet(puppet) => puppet.clone(),
            Self::Troupe(troupe) => troupe.model(),
        }
    }

    /// Renews the key. A vendor client reads its key by itself.
    pub fn renew(&self) {
        match self {
            Self::Puppet(puppet) => puppet.renew(),
            Self::Troupe(_) => {}
        }
    }

    /// Returns every context of the model.
    pub fn seen(&self) -> Vec<Context> {
        match self {
            Self::Puppet(puppet) => puppet.seen(),
            Self::Troupe(troupe) => troupe.seen(),
        }
    }
}

/// Returns the models that the user of a story can choose.
pub fn choices() -> Choices {
    let id = |name: &str| (name.to_owned(), format!("claude-{name}-9"));
    let naming = Naming::Short(SHORT_NAMES.into_iter().map(id).collect());
    let usual = "puppet".to_owned();
    let human = "julius".to_owned();
    Choices { usual, naming, thinks: Thinks::AsTold, human, ..Choices::default() }
}

/// Takes the next outcome, or a text that reports the end of the script.
pub fn next(lines: &Mutex<VecDeque<Line>>) -> Line {
    let line = lines.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    line.unwrap_or_else(|| Line::says("(the model has no more lines)"))
}
