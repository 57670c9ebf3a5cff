//! Modes: what may be done without asking, as the human has set it.

/// What may be done without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// What is not allowed is refused without asking.
    DontAsk,
    /// What is not allowed is asked for. The mode of a new installation.
    #[default]
    Ask,
    /// Files may be edited without asking.
    AcceptEdits,
    /// Nothing is asked for.
    Bypass,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::DontAsk, Self::Ask, Self::AcceptEdits, Self::Bypass];

    /// The name by which people know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DontAsk => "dontAsk",
            Self::Ask => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Bypass => "bypassPermissions",
        }
    }

    /// The mode of that name, letter by letter.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// What it means, for the human.
    pub fn meaning(self) -> &'static str {
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

/// The modes that hold: that of the side conversation ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// In the main conversation, and wherever nothing else was said.
    pub main: Mode,
    /// In the side conversation that is open.
    pub fork: Option<Mode>,
}
