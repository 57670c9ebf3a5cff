//! The bundled subagents. Their files are installed into the data directory and read from there.

use super::{Names, Reference};

/// The bundled agents, by file stem.
const AGENTS: [Reference; 5] = [
    Reference { name: "gmail-reader", text: include_str!("../../../../prompts/agents/gmail-reader.md") },
    Reference {
        name: "history-reviewer",
        text: include_str!("../../../../prompts/agents/history-reviewer.md"),
    },
    Reference {
        name: "responsiveness-reviewer",
        text: include_str!("../../../../prompts/agents/responsiveness-reviewer.md"),
    },
    Reference { name: "user-proxy", text: include_str!("../../../../prompts/agents/user-proxy.md") },
    Reference { name: "guide", text: include_str!("../../../../prompts/agents/guide.md") },
];

/// Returns the name and text of each bundled agent.
pub fn bundled(names: &Names) -> Vec<(&'static str, String)> {
    AGENTS.iter().map(|agent| (agent.name, fill_names(agent.text, names))).collect()
}

/// SA-1: Fills in the names of user and assistant; other braces stay.
fn fill_names(text: &str, names: &Names) -> String {
    text.replace("{USER_NAME}", &names.user).replace("{BOT_NAME}", &names.assistant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SA-1: Only the two names are filled in.
    #[test]
    fn names_are_filled_in_and_other_braces_stay() {
        let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
        let told = fill_names("{USER_NAME} asks {BOT_NAME} for {this} {}", &names);
        assert_eq!(told, "julius asks ollim for {this} {}");
        for agent in AGENTS {
            let text = fill_names(agent.text, &names);
            assert!(text.contains("julius") || text.contains("ollim"), "{}", agent.name);
            assert!(!text.contains("_NAME}"), "{}", agent.name);
        }
    }
}
