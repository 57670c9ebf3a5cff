//! What of the settings is refused: which part, why, and what repairs it. Whoever repairs settings reads on without it.

use crate::exit::Failed;

/// A part of the settings that is read or refused as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What was set up once.
    Kept,
    /// The settings file.
    File,
    /// How much is thought.
    Thinking,
    /// The human's zone.
    Zone,
    /// Who answers.
    Brain,
    /// The key of who answers, where that was chosen once: all else goes on without it.
    Key,
    /// Where the human can be.
    Places,
}

/// A part that is refused.
#[derive(Debug)]
pub struct Refusal {
    /// Which.
    pub part: Part,
    /// Why.
    pub why: Failed,
}

impl Refusal {
    /// What repairs it.
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

/// What is told of a file that the disk does not let us read.
pub const UNREADABLE: &str = "it cannot be read";

/// What repairs a setting that no section of the setup is about.
pub const WHERE_IT_IS_SET: &str =
    "change it where it is set: in this shell, in state/environment or in settings.toml";

/// All that was refused so far.
#[derive(Debug, Default)]
pub struct Refusals(pub Vec<Refusal>);

impl Refusals {
    /// What was read; or `usual` in its place, and that the part is refused.
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
