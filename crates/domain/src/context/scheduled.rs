//! The prompt of a due routine or reminder.

use jiff::Zoned;

use crate::schedule::{Chain, Reporting};

/// The parts of a job's prompt.
#[derive(Clone, Copy, Debug)]
pub struct Scheduled<'a> {
    pub id: &'a str,
    pub at: Where<'a>,
    /// The note from [`late_note`]; empty if the job is on time.
    pub late: &'a str,
    /// The section of its skills; may be empty.
    pub skills: &'a str,
    pub body: &'a str,
}

/// The place where a job runs.
#[derive(Clone, Copy, Debug)]
pub enum Where<'a> {
    Main,
    /// In a background run.
    Aside {
        preamble: &'a str,
        reporting: Reporting,
    },
}

impl Scheduled<'_> {
    /// SC-23, SC-25: Returns the prompt of a routine.
    pub fn routine(&self) -> String {
        let Self { id, at, skills, body, .. } = self;
        let late = if self.late.is_empty() { String::new() } else { format!("{} ", self.late) };
        let skills = match skills.trim_end() {
            "" => String::new(),
            skills => format!("{skills}\n\n"),
        };
        match at {
            Where::Main => format!("[routine:{id}] {late}{skills}{body}"),
            Where::Aside { preamble, .. } => format!("[routine-bg:{id}] {late}{preamble}{skills}{body}"),
        }
    }

    /// SC-24: Returns the prompt of a reminder at this position of its chain.
    pub fn reminder(&self, chain: &Chain) -> String {
        let (tag, preamble) = match self.at {
            Where::Main => (format!("[reminder:{}]", self.id), ""),
            Where::Aside { preamble, .. } => (format!("[reminder-bg:{}]", self.id), preamble.trim_end()),
        };
        let close = [tag.as_str(), self.late, preamble].into_iter().filter(|part| !part.is_empty());
        let head = close.collect::<Vec<_>>().join("\n");
        let chain = self.chain(chain);
        let parts = [&head, self.skills.trim_end(), &chain, self.body].into_iter();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// CH-4 to CH-6: Describes the position in the chain; empty without a chain.
    fn chain(&self, chain: &Chain) -> String {
        let number = chain.depth.saturating_add(1);
        let all = chain.max.saturating_add(1);
        let blocked = matches!(self.at, Where::Aside { reporting: Reporting::Blocked, .. });
        if chain.max == 0 {
            String::new()
        } else if number < all && !blocked {
            format!(
                "CHAIN CONTEXT: this is a follow-up chain reminder, check {number} of {all}. `follow_up_chain` is available: \
                 call `follow_up_chain(minutes_from_now=N)` to look again in N minutes. If you do not call it, the chain \
                 ends here. {}",
                self.acknowledge()
            )
        } else if number < all {
            format!(
                "CHAIN CONTEXT: this is a follow-up chain reminder, check {number} of {all}. It was set to tell main nothing, \
                 so `follow_up_chain` is NOT available and the chain ends here. {}",
                self.acknowledge()
            )
        } else {
            format!(
                "CHAIN CONTEXT: this is the FINAL check of a follow-up chain reminder, check {all} of {all}. \
                 `follow_up_chain` is NOT available: this is the last chance. {}",
                self.last_chance()
            )
        }
    }

    fn acknowledge(&self) -> &'static str {
        match self.at {
            Where::Main => "When you bring it up, say in a few words that it is a follow-up.",
            Where::Aside { .. } => "When you ping, say in a few words that it is a follow-up.",
        }
    }

    fn last_chance(&self) -> &'static str {
        match self.at {
            Where::Main => {
                "If it is unresolved and the human would regret missing it, say so now; it needs neither a ping nor \
                 `report_updates` here. Otherwise let it rest."
            }
            Where::Aside { reporting: Reporting::Blocked, .. } => {
                "If it is unresolved and the human would regret missing it, ping now. Otherwise let it rest."
            }
            Where::Aside { .. } => {
                "If it is unresolved and the human would regret missing it, ping now. Otherwise leave it with \
                 `report_updates`."
            }
        }
    }
}

