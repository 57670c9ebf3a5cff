//! The reference documents that the model reads before it writes job, webhook or skill files.

/// A document for the model, stored in the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its file name.
    pub name: &'static str,
    pub text: &'static str,
}

pub const REFERENCES: [Reference; 3] = [
    Reference {
        name: "routine-reminder-spec.md",
        text: include_str!("../../../../prompts/reference/routine-reminder-spec.md"),
    },
    Reference {
        name: "webhook-spec.md",
        text: include_str!("../../../../prompts/reference/webhook-spec.md"),
    },
    Reference { name: "skill-spec.md", text: include_str!("../../../../prompts/reference/skill-spec.md") },
];
