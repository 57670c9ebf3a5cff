//! The prompt of a due routine or reminder.

use jiff::Zoned;

use crate::schedule::{Chain, ReportMode};

/// The parts of a job's prompt.
#[derive(Clone, Copy, Debug)]
pub struct JobPrompt<'a> {
    pub id: &'a str,
    pub target: PromptTarget<'a>,
    /// The note from [`late_note`]; empty if the job is on time.
    pub late: &'a str,
    /// The section of its skills; may be empty.
    pub skills: &'a str,
    pub body: &'a str,
}

/// The place where a job runs.
#[derive(Clone, Copy, Debug)]
pub enum PromptTarget<'a> {
    Main,
    /// In a background run.
    Background {
        preamble: &'a str,
        reporting: ReportMode,
    },
}

impl JobPrompt<'_> {
    /// SC-23, SC-25: Returns the prompt of a routine.
    pub fn routine_prompt(&self) -> String {
        let Self { id, target: at, skills, body, .. } = self;
        let late = if self.late.is_empty() { String::new() } else { format!("{} ", self.late) };
        let skills = match skills.trim_end() {
            "" => String::new(),
            skills => format!("{skills}\n\n"),
        };
        match at {
            PromptTarget::Main => format!("[routine:{id}] {late}{skills}{body}"),
            PromptTarget::Background { preamble, .. } => {
                format!("[routine-bg:{id}] {late}{preamble}{skills}{body}")
            }
        }
    }

    /// SC-24: Returns the prompt of a reminder at this position of its chain.
    pub fn reminder_prompt(&self, chain: &Chain) -> String {
        let (tag, preamble) = match self.target {
            PromptTarget::Main => (format!("[reminder:{}]", self.id), ""),
            PromptTarget::Background { preamble, .. } => {
                (format!("[reminder-bg:{}]", self.id), preamble.trim_end())
            }
        };
        let close = [tag.as_str(), self.late, preamble].into_iter().filter(|part| !part.is_empty());
        let head = close.collect::<Vec<_>>().join("\n");
        let chain = self.chain_note(chain);
        let parts = [&head, self.skills.trim_end(), &chain, self.body].into_iter();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// CH-4 to CH-6: Describes the position in the chain; empty without a chain.
    fn chain_note(&self, chain: &Chain) -> String {
        let number = chain.depth.saturating_add(1);
        let all = chain.max.saturating_add(1);
        let blocked = matches!(self.target, PromptTarget::Background { reporting: ReportMode::Blocked, .. });
        if chain.max == 0 {
            String::new()
        } else if number < all && !blocked {
            format!(
                "CHAIN CONTEXT: this is a follow-up chain reminder, check {number} of {all}. `follow_up_chain` is available: \
                 call `follow_up_chain(minutes_from_now=N)` to look again in N minutes. If you do not call it, the chain \
                 ends here. {}",
                self.follow_up_hint()
            )
        } else if number < all {
            format!(
                "CHAIN CONTEXT: this is a follow-up chain reminder, check {number} of {all}. It was set to tell main nothing, \
                 so `follow_up_chain` is NOT available and the chain ends here. {}",
                self.follow_up_hint()
            )
        } else {
            format!(
                "CHAIN CONTEXT: this is the FINAL check of a follow-up chain reminder, check {all} of {all}. \
                 `follow_up_chain` is NOT available: this is the last chance. {}",
                self.last_check_hint()
            )
        }
    }

    fn follow_up_hint(&self) -> &'static str {
        match self.target {
            PromptTarget::Main => "When you bring it up, say in a few words that it is a follow-up.",
            PromptTarget::Background { .. } => "When you ping, say in a few words that it is a follow-up.",
        }
    }

    fn last_check_hint(&self) -> &'static str {
        match self.target {
            PromptTarget::Main => {
                "If it is unresolved and the human would regret missing it, say so now; it needs neither a ping nor \
                 `report_updates` here. Otherwise let it rest."
            }
            PromptTarget::Background { reporting: ReportMode::Blocked, .. } => {
                "If it is unresolved and the human would regret missing it, ping now. Otherwise let it rest."
            }
            PromptTarget::Background { .. } => {
                "If it is unresolved and the human would regret missing it, ping now. Otherwise leave it with \
                 `report_updates`."
            }
        }
    }
}

