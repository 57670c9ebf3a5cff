//! The tasks (VTODO) of a calendar.

use jiff::tz::TimeZone;

use super::change::{ChangeContext, apply_edits, update_revision, wrap_component};
use super::component::Component;
use super::document::{CalendarDocument, ComponentKind};
use super::entry::own_lines;
use super::event_id;
use super::moment::{Moment, format_utc};
use super::text::{escape, unescape};
use super::time_zones::TimeZones;
use crate::AccountError;
use crate::tasks::{Task, TaskChange, TaskState};

/// A task with its calendar document.
#[derive(Clone, Debug)]
pub(crate) struct Todo {
    pub(crate) task: Task,
    bytes: Vec<u8>,
    range: std::ops::Range<usize>,
}

impl Todo {
    /// Parses all tasks of a calendar for the time zone `home`. An unreadable due date is ignored.
    pub(crate) fn parse_all(name: &str, bytes: &[u8], home: &TimeZone) -> Result<Vec<Self>, AccountError> {
        let sheet = CalendarDocument::parse(name, bytes)?;
        let mut zones =
            TimeZones::new(bytes, sheet.components(ComponentKind::TimeZone).collect(), home.clone());
        let todo = |at: std::ops::Range<usize>| Self {
            task: parse_task(&bytes[at.clone()], &mut zones),
            bytes: bytes.to_vec(),
            range: at,
        };
        Ok(sheet.components(ComponentKind::Todo).map(todo).collect())
    }

    /// Returns the calendar with this task completed, and the task.
    pub(crate) fn completed(&self, stamp: &ChangeContext) -> (Vec<u8>, Task) {
        self.edit(stamp, |block| {
            let now = format_utc(stamp.now.timestamp());
            block.set("STATUS", "STATUS:COMPLETED");
            block.set("COMPLETED", &format!("COMPLETED:{now}"));
            block.set("PERCENT-COMPLETE", "PERCENT-COMPLETE:100");
        })
    }

    /// Returns the calendar with this task changed, and the task.
    pub(crate) fn updated(&self, change: &TaskChange, stamp: &ChangeContext) -> (Vec<u8>, Task) {
        self.edit(stamp, |block| write_fields(block, change))
    }

    fn edit(&self, stamp: &ChangeContext, make: impl Fn(&mut Component)) -> (Vec<u8>, Task) {
        let mut block = Component::new(&self.bytes[self.range.clone()]);
        if block.value("UID").is_none() {
            block.set("UID", &format!("UID:{}", self.task.id));
        }
        make(&mut block);
        update_revision(&mut block, stamp);
        let task =
            parse_task(block.bytes(), &mut TimeZones::new(b"", Vec::new(), stamp.now.time_zone().clone()));
        (apply_edits(&self.bytes, vec![(self.range.clone(), block.bytes().to_vec())]), task)
    }
}

/// Returns a calendar with one new task, and the task.
pub(crate) fn add_todo(new: &TaskChange, stamp: &ChangeContext) -> (Vec<u8>, Task) {
    let now = format_utc(stamp.now.timestamp());
    let mut block = Component::new("BEGIN:VTODO\r\nEND:VTODO\r\n");
    let uid = format!("UID:{}", event_id::random_id(stamp.random));
    for line in [&uid, &format!("DTSTAMP:{now}"), &format!("CREATED:{now}"), "STATUS:NEEDS-ACTION"] {
        block.add(line);
    }
    write_fields(&mut block, new);
    (wrap_component(block.bytes()), parse_task(block.bytes(), &mut TimeZones::empty()))
}

fn write_fields(block: &mut Component, change: &TaskChange) {
    if let Some(title) = &change.title {
        let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
        block.set("SUMMARY", &format!("SUMMARY:{}", escape(&words)));
    }
    if let Some(due) = change.due {
        block.remove("DURATION");
        block.set("DUE", &format!("DUE;VALUE=DATE:{}", due.strftime("%Y%m%d")));
        // A DTSTART with a time does not fit a DUE date.
        block.remove("DTSTART");
    }
    if let Some(notes) = &change.notes {
        block.set("DESCRIPTION", &format!("DESCRIPTION:{}", escape(notes.trim())));
    }
}

fn parse_task(part: &[u8], zones: &mut TimeZones<'_>) -> Task {
    let mut task =
        Task { id: String::new(), title: String::new(), due: None, notes: None, state: TaskState::Open };
    for line in own_lines(part) {
        let text = || Some(unescape(line.value())).filter(|text| !text.trim().is_empty());
        match line.name().to_ascii_uppercase().as_str() {
            "UID" => task.id = line.value().trim().to_owned(),
            "SUMMARY" => task.title = text().unwrap_or_default(),
            "DESCRIPTION" => task.notes = text(),
            "DUE" => {
                let due = Moment::parse(&line, line.value(), zones);
                task.due = match due {
                    Some(Moment::Day(day)) => Some(day),
                    Some(time) => time
                        .to_zoned(zones.user_zone())
                        .map(|at| at.with_time_zone(zones.user_zone().clone()).date()),
                    None => None,
                };
            }
            "COMPLETED" => task.state = TaskState::Done,
            "STATUS"
                if ["COMPLETED", "CANCELLED"]
                    .iter()
                    .any(|done| line.value().trim().eq_ignore_ascii_case(done)) =>
            {
                task.state = TaskState::Done;
            }
            _ => {}
        }
    }
    if task.id.is_empty() {
        task.id = event_id::content_id(part);
    }
    task
}
