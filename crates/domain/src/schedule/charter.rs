//! The charter of a job: where it runs and what it may do there.

use super::{Invalid, Terms};

/// Where a job runs and what it may do there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Charter {
    /// Speaks in the main conversation, as if the human had typed the prompt.
    Main(Unused),
    /// Runs aside, knowing everything main knows.
    Fork(Terms),
    /// Runs aside, knowing only its prompt.
    Alone(Terms),
    /// Runs aside, knowing what it learned in its earlier runs.
    Persistent(Terms),
}

/// What a job in the main conversation would be held to if it ran aside. It has no effect; it is kept because
/// the human wrote it down and may need it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unused {
    /// What it would know.
    pub knowing: Knowing,
    /// What would hold.
    pub terms: Terms,
}

/// Whether a job runs in the main conversation or aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standing {
    /// In the main conversation.
    #[default]
    Foreground,
    /// Aside.
    Background,
}

/// What a job that runs aside knows at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Knowing {
    /// All that main knows.
    #[default]
    Main,
    /// Its prompt.
    Itself,
}

impl Charter {
    /// A job in the main conversation.
    pub fn main() -> Self {
        Self::Main(Unused::default())
    }

    /// The charter of a job without a session of its own.
    pub fn new(standing: Standing, knowing: Knowing, terms: Terms) -> Self {
        match (standing, knowing) {
            (Standing::Foreground, knowing) => Self::Main(Unused { knowing, terms }),
            (Standing::Background, Knowing::Main) => Self::Fork(terms),
            (Standing::Background, Knowing::Itself) => Self::Alone(terms),
        }
    }

    /// Gives the job a session of its own, named as a file names it.
    pub fn with_session(self, session: &str) -> Result<Self, Invalid> {
        if session != "persistent" {
            let reason =
                format!("{session:?} is not a kind of session; write `persistent`, or leave the line out");
            return Err(Invalid::new("session", reason));
        }
        let not = |reason| Err(Invalid::new("session", reason));
        match self {
            Self::Main(_) => not("`persistent` needs `background: true`; a job in main has main's session"),
            Self::Alone(_) => not("`persistent` cannot stand beside `isolated: true`; leave one of them out"),
            Self::Fork(terms) | Self::Persistent(terms) => Ok(Self::Persistent(terms)),
        }
    }

    /// What holds while it runs aside: nothing, in the main conversation.
    pub fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Main(_) => None,
            Self::Fork(terms) | Self::Alone(terms) | Self::Persistent(terms) => Some(terms),
        }
    }

    /// The same with other terms. In the main conversation there are none that hold.
    pub(super) fn with_terms(self, change: impl FnOnce(Terms) -> Terms) -> Self {
        match self {
            Self::Main(unused) => Self::Main(unused),
            Self::Fork(terms) => Self::Fork(change(terms)),
            Self::Alone(terms) => Self::Alone(change(terms)),
            Self::Persistent(terms) => Self::Persistent(change(terms)),
        }
    }

    /// The terms the human wrote down, whether or not they have an effect.
    pub fn written_terms(&self) -> &Terms {
        match self {
            Self::Main(unused) => &unused.terms,
            Self::Fork(terms) | Self::Alone(terms) | Self::Persistent(terms) => terms,
        }
    }

    /// BF-10: what was written down and has no effect, because the job speaks in the main conversation.
    pub fn ignored(&self) -> Vec<&'static str> {
        let Self::Main(unused) = self else { return Vec::new() };
        let model = unused.terms.model.is_some().then_some("model");
        let isolated = (unused.knowing == Knowing::Itself).then_some("isolated");
        [model, isolated].into_iter().flatten().collect()
    }

    /// Whether it runs in the main conversation or aside.
    pub fn standing(&self) -> Standing {
        match self {
            Self::Main(_) => Standing::Foreground,
            Self::Fork(_) | Self::Alone(_) | Self::Persistent(_) => Standing::Background,
        }
    }

    /// What it knows, or would know if it ran aside.
    pub fn knowing(&self) -> Knowing {
        match self {
            Self::Main(unused) => unused.knowing,
            Self::Alone(_) => Knowing::Itself,
            Self::Fork(_) | Self::Persistent(_) => Knowing::Main,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charter(standing: Standing, knowing: Knowing) -> Charter {
        Charter::new(standing, knowing, Terms::default())
    }

    /// DD-37, RP-2: a session of its own needs a background, and excludes isolation.
    #[test]
    fn only_a_background_routine_that_is_not_isolated_keeps_a_session() {
        let fork = charter(Standing::Background, Knowing::Main);
        assert_eq!(fork.clone().with_session("persistent"), Ok(Charter::Persistent(Terms::default())));

        let refused =
            |charter: Charter, session: &str| charter.with_session(session).unwrap_err().to_string();
        assert!(refused(fork, "weekly").contains("weekly"));
        let main = charter(Standing::Foreground, Knowing::Main);
        assert!(refused(main, "persistent").contains("background"));
        let alone = charter(Standing::Background, Knowing::Itself);
        assert!(refused(alone, "persistent").contains("isolated"));
    }
}
