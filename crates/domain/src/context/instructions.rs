//! The system instructions of the model, which are the same on every branch.

use std::sync::Arc;

use super::skills::{SkillSummary, skill_catalogue};

/// The names that the instructions contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub assistant: String,
    pub user: String,
}

/// The instructions: `prompts/system.md`, with the names filled in.
pub fn instructions(names: &Names) -> Arc<str> {
    const SYSTEM: &str = include_str!("../../../../prompts/system.md");
    SYSTEM.replace("{assistant}", &names.assistant).replace(USER_PLACEHOLDER, &names.user).into()
}

/// The placeholder for the user's name in instructions that are rendered before the name is known.
pub const USER_PLACEHOLDER: &str = "{human}";

/// Returns `instructions` with the name of the user in them. The user may change it at any time.
pub fn with_user_name(instructions: &Arc<str>, user: &str) -> Arc<str> {
    if instructions.contains(USER_PLACEHOLDER) {
        instructions.replace(USER_PLACEHOLDER, user).into()
    } else {
        Arc::clone(instructions)
    }
}

/// Returns the instructions with a last section that names the skills which the model can load.
///
/// They are part of the prompt prefix: within a conversation they may only change where the prefix may change.
pub fn instructions_with_skills(names: &Names, skills: &[SkillSummary]) -> Arc<str> {
    let instructions = instructions(names);
    if skills.is_empty() {
        return instructions;
    }
    format!("{}\n\n{}", instructions.trim_end(), skill_catalogue(skills)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Arc<str> {
        instructions(&Names { assistant: "ollim".to_owned(), user: "julius".to_owned() })
    }

    fn assert_contains(points: &[&str]) {
        let text = text();
        for point in points {
            assert!(text.contains(point), "the instructions do not say: {point}");
        }
    }

    #[test]
    fn instructions_contain_both_names() {
        let text = text();
        assert!(text.starts_with("You are ollim, the personal assistant of julius."), "{text}");
        assert!(!text.contains('{'), "a name is missing in {text}");
    }

    /// SK-4: the instructions end with the skills; without skills they are unchanged.
    #[test]
    fn the_instructions_end_with_the_skills() {
        let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
        assert_eq!(instructions_with_skills(&names, &[]), text());
        let skills = [SkillSummary { name: "mail".to_owned(), description: "Sorts mail.".to_owned() }];
        let with = instructions_with_skills(&names, &skills);
        assert!(with.starts_with(text().trim_end()));
        assert!(
            with.ends_with(
                "\n\n# Skills\nInstructions for particular jobs. When one of these fits, load it with \
            the `Skill` tool before you begin.\n- `mail`: Sorts mail.\n"
            ),
            "{with}"
        );
    }

    /// SP-1, SP-2, SP-3: The instructions define the role, the tone, and that plans are captured at
    /// once.
    #[test]
    fn instructions_define_role_and_tone() {
        assert_contains(&[
            "ADHD",
            "Discord",
            "Concise, warm and direct",
            "Break big things down",
            "small wins",
        ]);
        assert_contains(&[
            "push back briefly",
            "overwhelmed, name one thing",
            "list when a list is asked for",
        ]);
        assert_contains(&["becomes history", "beyond a quick answer", "use a fork"]);
        assert_contains(&["When the intent is clear, capture at once", "Ask only when"]);
    }

    /// SP-4: The instructions explain the time and the tag before a prompt.
    #[test]
    fn instructions_explain_times_and_tags() {
        assert_contains(&[
            "starts with the time",
            "`[routine:ID]`, `[reminder:ID]`",
            "Reach out to julius by yourself",
        ]);
        assert_contains(&[
            "`[routine-bg:ID]`, `[reminder-bg:ID]`",
            "What you write is discarded: only tools",
        ]);
    }

    /// SP-5, SP-6, SP-7: The instructions explain the commands, the owner of routines, and chains.
    #[test]
    fn instructions_explain_commands_and_files() {
        assert_contains(&[
            "ollim-bot tasks list",
            "ollim-bot tasks add",
            "ollim-bot tasks done",
            "ollim-bot tasks delete",
        ]);
        assert_contains(&[
            "ollim-bot cal today",
            "ollim-bot cal add",
            "ollim-bot cal update",
            "ollim-bot reminder add --delay",
        ]);
        assert_contains(&["Look at the list before you add", "rather than deleting", "timezone"]);
        assert_contains(&[
            "Routines belong to julius: ask before",
            "Reminders you may create freely",
            "in one line",
        ]);
        assert_contains(&[
            "`routine-reminder-spec.md`, `webhook-spec.md` and `skill-spec.md`; read those in a fork",
        ]);
        assert_contains(&["`follow_up_chain(minutes_from_now)` for one more check, or let the chain end"]);
    }

    /// SP-8, SP-9: The instructions name the subagents and the use of embeds.
    #[test]
    fn instructions_name_subagents_and_embeds() {
        assert_contains(&[
            "mail: `gmail-reader`",
            "past sessions: `history-reviewer`",
            "`responsiveness-reviewer`",
        ]);
        assert_contains(&[
            "`guide`",
            "`user-proxy`",
            "HIGH confidence: act",
            "MEDIUM: act and report",
            "LOW: take the safe default, or ping",
        ]);
        assert_contains(&[
            "`discord_embed` for structured data",
            "carry the ids",
            "Plain text is for conversation",
        ]);
    }

    /// SP-10, SP-11, SP-12: The instructions explain forks, background runs, and the tools.
    #[test]
    fn instructions_explain_forks_runs_and_tools() {
        assert_contains(&[
            "never nested",
            "wait for julius at least once",
            "without calling you",
            "ends it if it stays quiet",
        ]);
        assert!(!text().contains("[fork-timeout]"), "the program sends no such message");
        assert_contains(&[
            "Leave with `report_updates`",
            "`exit_fork` when nothing is worth keeping",
            "`save_context` rarely",
        ]);
        assert_contains(&[
            "budget",
            "or in silence",
            "`save_context` and `enter_fork` are not available there",
        ]);
        assert_contains(&[
            "`always` means",
            "`on_ping` means",
            "`freely` means",
            "`blocked` means",
            "`allow-ping: false`",
        ]);
        assert_contains(&[
            "`session: persistent`",
            "`compact_session`",
            "web tools",
            "Only the tools you are given exist",
        ]);
    }
}
