//! The system instructions of the model, which are the same on every branch.

use std::sync::Arc;

use super::skills::{SkillSummary, skill_catalogue};

/// The names that the instructions contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub assistant: String,
    pub human: String,
}

/// The instructions: `prompts/system.md`, with the names filled in.
pub fn instructions(names: &Names) -> Arc<str> {
    const SYSTEM: &str = include_str!("../../../../prompts/system.md");
    SYSTEM.replace("{assistant}", &names.assistant).replace(HUMAN, &names.human).into()
}

/// The placeholder for the user's name in instructions that are rendered before the name is known.
pub const HUMAN: &str = "{human}";

/// Returns `instructions` with the name of the user in them. The user may change it at any time.
pub fn addressed(instructions: &Arc<str>, human: &str) -> Arc<str> {
    if instructions.contains(HUMAN) {
        instructions.replace(HUMAN, human).into()
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
        instructions(&Names { assistant: "ollim".to_owned(), human: "julius".to_owned() })
    }

    fn conveys(points: &[&str]) {
        let text = text();
        for point in points {
            assert!(text.contains(point), "the instructions do not say: {point}");
        }
    }

    #[test]
    fn the_instructions_know_both_names_and_leave_no_gap() {
        let text = text();
        assert!(text.starts_with("You are ollim, the personal assistant of julius."), "{text}");
        assert!(!text.contains('{'), "a name is missing in {text}");
    }

    /// SK-4: the instructions end with the skills; without skills they are unchanged.
    #[test]
    fn the_instructions_end_with_the_skills() {
        let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
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
    fn the_model_knows_who_it_is_and_how_to_speak() {
        conveys(&["ADHD", "Discord", "Concise, warm and direct", "Break big things down", "small wins"]);
        conveys(&["push back briefly", "overwhelmed, name one thing", "list when a list is asked for"]);
        conveys(&["becomes history", "beyond a quick answer", "use a fork"]);
        conveys(&["When the intent is clear, capture at once", "Ask only when"]);
    }

    /// SP-4: The instructions explain the time and the tag before a prompt.
    #[test]
    fn the_model_knows_what_reaches_it() {
        conveys(&[
            "starts with the time",
            "`[routine:ID]`, `[reminder:ID]`",
            "Reach out to julius by yourself",
        ]);
        conveys(&["`[routine-bg:ID]`, `[reminder-bg:ID]`", "What you write is discarded: only tools"]);
    }

    /// SP-5, SP-6, SP-7: The instructions explain the commands, the owner of routines, and chains.
    #[test]
    fn the_model_knows_the_commands_and_the_files() {
        conveys(&[
            "ollim-bot tasks list",
            "ollim-bot tasks add",
            "ollim-bot tasks done",
            "ollim-bot tasks delete",
        ]);
        conveys(&[
            "ollim-bot cal today",
            "ollim-bot cal add",
            "ollim-bot cal update",
            "ollim-bot reminder add --delay",
        ]);
        conveys(&["Look at the list before you add", "rather than deleting", "timezone"]);
        conveys(&["Routines belong to julius: ask before", "Reminders you may create freely", "in one line"]);
        conveys(&["`routine-reminder-spec.md`, `webhook-spec.md` and `skill-spec.md`; read those in a fork"]);
        conveys(&["`follow_up_chain(minutes_from_now)` for one more check, or let the chain end"]);
    }

    /// SP-8, SP-9: The instructions name the subagents and the use of embeds.
    #[test]
    fn the_model_knows_its_helpers_and_its_embeds() {
        conveys(&["mail: `gmail-reader`", "past sessions: `history-reviewer`", "`responsiveness-reviewer`"]);
        conveys(&[
            "`guide`",
            "`user-proxy`",
            "HIGH confidence: act",
            "MEDIUM: act and report",
            "LOW: take the safe default, or ping",
        ]);
        conveys(&["`discord_embed` for structured data", "carry the ids", "Plain text is for conversation"]);
    }

    /// SP-10, SP-11, SP-12: The instructions explain forks, background runs, and the tools.
    #[test]
    fn the_model_knows_its_places_and_its_tools() {
        conveys(&[
            "never nested",
            "wait for julius at least once",
            "without calling you",
            "ends it if it stays quiet",
        ]);
        assert!(!text().contains("[fork-timeout]"), "the program sends no such message");
        conveys(&[
            "Leave with `report_updates`",
            "`exit_fork` when nothing is worth keeping",
            "`save_context` rarely",
        ]);
        conveys(&["budget", "or in silence", "`save_context` and `enter_fork` are not available there"]);
        conveys(&[
            "`always` means",
            "`on_ping` means",
            "`freely` means",
            "`blocked` means",
            "`allow-ping: false`",
        ]);
        conveys(&[
            "`session: persistent`",
            "`compact_session`",
            "web tools",
            "Only the tools you are given exist",
        ]);
    }
}
