//! The replies that a background run reads when a ping, a report or its end is refused.

use crate::attention::HeldFor;
use crate::schedule::Reporting;

/// The reason why a ping is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPing {
    /// The job may not ping.
    Disabled,
    /// The run has already pinged.
    AlreadySent,
    /// The user is in a conversation.
    MidConversation,
    /// The budget is empty.
    Exhausted,
    /// The run has already sent a critical ping.
    CriticalSent,
    /// The critical pings of today are used up.
    CriticalExhausted,
}

/// BF-21: Returns the reply to a refused ping, with the alternative.
pub fn no_ping(why: NoPing, reporting: Reporting) -> String {
    let (what, unless) = match why {
        NoPing::Disabled => {
            ("Pinging is disabled for this task, also for what is critical. Nothing was sent.", "")
        }
        NoPing::AlreadySent => {
            ("Already sent 1 ping or embed in this run, and one is all it has. Nothing was sent.", "")
        }
        NoPing::MidConversation => ("The human is mid-conversation. Nothing was sent.", UNLESS_CRITICAL),
        NoPing::Exhausted => ("Budget exhausted: there is no ping left. Nothing was sent.", UNLESS_CRITICAL),
        NoPing::CriticalSent => ("This run has already sent a critical ping. Nothing was sent.", ""),
        NoPing::CriticalExhausted => ("The critical pings of today are used up. Nothing was sent.", ""),
    };
    let instead = match reporting {
        Reporting::Always | Reporting::OnPing | Reporting::Freely => " Leave it with `report_updates`.",
        Reporting::Blocked => " Go on without it.",
    };
    format!("{what}{instead}{unless}")
}

/// Returns the reply to a ping that was deferred to the digest.
pub fn held_back(why: HeldFor) -> String {
    let why = match why {
        HeldFor::Quiet => "It is quiet time",
        HeldFor::Focus => "The human is focused on something",
        HeldFor::Soon => "Something else has just reached the human",
        HeldFor::Enough => "Enough has reached the human today",
        HeldFor::Unanswered => "The human has not answered",
        HeldFor::Talking => "The human is mid-conversation",
        HeldFor::Missed => "Nobody was there",
    };
    format!(
        "{why}, so nothing rang. Your words are kept, and the human reads them in the next digest.{UNLESS_CRITICAL}"
    )
}

/// Returns the reply to a ping whose text puts pressure on the user.
pub fn say_otherwise(word: &str) -> String {
    format!(
        "Nothing was sent: `{word}` presses the human. Say it once more without blame, counting or shouting: one \
         sentence of fact, and one small thing to do."
    )
}

const UNLESS_CRITICAL: &str = " Only if it is too grave to wait, call again with `critical=True`.";

/// BF-25: The reply to a report of a run that may not report.
pub const REPORTS_BLOCKED: &str =
    "Reporting to the main conversation is disabled for this task. Nothing was written; go on without it.";

/// BF-27: The reply to a run that ends without the required report.
pub const STOP_REFUSED: &str = "You cannot stop yet: the main conversation has not heard of this run. Call \
    `report_updates` now with a short summary of what you found or did, and then stop.";

#[cfg(test)]
mod tests {
    use super::*;

    /// BF-21, BF-25, BF-27: A refusal contains the reason and the alternative.
    #[test]
    fn a_refusal_says_what_to_do_instead() {
        let said = |why| no_ping(why, Reporting::OnPing);
        assert!(said(NoPing::Disabled).contains("disabled"));
        assert!(said(NoPing::AlreadySent).contains("Already sent 1 ping"));
        assert!(said(NoPing::MidConversation).contains("mid-conversation"));
        assert!(said(NoPing::Exhausted).contains("Budget exhausted"));
        for why in [NoPing::Disabled, NoPing::AlreadySent, NoPing::MidConversation, NoPing::Exhausted] {
            let critical = matches!(why, NoPing::MidConversation | NoPing::Exhausted);
            assert_eq!(said(why).contains("`critical=True`"), critical, "{why:?}");
            assert!(said(why).contains("report_updates"), "{why:?}");
            assert!(!no_ping(why, Reporting::Blocked).contains("report_updates"), "{why:?}");
        }
        assert!(REPORTS_BLOCKED.contains("disabled") && STOP_REFUSED.contains("`report_updates`"));
    }
}
