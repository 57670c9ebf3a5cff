//! Permission modes: what may run without asking, as set by the user.

/// A permission mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Calls that are not allowed are refused without asking.
    DontAsk,
    /// Calls that are not allowed ask the user. The mode of a new installation.
    #[default]
    Ask,
    /// Files may be edited without asking.
    AcceptEdits,
    /// No call asks the user.
    Bypass,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::DontAsk, Self::Ask, Self::AcceptEdits, Self::Bypass];

    /// Returns the name that the user sees.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DontAsk => "dontAsk",
            Self::Ask => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Bypass => "bypassPermissions",
        }
    }

    /// Returns the mode with exactly this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// Returns the explanation for the user.
    pub fn description(self) -> &'static str {
        match self {
            Self::DontAsk => "i don't ask; what would need your yes is refused",
            Self::Ask => "i ask you before i do something that can't be taken back",
            Self::AcceptEdits => "i edit files without asking, and ask for the rest",
            Self::Bypass => {
                "i ask for nothing; only `state/` stays protected, and nothing changes in the background"
            }
        }
    }
}

/// The modes in force. The mode of a fork ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// In the main conversation, and where no other mode is set.
    pub main: Mode,
    /// In the open fork.
    pub fork: Option<Mode>,
}
