//! The replies that a background run reads when a ping, a report or its end is refused.

use crate::attention::DeferReason;
use crate::schedule::ReportMode;

/// The reason why a ping is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingRefusal {
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
pub fn ping_refusal_text(why: PingRefusal, reporting: ReportMode) -> String {
    let (what, unless) = match why {
        PingRefusal::Disabled => {
            ("Pinging is disabled for this task, also for what is critical. Nothing was sent.", "")
        }
        PingRefusal::AlreadySent => {
            ("Already sent 1 ping or embed in this run, and one is all it has. Nothing was sent.", "")
        }
        PingRefusal::MidConversation => ("The human is mid-conversation. Nothing was sent.", UNLESS_CRITICAL),
        PingRefusal::Exhausted => {
            ("Budget exhausted: there is no ping left. Nothing was sent.", UNLESS_CRITICAL)
        }
        PingRefusal::CriticalSent => ("This run has already sent a critical ping. Nothing was sent.", ""),
        PingRefusal::CriticalExhausted => ("The critical pings of today are used up. Nothing was sent.", ""),
    };
    let instead = match reporting {
        ReportMode::Always | ReportMode::OnPing | ReportMode::Freely => " Leave it with `report_updates`.",
        ReportMode::Blocked => " Go on without it.",
    };
    format!("{what}{instead}{unless}")
}

/// Returns the reply to a ping that was deferred to the digest.
pub fn deferral_text(why: DeferReason) -> String {
    let why = match why {
        DeferReason::Quiet => "It is quiet time",
        DeferReason::Focus => "The human is focused on something",
        DeferReason::MinimumGap => "Something else has just reached the human",
        DeferReason::DailyCap => "Enough has reached the human today",
        DeferReason::Unanswered => "The human has not answered",
        DeferReason::Talking => "The human is mid-conversation",
        DeferReason::Missed => "Nobody was there",
    };
    format!(
        "{why}, so nothing rang. Your words are kept, and the human reads them in the next digest.{UNLESS_CRITICAL}"
    )
}

/// Returns the reply to a ping whose text puts pressure on the user.
pub fn rephrase_request(word: &str) -> String {
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
    fn refusal_names_the_alternative() {
        let said = |why| ping_refusal_text(why, ReportMode::OnPing);
        assert!(said(PingRefusal::Disabled).contains("disabled"));
        assert!(said(PingRefusal::AlreadySent).contains("Already sent 1 ping"));
        assert!(said(PingRefusal::MidConversation).contains("mid-conversation"));
        assert!(said(PingRefusal::Exhausted).contains("Budget exhausted"));
        for why in [
            PingRefusal::Disabled,
            PingRefusal::AlreadySent,
            PingRefusal::MidConversation,
            PingRefusal::Exhausted,
        ] {
            let critical = matches!(why, PingRefusal::MidConversation | PingRefusal::Exhausted);
            assert_eq!(said(why).contains("`critical=True`"), critical, "{why:?}");
            assert!(said(why).contains("report_updates"), "{why:?}");
            assert!(!ping_refusal_text(why, ReportMode::Blocked).contains("report_updates"), "{why:?}");
        }
        assert!(REPORTS_BLOCKED.contains("disabled") && STOP_REFUSED.contains("`report_updates`"));
    }
}
