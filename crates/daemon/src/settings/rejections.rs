//! Rejected parts of the settings, with reasons and fixes. Setup and doctor continue without them.

use crate::exit::CommandError;

/// A part of the settings that is accepted or rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsPart {
    /// The stored environment.
    StoredEnvironment,
    File,
    Thinking,
    Zone,
    /// The model that answers.
    Model,
    /// The key of the configured model; without it the offline model is used.
    Key,
    /// Surfaces and external services.
    Integrations,
}

#[derive(Debug)]
pub struct Rejection {
    pub part: SettingsPart,
    pub why: CommandError,
}

impl Rejection {
    /// Returns how to fix it.
    pub fn fix(&self) -> &'static str {
        let why = self.why.to_string();
        if why.contains("chmod 600") {
            return "ollim-bot doctor --fix";
        }
        match self.part {
            SettingsPart::StoredEnvironment | SettingsPart::File if why.contains(UNREADABLE) => {
                "make it a file that you can read"
            }
            SettingsPart::StoredEnvironment | SettingsPart::File => {
                "change that line of the file, or take it out"
            }
            SettingsPart::Zone => "ollim-bot setup you --timezone ZONE",
            SettingsPart::Model | SettingsPart::Key => "ollim-bot setup model",
            SettingsPart::Thinking | SettingsPart::Integrations => FIX_WHERE_SET,
        }
    }
}

/// Marks errors of files that cannot be read.
pub const UNREADABLE: &str = "it cannot be read";

/// The fix for settings without a setup section.
pub const FIX_WHERE_SET: &str =
    "change it where it is set: in this shell, in state/environment or in settings.toml";

/// The rejected parts so far.
#[derive(Debug, Default)]
pub struct Rejections(pub Vec<Rejection>);

impl Rejections {
    /// Returns the value that was read, or records the rejection and returns the default.
    pub fn or_default<T>(
        &mut self,
        part: SettingsPart,
        read: Result<T, CommandError>,
        usual: impl FnOnce() -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        read.or_else(|why| {
            self.0.push(Rejection { part, why });
            usual()
        })
    }
}