/// SC-22: Returns the note that a job which was due at `due` runs at `now`.
pub fn late_note(due: &Zoned, now: &Zoned) -> String {
    let due = due.with_time_zone(now.time_zone().clone());
    let time = if due.date() == now.date() {
        due.strftime("%-I:%M %p")
    } else {
        due.strftime("%-I:%M %p on %Y-%m-%d")
    };
    format!("[late: was scheduled for {time}, running now]")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const BACKGROUND: PromptTarget =
        PromptTarget::Background { preamble: "Mind this.\n\nAnd that.\n\n", reporting: ReportMode::OnPing };

    fn job(at: PromptTarget) -> JobPrompt {
        JobPrompt { id: "mail", target: at, late: "", skills: "", body: "Look at the mail." }
    }

    fn chain(depth: u32, max: u32) -> Chain {
        Chain { depth, max, parent: None }
    }

    /// SC-21, SC-23, SC-25: The tag comes first, the body last.
    #[test]
    fn routine_prompt_has_tag_preamble_skills_and_body() {
        let skills = "SKILL INSTRUCTIONS:\n### tidy\nTidy up.\n";
        assert_eq!(job(PromptTarget::Main).routine_prompt(), "[routine:mail] Look at the mail.");
        assert_eq!(
            JobPrompt { skills, ..job(PromptTarget::Main) }.routine_prompt(),
            "[routine:mail] SKILL INSTRUCTIONS:\n### tidy\nTidy up.\n\nLook at the mail."
        );
        assert_eq!(
            job(BACKGROUND).routine_prompt(),
            "[routine-bg:mail] Mind this.\n\nAnd that.\n\nLook at the mail."
        );
        let late = "[late: was scheduled for 9:05 AM, running now]";
        assert_eq!(
            JobPrompt { skills, late, ..job(BACKGROUND) }.routine_prompt(),
            "[routine-bg:mail] [late: was scheduled for 9:05 AM, running now] Mind this.\n\nAnd that.\n\nSKILL \
             INSTRUCTIONS:\n### tidy\nTidy up.\n\nLook at the mail."
        );
    }

    /// SC-21, SC-24, CH-6: The parts of a reminder's prompt are on separate lines.
    #[test]
    fn reminder_prompt_has_parts_on_separate_lines() {
        assert_eq!(
            job(PromptTarget::Main).reminder_prompt(&chain(0, 0)),
            "[reminder:mail]\n\nLook at the mail."
        );
        let late = "[late: was scheduled for 9:05 AM, running now]";
        let whole =
            JobPrompt { late, skills: "SKILL INSTRUCTIONS:\n### tidy\nTidy up.\n\n", ..job(BACKGROUND) };
        expect![[r#"
            [reminder-bg:mail]
            [late: was scheduled for 9:05 AM, running now]
            Mind this.

            And that.

            SKILL INSTRUCTIONS:
            ### tidy
            Tidy up.

            CHAIN CONTEXT: this is a follow-up chain reminder, check 2 of 4. `follow_up_chain` is available: call `follow_up_chain(minutes_from_now=N)` to look again in N minutes. If you do not call it, the chain ends here. When you ping, say in a few words that it is a follow-up.

            Look at the mail."#]].assert_eq(&whole.reminder_prompt(&chain(1, 3)));
    }

    /// CH-4, CH-5, CH-6: A check contains its number, and the last one says that it is the last.
    #[test]
    fn check_contains_its_position_in_the_chain() {
        let blocked = PromptTarget::Background { preamble: "", reporting: ReportMode::Blocked };
        let mut told = String::new();
        for (at, name) in [(BACKGROUND, "aside"), (blocked, "blocked"), (PromptTarget::Main, "main")] {
            for (depth, max) in [(0, 0), (0, 3), (3, 3)] {
                told += &format!("{name} {depth}/{max}:{}\n", job(at).chain_note(&chain(depth, max)));
            }
        }
        expect![[r#"
            aside 0/0:
            aside 0/3:CHAIN CONTEXT: this is a follow-up chain reminder, check 1 of 4. `follow_up_chain` is available: call `follow_up_chain(minutes_from_now=N)` to look again in N minutes. If you do not call it, the chain ends here. When you ping, say in a few words that it is a follow-up.
            aside 3/3:CHAIN CONTEXT: this is the FINAL check of a follow-up chain reminder, check 4 of 4. `follow_up_chain` is NOT available: this is the last chance. If it is unresolved and the human would regret missing it, ping now. Otherwise leave it with `report_updates`.
            blocked 0/0:
            blocked 0/3:CHAIN CONTEXT: this is a follow-up chain reminder, check 1 of 4. It was set to tell main nothing, so `follow_up_chain` is NOT available and the chain ends here. When you ping, say in a few words that it is a follow-up.
            blocked 3/3:CHAIN CONTEXT: this is the FINAL check of a follow-up chain reminder, check 4 of 4. `follow_up_chain` is NOT available: this is the last chance. If it is unresolved and the human would regret missing it, ping now. Otherwise let it rest.
            main 0/0:
            main 0/3:CHAIN CONTEXT: this is a follow-up chain reminder, check 1 of 4. `follow_up_chain` is available: call `follow_up_chain(minutes_from_now=N)` to look again in N minutes. If you do not call it, the chain ends here. When you bring it up, say in a few words that it is a follow-up.
            main 3/3:CHAIN CONTEXT: this is the FINAL check of a follow-up chain reminder, check 4 of 4. `follow_up_chain` is NOT available: this is the last chance. If it is unresolved and the human would regret missing it, say so now; it needs neither a ping nor `report_updates` here. Otherwise let it rest.
        "#]].assert_eq(&told);
    }

    /// SC-22: The time has no leading zero, and the day is shown unless it is today.
    #[test]
    fn late_note_names_the_due_time() {
        let check = |due: &str, time: &str| {
            let now = "2026-11-16T13:02[America/Los_Angeles]".parse().unwrap();
            assert_eq!(
                late_note(&due.parse().unwrap(), &now),
                format!("[late: was scheduled for {time}, running now]")
            );
        };
        check("2026-11-16T09:05[America/Los_Angeles]", "9:05 AM");
        check("2026-11-16T00:30[America/Los_Angeles]", "12:30 AM");
        check("2026-11-16T20:05Z[UTC]", "12:05 PM");
        check("2026-11-14T21:00[America/Los_Angeles]", "9:00 PM on 2026-11-14");
    }
}
