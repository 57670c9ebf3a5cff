//! The preamble section about pings: the budget, other jobs that may need it, and advice.

use jiff::{Timestamp, Zoned};

use super::Preamble;
use crate::run::Busy;
use crate::schedule::{Pings, Reporting, Tag, Upcoming};

/// The most upcoming and the most recent times that are listed; the others are counted.
const SHOWN: usize = 20;

/// PR-11: Returns the section for a run that may ping.
pub fn section(preamble: &Preamble, now: &Zoned) -> Option<String> {
    if preamble.voice.pings == Pings::Never {
        return None;
    }
    let mut lines = vec![format!("Ping {}", preamble.limits.budget.tell())];
    lines.push(preamble.limits.tell_ordinary(preamble.busy == Busy::Talking, now));
    let critical = preamble.limits.tell_critical(preamble.outside);
    lines.push(if preamble.outside { critical } else { format!("{critical} {CRITICAL}") });
    lines.extend(preamble.limits.tell_rules());
    lines.extend(schedule(&preamble.ahead, now));
    lines.extend(refills(preamble, now.timestamp()));
    lines.push("This run may send at most 1 ping or embed.".to_owned());
    let advice = match preamble.voice.reporting {
        Reporting::Always | Reporting::OnPing | Reporting::Freely => &REPORTING[..],
        Reporting::Blocked => &BLOCKED[..],
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

fn schedule(ahead: &[Upcoming], now: &Zoned) -> Vec<String> {
    if ahead.is_empty() {
        return vec!["No more bg tasks today.".to_owned()];
    }
    let window = last(ahead).map_or("recent".to_owned(), |last| {
        let hours = last.duration_since(now.timestamp()).as_secs_f64() / 3_600.0;
        format!("next {}h", hours.round().max(1.0))
    });
    let (was, comes): (Vec<&Upcoming>, Vec<&Upcoming>) =
        ahead.iter().partition(|fire| fire.at <= now.timestamp());
    let older = was.len().saturating_sub(SHOWN);
    let mut lines = vec![format!("Upcoming bg tasks ({window}):")];
    lines.extend((older > 0).then(|| format!("- ({older} more that just fired are not listed)")));
    lines.extend(was[older..].iter().chain(comes.iter().take(SHOWN)).map(|fire| line(fire, now)));
    let later = comes.len().saturating_sub(SHOWN);
    lines.extend((later > 0).then(|| format!("- ({later} more after these are not listed)")));
    lines
}

/// PR-12: Formats one time.
fn line(fire: &Upcoming, now: &Zoned) -> String {
    let time = fire.at.to_zoned(now.time_zone().clone());
    let silent = match fire.silence {
        Pings::Allowed => "",
        Pings::Never => " (silent)",
    };
    let tag = match fire.tag {
        Some(Tag::ThisTask) => " [this task]",
        Some(Tag::JustFired) => " [just fired]",
        None => "",
    };
    let time = time.strftime("%-I:%M %p");
    let Upcoming { label, description, file, .. } = fire;
    // Text of other jobs is left out in tainted runs.
    if file.is_empty() {
        format!("- {time}: {label}{silent}{tag}")
    } else {
        format!("- {time}: {label}{silent} — \"{description}\" ({file}){tag}")
    }
}

/// PR-12: Returns how many pings are refilled before the last task.
fn refills(preamble: &Preamble, now: Timestamp) -> Option<String> {
    let minutes = last(&preamble.ahead)?.duration_since(now).as_mins();
    match minutes / i64::from(preamble.limits.budget.refill_minutes.max(1)) {
        ..=0 => None,
        1 => Some("~1 refill before last task.".to_owned()),
        count => Some(format!("~{count} refills before last task.")),
    }
}

/// Returns the latest time that is not in the past.
fn last(ahead: &[Upcoming]) -> Option<Timestamp> {
    ahead.iter().filter(|fire| fire.tag != Some(Tag::JustFired)).map(|fire| fire.at).max()
}
