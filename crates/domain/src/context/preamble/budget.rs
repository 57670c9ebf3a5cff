//! The preamble section about pings: the budget, other jobs that may need it, and advice.

use jiff::{Timestamp, Zoned};

use super::Preamble;
use crate::run::UserActivity;
use crate::schedule::{PingPermission, ReportMode, Tag, UpcomingFire};

/// The most upcoming and the most recent times that are listed; the others are counted.
const MAX_SHOWN: usize = 20;

/// PR-11: Returns the section for a run that may ping.
pub fn section(preamble: &Preamble, now: &Zoned) -> Option<String> {
    if preamble.report_policy.pings == PingPermission::Never {
        return None;
    }
    let mut lines = vec![format!("Ping {}", preamble.limits.budget.summary())];
    lines.push(preamble.limits.describe_ordinary(preamble.busy == UserActivity::Talking, now));
    let critical = preamble.limits.describe_critical(preamble.tainted);
    lines.push(if preamble.tainted { critical } else { format!("{critical} {CRITICAL}") });
    lines.extend(preamble.limits.describe_rules());
    lines.extend(schedule_lines(&preamble.upcoming, now));
    lines.extend(refill_line(preamble, now.timestamp()));
    lines.push("This run may send at most 1 ping or embed.".to_owned());
    let advice = match preamble.report_policy.reporting {
        ReportMode::Always | ReportMode::OnPing | ReportMode::Freely => &REPORTING[..],
        ReportMode::Blocked => &BLOCKED[..],
    };
    lines.extend(advice.iter().map(|line| (*line).to_owned()));
    Some(lines.join("\n"))
}

const REPORTING: [&str; 2] = [
    "Before you ping, ask yourself whether the human would be sorry not to have been told now. What is low-stakes or \
     merely good to know goes into `report_updates`. What is time-critical, what they want to be held to, and what \
     concerns their health deserves a ping.",
    "When the budget is low, keep what is left for tasks of that kind.",
];

const BLOCKED: [&str; 1] = [
    "Before you ping, ask yourself whether the human would be sorry not to have been told now. \
    What is low-stakes or merely good to know is skipped. What is time-critical, what they want to be held to, and what \
    concerns their health deserves a ping.",
];

const CRITICAL: &str = "`critical=True` bypasses the budget and all other limits, but is refused once text from outside (mail, pages, the \
    calendar) is in this run. It is meant only for the gravest cases.";

fn schedule_lines(ahead: &[UpcomingFire], now: &Zoned) -> Vec<String> {
    if ahead.is_empty() {
        return vec!["No more bg tasks today.".to_owned()];
    }
    let window = last_upcoming(ahead).map_or("recent".to_owned(), |last| {
        let hours = last.duration_since(now.timestamp()).as_secs_f64() / 3_600.0;
        format!("next {}h", hours.round().max(1.0))
    });
    let (past, upcoming): (Vec<&UpcomingFire>, Vec<&UpcomingFire>) =
        ahead.iter().partition(|fire| fire.at <= now.timestamp());
    let older = past.len().saturating_sub(MAX_SHOWN);
    let mut lines = vec![format!("Upcoming bg tasks ({window}):")];
    lines.extend((older > 0).then(|| format!("- ({older} more that just fired are not listed)")));
    lines
        .extend(past[older..].iter().chain(upcoming.iter().take(MAX_SHOWN)).map(|fire| fire_line(fire, now)));
    let later = upcoming.len().saturating_sub(MAX_SHOWN);
    lines.extend((later > 0).then(|| format!("- ({later} more after these are not listed)")));
    lines
}

/// PR-12: Formats one time.
fn fire_line(fire: &UpcomingFire, now: &Zoned) -> String {
    let time = fire.at.to_zoned(now.time_zone().clone());
    let silent = match fire.pings {
        PingPermission::Allowed => "",
        PingPermission::Never => " (silent)",
    };
    let tag = match fire.tag {
        Some(Tag::ThisTask) => " [this task]",
        Some(Tag::JustFired) => " [just fired]",
        None => "",
    };
    let time = time.strftime("%-I:%M %p");
    let UpcomingFire { label, description, file, .. } = fire;
    // Text of other jobs is left out in tainted runs.
    if file.is_empty() {
        format!("- {time}: {label}{silent}{tag}")
    } else {
        format!("- {time}: {label}{silent} — \"{description}\" ({file}){tag}")
    }
}

/// PR-12: Returns how many pings are refilled before the last task.
fn refill_line(preamble: &Preamble, now: Timestamp) -> Option<String> {
    let minutes = last_upcoming(&preamble.upcoming)?.duration_since(now).as_mins();
    match minutes / i64::from(preamble.limits.budget.refill_minutes.max(1)) {
        ..=0 => None,
        1 => Some("~1 refill before last task.".to_owned()),
        count => Some(format!("~{count} refills before last task.")),
    }
}

/// Returns the latest time that is not in the past.
fn last_upcoming(ahead: &[UpcomingFire]) -> Option<Timestamp> {
    ahead.iter().filter(|fire| fire.tag != Some(Tag::JustFired)).map(|fire| fire.at).max()
}
