//! The `/schedule` command: the day or the week as an image and as text.

use domain::assistant::Plans;
use domain::schedule::{JobSpec, Plan};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, Zoned};

use super::card::{push_lines, range_from, times_between};
use super::markup::{plan_name, truncate};
use super::picture::{DayStrip, Mark, MarkKind, draw};
use super::queries::plans;
use super::reply::Reply;
use crate::discord::dm::Shared;
use crate::discord::message::OutgoingMessage;
use crate::discord::transport::File;

/// Maximum number of numbered times.
const MAX_TIMES: usize = 99;
/// Maximum length of a name beside a mark, in characters.
const MAX_NAME: usize = 24;
/// Maximum length of the image's description, in characters.
const MAX_DESCRIPTION: usize = 1_024;

/// Period of the schedule to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Day,
    /// Seven days from today.
    Week,
}

impl Period {
    /// Parses the option; anything but `week` means a day.
    pub(super) fn parse(word: &str) -> Self {
        if word == "week" { Self::Week } else { Self::Day }
    }

    fn days(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
        }
    }
}

pub(super) async fn show(shared: &Shared, size: Period) -> Reply {
    let now = shared.ports.clock.now();
    match plans(shared).await {
        Ok(plans) => Reply::Visible(render(&plans, size, &now)),
        Err(why) => Reply::ephemeral(&why),
    }
}

fn render(plans: &Plans, size: Period, now: &Zoned) -> OutgoingMessage {
    let mut times = times_between(plans, range_from(now.date(), size.days(), now), now);
    times.truncate(MAX_TIMES);
    let zone = now.time_zone();
    let zoned_times: Vec<(Zoned, &Plan)> =
        times.iter().map(|(at, plan)| (at.to_zoned(zone.clone()), *plan)).collect();
    let mut lines = Vec::new();
    push_lines(
        &mut lines,
        times.iter().enumerate().map(|(at, (time, plan))| list_line(at + 1, *time, plan, size)),
    );
    if lines.is_empty() {
        lines.push(match size {
            Period::Day => "nothing left today.".to_owned(),
            Period::Week => "nothing in the next seven days.".to_owned(),
        });
    }
    let title = now.strftime("%A %-d %b").to_string().to_lowercase();
    let mut outgoing = OutgoingMessage::text(lines.join("\n"));
    outgoing.files = vec![File {
        name: "schedule.png".to_owned(),
        description: description(&zoned_times, size),
        bytes: draw(&title, &strips(&zoned_times, size, now)),
    }];
    outgoing
}

fn list_line(number: usize, at: Timestamp, plan: &Plan, size: Period) -> String {
    let second = at.as_second();
    match size {
        Period::Day => format!("{number} <t:{second}:t> · <t:{second}:R> · {}", plan_name(plan)),
        Period::Week => format!("{number} <t:{second}:f> · {}", plan_name(plan)),
    }
}

/// Returns the list as alternative text for screen readers.
fn description(wall: &[(Zoned, &Plan)], size: Period) -> String {
    let form = match size {
        Period::Day => "%H:%M",
        Period::Week => "%a %H:%M",
    };
    let line = |(number, (at, plan)): (usize, &(Zoned, &Plan))| {
        format!("{} {} {}", number + 1, at.strftime(form).to_string().to_lowercase(), plan.job.display_name())
    };
    let lines: Vec<String> = wall.iter().enumerate().map(line).collect();
    if lines.is_empty() {
        "nothing is planned.".to_owned()
    } else {
        truncate(&lines.join("\n"), MAX_DESCRIPTION)
    }
}

fn strips(wall: &[(Zoned, &Plan)], size: Period, now: &Zoned) -> Vec<DayStrip> {
    let minute =
        |at: &Zoned| u32::from(at.hour().unsigned_abs()) * 60 + u32::from(at.minute().unsigned_abs());
    let mark = |(number, (at, plan)): (usize, &(Zoned, &Plan))| {
        let kind = match plan.job.spec {
            JobSpec::Reminder(_) => MarkKind::Reminder,
            JobSpec::Routine(_) => MarkKind::Routine,
        };
        let words = match size {
            Period::Day => truncate(&plan.job.display_name().to_lowercase(), MAX_NAME),
            Period::Week => String::new(),
        };
        (at.date(), Mark { number: number + 1, minute: minute(at), kind, text: words })
    };
    let marks: Vec<(Date, Mark)> = wall.iter().enumerate().map(mark).collect();
    let strip = |ahead: i64| {
        let day = now.date().checked_add(ahead.days()).ok()?;
        let marks = marks.iter().filter(|(date, _)| *date == day).map(|(_, mark)| mark.clone()).collect();
        let label = day.strftime("%a %-d").to_string().to_lowercase();
        Some(DayStrip { label, marks, now: (day == now.date()).then(|| minute(now)) })
    };
    (0..size.days()).filter_map(strip).collect()
}
