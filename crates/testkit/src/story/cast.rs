//! Who plays the model of a story: the puppet, or a real engine before a played server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use domain::context::Context;
use domain::model::{Choices, Naming, SHORT_NAMES, Thinks};
use engine::ports::Model;

use crate::puppet::{Line, Puppet};
use crate::troupe::Troupe;

/// Who plays the model.
pub enum Cast {
    /// A function of what it reads.
    Puppet(Arc<Puppet>),
    /// An engine and its server.
    Troupe(Troupe),
}

impl Cast {
    /// The model of a program that has just started.
    pub fn model(&self) -> Arc<dyn Model> {
        match self {
            Self::Puppet(puppet) => puppet.clone(),
            Self::Troupe(troupe) => troupe.model(),
        }
    }

    /// The model has another key. One that is a real engine looks for its key where it is kept.
    pub fn renew(&self) {
        match self {
            Self::Puppet(puppet) => puppet.renew(),
            Self::Troupe(_) => {}
        }
    }

    /// Every context the model was given.
    pub fn seen(&self) -> Vec<Context> {
        match self {
            Self::Puppet(puppet) => puppet.seen(),
            Self::Troupe(troupe) => troupe.seen(),
        }
    }
}

/// The models that the human of a story can choose from.
pub fn choices() -> Choices {
    let id = |name: &str| (name.to_owned(), format!("claude-{name}-9"));
    let naming = Naming::Short(SHORT_NAMES.into_iter().map(id).collect());
    let usual = "puppet".to_owned();
    let human = "julius".to_owned();
    Choices { usual, naming, thinks: Thinks::AsTold, human, ..Choices::default() }
}

/// The next of `lines`, or words that say that there is none.
pub fn next(lines: &Mutex<VecDeque<Line>>) -> Line {
    let line = lines.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    line.unwrap_or_else(|| Line::says("(the model has no more lines)"))
}
