//! The mode of permission: what may be done without asking.

/// What may be done without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// What is not allowed is refused without asking.
    #[default]
    DontAsk,
    /// What is not allowed is asked for.
    Default,
    /// Files may be edited without asking.
    AcceptEdits,
    /// Nothing is asked for.
    BypassPermissions,
}

impl PermissionMode {
    const ALL: [Self; 4] = [Self::DontAsk, Self::Default, Self::AcceptEdits, Self::BypassPermissions];

    /// RC-7: the mode of this very name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// The mode as it is kept.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DontAsk => "dontAsk",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
        }
    }
}
