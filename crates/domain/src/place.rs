//! Places: where a turn runs, and which tools work there.
//!
//! A place belongs to a run. All branches have the same tools in their prompt, so that its cached
//! prefix is shared; a tool that is called in the wrong place returns an error.

/// The place of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Main(ChainPosition),
    /// In the interactive fork.
    Fork,
    /// In a background run.
    Background(BackgroundPlace),
}

/// The history of a background run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundPlace {
    /// A fork of main.
    Forked(ChainPosition),
    /// Only its prompt.
    Isolated(ChainPosition),
    /// A session that continues from run to run. Only routines have one, and routines have no
    /// chain.
    Persistent,
}

/// The position of a run in a chain of reminders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainPosition {
    NotInChain,
    /// A check after `depth` others in a chain with at most `max` follow-ups.
    Check {
        /// The number of earlier checks.
        depth: u32,
        /// The most follow-ups of the first check.
        max: u32,
    },
}

/// A tool that does not work in every place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextToolKind {
    Embed,
    /// Interrupts the user.
    Ping,
    /// Requests one more check of a chain.
    FollowUp,
    /// Promotes the fork to main.
    Save,
    /// Leaves a pending update for main.
    Report,
    EnterFork,
    /// Ends the fork and discards it.
    ExitFork,
    /// Requests the compaction of a persistent session.
    Compact,
}

impl ContextToolKind {
    pub const ALL: [Self; 8] = [
        Self::Embed,
        Self::Ping,
        Self::FollowUp,
        Self::Save,
        Self::Report,
        Self::EnterFork,
        Self::ExitFork,
        Self::Compact,
    ];

    /// Returns the name in tool calls.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "discord_embed",
            Self::Ping => "ping_user",
            Self::FollowUp => "follow_up_chain",
            Self::Save => "save_context",
            Self::Report => "report_updates",
            Self::EnterFork => "enter_fork",
            Self::ExitFork => "exit_fork",
            Self::Compact => "compact_session",
        }
    }

    /// Returns the tool with this name; `None` for tools that work everywhere.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

