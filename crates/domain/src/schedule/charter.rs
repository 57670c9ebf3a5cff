//! The target of a job: the main conversation or a background run, with its options.

use super::{Invalid, Terms};

/// Where a job runs, and with which options.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Charter {
    /// A message in the main conversation, as if the user had typed the prompt.
    Main(Unused),
    /// A background run with the context of main.
    Fork(Terms),
    /// A background run with only its prompt.
    Alone(Terms),
    /// A background run with the context of its earlier runs.
    Persistent(Terms),
}

/// Run options in the file of a job on main. They have no effect, but are preserved in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unused {
    pub knowing: Knowing,
    pub terms: Terms,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standing {
    #[default]
    Foreground,
    Background,
}

/// The initial context of a background run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Knowing {
    /// The context of main.
    #[default]
    Main,
    /// Only the prompt.
    Itself,
}

impl Charter {
    /// The target of a job in the main conversation.
    pub fn main() -> Self {
        Self::Main(Unused::default())
    }

    /// The target of a job without a persistent session.
    pub fn new(standing: Standing, knowing: Knowing, terms: Terms) -> Self {
        match (standing, knowing) {
            (Standing::Foreground, knowing) => Self::Main(Unused { knowing, terms }),
            (Standing::Background, Knowing::Main) => Self::Fork(terms),
            (Standing::Background, Knowing::Itself) => Self::Alone(terms),
        }
    }

    /// Makes the session persistent, from the value of `session` in a file.
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

    /// The options in effect; `None` for the main conversation.
    pub fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Main(_) => None,
            Self::Fork(terms) | Self::Alone(terms) | Self::Persistent(terms) => Some(terms),
        }
    }

    /// Changes the options in effect; those of a job on main stay as they are.
    pub(super) fn with_terms(self, change: impl FnOnce(Terms) -> Terms) -> Self {
        match self {
            Self::Main(unused) => Self::Main(unused),
            Self::Fork(terms) => Self::Fork(change(terms)),
            Self::Alone(terms) => Self::Alone(change(terms)),
            Self::Persistent(terms) => Self::Persistent(change(terms)),
        }
    }

    /// The options in the file, whether or not they have an effect.
    pub fn written_terms(&self) -> &Terms {
        match self {
            Self::Main(unused) => &unused.terms,
            Self::Fork(terms) | Self::Alone(terms) | Self::Persistent(terms) => terms,
        }
    }

    /// BF-10: the fields that have no effect because the job runs in the main conversation.
    pub fn ignored(&self) -> Vec<&'static str> {
        let Self::Main(unused) = self else { return Vec::new() };
        let model = unused.terms.model.is_some().then_some("model");
        let isolated = (unused.knowing == Knowing::Itself).then_some("isolated");
        [model, isolated].into_iter().flatten().collect()
    }

    pub fn standing(&self) -> Standing {
        match self {
            Self::Main(_) => Standing::Foreground,
            Self::Fork(_) | Self::Alone(_) | Self::Persistent(_) => Standing::Background,
        }
    }

    /// The initial context, which a job on main ignores.
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

    /// DD-37, RP-2: a persistent session requires a background job that is not isolated.
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
