//! Rejected parts of the settings, with reasons and fixes. Setup and doctor continue without them.

use crate::exit::Failed;

/// A part of the settings that is accepted or rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The stored environment.
    Kept,
    File,
    Thinking,
    Zone,
    /// The model that answers.
    Brain,
    /// The key of the configured model; without it the offline model is used.
    Key,
    /// Surfaces and external services.
    Places,
}

#[derive(Debug)]
pub struct Refusal {
    pub part: Part,
    pub why: Failed,
}

impl Refusal {
    /// Returns how to fix it.
    pub fn fix(&self) -> &'static str {
        let why = self.why.to_string();
        if why.contains("chmod 600") {
            return "ollim-bot doctor --fix";
        }
        match self.part {
            Part::Kept | Part::File if why.contains(UNREADABLE) => "make it a file that you can read",
            Part::Kept | Part::File => "change that line of the file, or take it out",
            Part::Zone => "ollim-bot setup you --timezone ZONE",
            Part::Brain | Part::Key => "ollim-bot setup model",
            Part::Thinking | Part::Places => WHERE_IT_IS_SET,
        }
    }
}

/// Marks errors of files that cannot be read.
pub const UNREADABLE: &str = "it cannot be read";

/// The fix for settings without a setup section.
pub const WHERE_IT_IS_SET: &str =
    "change it where it is set: in this shell, in state/environment or in settings.toml";

/// The rejected parts so far.
#[derive(Debug, Default)]
pub struct Refusals(pub Vec<Refusal>);

impl Refusals {
    /// Returns the value that was read, or records the rejection and returns the default.
    pub fn or<T>(
        &mut self,
        part: Part,
        read: Result<T, Failed>,
        usual: impl FnOnce() -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        read.or_else(|why| {
            self.0.push(Refusal { part, why });
            usual()
        })
    }
}