impl Place {
    /// Checks that `tool` works here; the error is the reply to the model.
    pub fn check_tool(self, tool: ContextToolKind) -> Result<(), &'static str> {
        match tool {
            ContextToolKind::Embed => Ok(()),
            ContextToolKind::Ping => self.check_ping(),
            ContextToolKind::FollowUp => self.check_follow_up(),
            ContextToolKind::Save => self.check_save(),
            ContextToolKind::Report => self.check_report(),
            ContextToolKind::EnterFork => self.check_enter(),
            ContextToolKind::ExitFork => self.check_exit(),
            ContextToolKind::Compact => self.check_compact(),
        }
    }

    fn check_ping(self) -> Result<(), &'static str> {
        match self {
            Self::Background(_) => Ok(()),
            Self::Main(_) | Self::Fork => {
                Err("Error: `ping_user` is only available in background forks. the \
                human reads this conversation, so simply say it.")
            }
        }
    }

    fn check_follow_up(self) -> Result<(), &'static str> {
        match self.chain_position() {
            ChainPosition::Check { depth, max } if depth < max => Ok(()),
            ChainPosition::Check { .. } => {
                Err("Error: limit reached, this was the last check of its chain. if it is \
                unresolved and cannot wait, ping now; otherwise let it end.")
            }
            ChainPosition::NotInChain => {
                Err("Error: there is no active reminder context, so there is nothing to follow up. \
                for a new reminder use `ollim-bot reminder add`.")
            }
        }
    }

    fn check_save(self) -> Result<(), &'static str> {
        match self {
            Self::Fork => Ok(()),
            Self::Background(_) => {
                Err("Error: `save_context` is not available in background forks. leave what \
                matters with `report_updates`.")
            }
            Self::Main(_) => {
                Err("Error: you are not in an interactive fork. this is the main conversation, and \
                it is kept anyway.")
            }
        }
    }

    fn check_report(self) -> Result<(), &'static str> {
        match self {
            Self::Fork | Self::Background(_) => Ok(()),
            Self::Main(_) => {
                Err("Error: you are not in a forked session. this is the main conversation, so \
                simply say it.")
            }
        }
    }

    fn check_enter(self) -> Result<(), &'static str> {
        match self {
            Self::Main(_) => Ok(()),
            Self::Fork => {
                Err("Error: you are already in an interactive fork, and forks are never nested. go on \
                here, or end this one first.")
            }
            Self::Background(_) => {
                Err("Error: `enter_fork` is not available in background forks. nobody is here \
                to talk to; leave what matters with `report_updates`.")
            }
        }
    }

    fn check_exit(self) -> Result<(), &'static str> {
        match self {
            Self::Fork => Ok(()),
            Self::Background(_) => Err("Error: background forks end by themselves when you stop. there is \
                nothing to leave."),
            Self::Main(_) => Err("Error: you are not in an interactive fork, so there is nothing to leave."),
        }
    }

    fn check_compact(self) -> Result<(), &'static str> {
        match self {
            Self::Background(BackgroundPlace::Persistent) => Ok(()),
            Self::Main(_)
            | Self::Fork
            | Self::Background(BackgroundPlace::Forked(_) | BackgroundPlace::Isolated(_)) => Err(
                "Error: `compact_session` works only in the session of a persistent routine. go on without it.",
            ),
        }
    }

    fn chain_position(self) -> ChainPosition {
        match self {
            Self::Main(follow)
            | Self::Background(BackgroundPlace::Forked(follow) | BackgroundPlace::Isolated(follow)) => follow,
            Self::Fork | Self::Background(BackgroundPlace::Persistent) => ChainPosition::NotInChain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: ChainPosition = ChainPosition::Check { depth: 1, max: 3 };
    const LAST: ChainPosition = ChainPosition::Check { depth: 3, max: 3 };

    fn check(tool: ContextToolKind, place: Place, expected: &str) {
        let told = place.check_tool(tool).err().unwrap_or("yes");
        match expected {
            "yes" => assert_eq!(told, "yes", "{tool:?} in {place:?}"),
            words => {
                assert!(told.starts_with("Error") && told.contains(words), "{tool:?} in {place:?}: {told}")
            }
        }
    }

    /// TL-2, TL-4, TL-7, TL-9, TL-10, TL-12, TL-14, TL-15, RP-22, CH-9: Every tool in every place.
    #[test]
    fn tool_works_only_in_its_places() {
        let places = [
            Place::Main(ChainPosition::NotInChain),
            Place::Main(CHECK),
            Place::Fork,
            Place::Background(BackgroundPlace::Forked(ChainPosition::NotInChain)),
            Place::Background(BackgroundPlace::Isolated(CHECK)),
            Place::Background(BackgroundPlace::Persistent),
        ];
        let aside = "only available in background forks";
        let chainless = "no active reminder context";
        let unattended = "not available in background forks";
        let outside = "not in an interactive fork";
        let inside = "already in an interactive fork";
        let routine = "persistent routine";
        let table: [(ContextToolKind, [&str; 6]); 8] = [
            (ContextToolKind::Embed, ["yes", "yes", "yes", "yes", "yes", "yes"]),
            (ContextToolKind::Ping, [aside, aside, aside, "yes", "yes", "yes"]),
            (ContextToolKind::FollowUp, [chainless, "yes", chainless, chainless, "yes", chainless]),
            (ContextToolKind::Save, [outside, outside, "yes", unattended, unattended, unattended]),
            (
                ContextToolKind::Report,
                ["not in a forked session", "not in a forked session", "yes", "yes", "yes", "yes"],
            ),
            (ContextToolKind::EnterFork, ["yes", "yes", inside, unattended, unattended, unattended]),
            (
                ContextToolKind::ExitFork,
                [outside, outside, "yes", "by themselves", "by themselves", "by themselves"],
            ),
            (ContextToolKind::Compact, [routine, routine, routine, routine, routine, "yes"]),
        ];
        for (tool, row) in table {
            for (place, expected) in places.into_iter().zip(row) {
                check(tool, place, expected);
            }
        }
    }

    /// TL-9, CH-9: The last check of a chain cannot be followed up.
    #[test]
    fn last_check_cannot_be_followed_up() {
        check(ContextToolKind::FollowUp, Place::Background(BackgroundPlace::Forked(LAST)), "limit reached");
        check(ContextToolKind::FollowUp, Place::Main(LAST), "limit reached");
        check(ContextToolKind::Save, Place::Background(BackgroundPlace::Forked(LAST)), "report_updates");
    }

    #[test]
    fn tool_is_found_by_name() {
        for tool in ContextToolKind::ALL {
            assert_eq!(ContextToolKind::from_name(tool.name()), Some(tool));
        }
        assert_eq!(ContextToolKind::from_name("inbox_add"), None);
    }
}
