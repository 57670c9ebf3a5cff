//! The target of a job: the main conversation or a background run, with its options.

use super::{InvalidField, RunOptions};

/// The conversation and the options that a job runs with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JobTarget {
    /// A message in the main conversation, as if the user had typed the prompt.
    Main(IgnoredOptions),
    /// A background run with the context of main.
    Fork(RunOptions),
    /// A background run with only its prompt.
    Isolated(RunOptions),
    /// A background run with the context of its earlier runs.
    Persistent(RunOptions),
}

/// Run options in the file of a job on main. They have no effect, but are preserved in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IgnoredOptions {
    pub context: InitialContext,
    pub options: RunOptions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    #[default]
    Foreground,
    Background,
}

/// The initial context of a background run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InitialContext {
    /// The context of main.
    #[default]
    Main,
    /// Only the prompt.
    PromptOnly,
}

impl JobTarget {
    /// The target of a job in the main conversation.
    pub fn main() -> Self {
        Self::Main(IgnoredOptions::default())
    }

    /// The target of a job without a persistent session.
    pub fn new(standing: Placement, knowing: InitialContext, terms: RunOptions) -> Self {
        match (standing, knowing) {
            (Placement::Foreground, knowing) => {
                Self::Main(IgnoredOptions { context: knowing, options: terms })
            }
            (Placement::Background, InitialContext::Main) => Self::Fork(terms),
            (Placement::Background, InitialContext::PromptOnly) => Self::Isolated(terms),
        }
    }

    /// Makes the session persistent, from the value of `session` in a file.
    pub fn with_session(self, session: &str) -> Result<Self, InvalidField> {
        if session != "persistent" {
            let reason =
                format!("{session:?} is not a kind of session; write `persistent`, or leave the line out");
            return Err(InvalidField::new("session", reason));
        }
        let not = |reason| Err(InvalidField::new("session", reason));
        match self {
            Self::Main(_) => not("`persistent` needs `background: true`; a job in main has main's session"),
            Self::Isolated(_) => {
                not("`persistent` cannot stand beside `isolated: true`; leave one of them out")
            }
            Self::Fork(terms) | Self::Persistent(terms) => Ok(Self::Persistent(terms)),
        }
    }

    /// The options in effect; `None` for the main conversation.
    pub fn options(&self) -> Option<&RunOptions> {
        match self {
            Self::Main(_) => None,
            Self::Fork(terms) | Self::Isolated(terms) | Self::Persistent(terms) => Some(terms),
        }
    }

    /// Changes the options in effect; those of a job on main stay as they are.
    pub(super) fn with_options(self, change: impl FnOnce(RunOptions) -> RunOptions) -> Self {
        match self {
            Self::Main(unused) => Self::Main(unused),
            Self::Fork(terms) => Self::Fork(change(terms)),
            Self::Isolated(terms) => Self::Isolated(change(terms)),
            Self::Persistent(terms) => Self::Persistent(change(terms)),
        }
    }

    /// The options in the file, whether or not they have an effect.
    pub fn written_options(&self) -> &RunOptions {
        match self {
            Self::Main(unused) => &unused.options,
            Self::Fork(terms) | Self::Isolated(terms) | Self::Persistent(terms) => terms,
        }
    }

    /// BF-10: the fields that have no effect because the job runs in the main conversation.
    pub fn ignored_fields(&self) -> Vec<&'static str> {
        let Self::Main(unused) = self else { return Vec::new() };
        let model = unused.options.model.is_some().then_some("model");
        let isolated = (unused.context == InitialContext::PromptOnly).then_some("isolated");
        [model, isolated].into_iter().flatten().collect()
    }

    pub fn placement(&self) -> Placement {
        match self {
            Self::Main(_) => Placement::Foreground,
            Self::Fork(_) | Self::Isolated(_) | Self::Persistent(_) => Placement::Background,
        }
    }

    /// The initial context, which a job on main ignores.
    pub fn context(&self) -> InitialContext {
        match self {
            Self::Main(unused) => unused.context,
            Self::Isolated(_) => InitialContext::PromptOnly,
            Self::Fork(_) | Self::Persistent(_) => InitialContext::Main,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(standing: Placement, knowing: InitialContext) -> JobTarget {
        JobTarget::new(standing, knowing, RunOptions::default())
    }

    /// DD-37, RP-2: a persistent session requires a background job that is not isolated.
    #[test]
    fn only_a_background_job_that_is_not_isolated_can_be_persistent() {
        let fork = target(Placement::Background, InitialContext::Main);
        assert_eq!(fork.clone().with_session("persistent"), Ok(JobTarget::Persistent(RunOptions::default())));

        let refused =
            |charter: JobTarget, session: &str| charter.with_session(session).unwrap_err().to_string();
        assert!(refused(fork, "weekly").contains("weekly"));
        let main = target(Placement::Foreground, InitialContext::Main);
        assert!(refused(main, "persistent").contains("background"));
        let alone = target(Placement::Background, InitialContext::PromptOnly);
        assert!(refused(alone, "persistent").contains("isolated"));
    }
}
