//! The `/schedule` command: the day or the week as an image and as text.

use domain::assistant::Plans;
use domain::schedule::{Plan, What};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, Zoned};

use super::asking::plans;
use super::card::{push, times, window};
use super::picture::{Kind, Mark, Strip, draw};
use super::reply::Reply;
use super::written::{cut, name};
use crate::discord::dm::Shared;
use crate::discord::message::Outgoing;
use crate::discord::wire::File;

/// Maximum number of numbered times.
const NUMBERED: usize = 99;
/// Maximum length of a name beside a mark, in characters.
const NAME: usize = 24;
/// Maximum length of the image's description, in characters.
const DESCRIPTION: usize = 1_024;

/// Period of the schedule to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Day,
    /// Seven days from today.
    Week,
}

impl Size {
    /// Parses the option; anything but `week` means a day.
    pub(super) fn read(word: &str) -> Self {
        if word == "week" { Self::Week } else { Self::Day }
    }

    fn days(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
        }
    }
}

pub(super) async fn show(shared: &Shared, size: Size) -> Reply {
    let now = shared.ports.clock.now();
    match plans(shared).await {
        Ok(plans) => Reply::Stays(shown(&plans, size, &now)),
        Err(why) => Reply::glance(&why),
    }
}

fn shown(plans: &Plans, size: Size, now: &Zoned) -> Outgoing {
    let mut times = times(plans, window(now.date(), size.days(), now), now);
    times.truncate(NUMBERED);
    let zone = now.time_zone();
    let wall: Vec<(Zoned, &Plan)> =
        times.iter().map(|(at, plan)| (at.to_zoned(zone.clone()), *plan)).collect();
    let mut lines = Vec::new();
    push(&mut lines, times.iter().enumerate().map(|(at, (time, plan))| line(at + 1, *time, plan, size)));
    if lines.is_empty() {
        lines.push(match size {
            Size::Day => "nothing left today.".to_owned(),
            Size::Week => "nothing in the next seven days.".to_owned(),
        });
    }
    let title = now.strftime("%A %-d %b").to_string().to_lowercase();
    let mut outgoing = Outgoing::words(lines.join("\n"));
    outgoing.files = vec![File {
        name: "schedule.png".to_owned(),
        description: description(&wall, size),
        bytes: draw(&title, &strips(&wall, size, now)),
    }];
    outgoing
}

fn line(number: usize, at: Timestamp, plan: &Plan, size: Size) -> String {
    let second = at.as_second();
    match size {
        Size::Day => format!("{number} <t:{second}:t> · <t:{second}:R> · {}", name(plan)),
        Size::Week => format!("{number} <t:{second}:f> · {}", name(plan)),
    }
}

/// Returns the list as alternative text for screen readers.
fn description(wall: &[(Zoned, &Plan)], size: Size) -> String {
    let form = match size {
        Size::Day => "%H:%M",
        Size::Week => "%a %H:%M",
    };
    let line = |(number, (at, plan)): (usize, &(Zoned, &Plan))| {
        format!("{} {} {}", number + 1, at.strftime(form).to_string().to_lowercase(), plan.planned.name())
    };
    let lines: Vec<String> = wall.iter().enumerate().map(line).collect();
    if lines.is_empty() { "nothing is planned.".to_owned() } else { cut(&lines.join("\n"), DESCRIPTION) }
}

fn strips(wall: &[(Zoned, &Plan)], size: Size, now: &Zoned) -> Vec<Strip> {
    let minute =
        |at: &Zoned| u32::from(at.hour().unsigned_abs()) * 60 + u32::from(at.minute().unsigned_abs());
    let mark = |(number, (at, plan)): (usize, &(Zoned, &Plan))| {
        let kind = match plan.planned.what {
            What::Reminder(_) => Kind::Once,
            What::Routine(_) => Kind::Again,
        };
        let words = match size {
            Size::Day => cut(&plan.planned.name().to_lowercase(), NAME),
            Size::Week => String::new(),
        };
        (at.date(), Mark { number: number + 1, minute: minute(at), kind, words })
    };
    let marks: Vec<(Date, Mark)> = wall.iter().enumerate().map(mark).collect();
    let strip = |ahead: i64| {
        let day = now.date().checked_add(ahead.days()).ok()?;
        let marks = marks.iter().filter(|(date, _)| *date == day).map(|(_, mark)| mark.clone()).collect();
        let label = day.strftime("%a %-d").to_string().to_lowercase();
        Some(Strip { label, marks, now: (day == now.date()).then(|| minute(now)) })
    };
    (0..size.days()).filter_map(strip).collect()
}
