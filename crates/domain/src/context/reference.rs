//! The reference documents: what the model looks up before it writes a file of ours.

/// A document for the model, kept in the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name of its file.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// All of them.
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
