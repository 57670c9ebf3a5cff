//! The subagents that come with the program. Their files are placed in the data directory, and are read from there.

use super::{Names, Reference};

/// All of them, by the name of their file without its ending.
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

/// All of them, by name and text.
pub fn bundled(names: &Names) -> Vec<(&'static str, String)> {
    AGENTS.iter().map(|agent| (agent.name, with_names(agent.text, names))).collect()
}

/// SA-1: the text of a file that comes with the program, with the names filled in; other braces stay as they are.
fn with_names(text: &str, names: &Names) -> String {
    text.replace("{USER_NAME}", &names.human).replace("{BOT_NAME}", &names.assistant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SA-1: only the two names are filled in.
    #[test]
    fn names_are_filled_in_and_other_braces_stay() {
        let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
        let told = with_names("{USER_NAME} asks {BOT_NAME} for {this} {}", &names);
        assert_eq!(told, "julius asks ollim for {this} {}");
        for agent in AGENTS {
            let text = with_names(agent.text, &names);
            assert!(text.contains("julius") || text.contains("ollim"), "{}", agent.name);
            assert!(!text.contains("_NAME}"), "{}", agent.name);
        }
    }
}