/// SC-22: Returns the note that a job which was due at `due` runs at `now`.
pub fn late(due: &Zoned, now: &Zoned) -> String {
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

    const ASIDE: Where =
        Where::Aside { preamble: "Mind this.\n\nAnd that.\n\n", reporting: Reporting::OnPing };

    fn job(at: Where) -> Scheduled {
        Scheduled { id: "mail", at, late: "", skills: "", body: "Look at the mail." }
    }

    fn chain(depth: u32, max: u32) -> Chain {
        Chain { depth, max, parent: None }
    }

    /// SC-21, SC-23, SC-25: The tag comes first, the body last.
    #[test]
    fn a_routine_reads_its_tag_its_preamble_its_skills_and_its_words() {
        let skills = "SKILL INSTRUCTIONS:\n### tidy\nTidy up.\n";
        assert_eq!(job(Where::Main).routine(), "[routine:mail] Look at the mail.");
        assert_eq!(
            Scheduled { skills, ..job(Where::Main) }.routine(),
            "[routine:mail] SKILL INSTRUCTIONS:\n### tidy\nTidy up.\n\nLook at the mail."
        );
        assert_eq!(job(ASIDE).routine(), "[routine-bg:mail] Mind this.\n\nAnd that.\n\nLook at the mail.");
        let late = "[late: was scheduled for 9:05 AM, running now]";
        assert_eq!(
            Scheduled { skills, late, ..job(ASIDE) }.routine(),
            "[routine-bg:mail] [late: was scheduled for 9:05 AM, running now] Mind this.\n\nAnd that.\n\nSKILL \
             INSTRUCTIONS:\n### tidy\nTidy up.\n\nLook at the mail."
        );
    }

    /// SC-21, SC-24, CH-6: The parts of a reminder's prompt are on separate lines.
    #[test]
    fn a_reminder_reads_its_parts_one_below_the_other() {
        assert_eq!(job(Where::Main).reminder(&chain(0, 0)), "[reminder:mail]\n\nLook at the mail.");
        let late = "[late: was scheduled for 9:05 AM, running now]";
        let whole = Scheduled { late, skills: "SKILL INSTRUCTIONS:\n### tidy\nTidy up.\n\n", ..job(ASIDE) };
        expect![[r#"
            [reminder-bg:mail]
            [late: was scheduled for 9:05 AM, running now]
            Mind this.

            And that.

            SKILL INSTRUCTIONS:
            ### tidy
            Tidy up.

            CHAIN CONTEXT: this is a follow-up chain reminder, check 2 of 4. `follow_up_chain` is available: call `follow_up_chain(minutes_from_now=N)` to look again in N minutes. If you do not call it, the chain ends here. When you ping, say in a few words that it is a follow-up.

            Look at the mail."#]].assert_eq(&whole.reminder(&chain(1, 3)));
    }

    /// CH-4, CH-5, CH-6: A check contains its number, and the last one says that it is the last.
    #[test]
    fn a_check_knows_its_place_in_the_chain() {
        let blocked = Where::Aside { preamble: "", reporting: Reporting::Blocked };
        let mut told = String::new();
        for (at, name) in [(ASIDE, "aside"), (blocked, "blocked"), (Where::Main, "main")] {
            for (depth, max) in [(0, 0), (0, 3), (3, 3)] {
                told += &format!("{name} {depth}/{max}:{}\n", job(at).chain(&chain(depth, max)));
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
    fn what_is_late_says_when_it_was_due() {
        let check = |due: &str, time: &str| {
            let now = "2026-11-16T13:02[America/Los_Angeles]".parse().unwrap();
            assert_eq!(
                late(&due.parse().unwrap(), &now),
                format!("[late: was scheduled for {time}, running now]")
            );
        };
        check("2026-11-16T09:05[America/Los_Angeles]", "9:05 AM");
        check("2026-11-16T00:30[America/Los_Angeles]", "12:30 AM");
        check("2026-11-16T20:05Z[UTC]", "12:05 PM");
        check("2026-11-14T21:00[America/Los_Angeles]", "9:00 PM on 2026-11-14");
    }
}
