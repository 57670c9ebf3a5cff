//! The tasks (VTODO) of a calendar.

use jiff::tz::TimeZone;

use super::block::Block;
use super::change::{Stamp, around, edited, touch};
use super::entry::own;
use super::id;
use super::moment::{Moment, written_utc};
use super::sheet::{Kind, Sheet};
use super::text::{escaped, unescaped};
use super::zone::Zones;
use crate::Trouble;
use crate::tasks::{Change, State, Task};

/// A task with its calendar document.
#[derive(Clone, Debug)]
pub(crate) struct Todo {
    pub(crate) task: Task,
    bytes: Vec<u8>,
    at: std::ops::Range<usize>,
}

impl Todo {
    /// Parses all tasks of a calendar for the time zone `home`. An unreadable due date is ignored.
    pub(crate) fn all(name: &str, bytes: &[u8], home: &TimeZone) -> Result<Vec<Self>, Trouble> {
        let sheet = Sheet::read(name, bytes)?;
        let mut zones = Zones::new(bytes, sheet.blocks(Kind::Zone).collect(), home.clone());
        let todo = |at: std::ops::Range<usize>| Self {
            task: task(&bytes[at.clone()], &mut zones),
            bytes: bytes.to_vec(),
            at,
        };
        Ok(sheet.blocks(Kind::Todo).map(todo).collect())
    }

    /// Returns the calendar with this task completed, and the task.
    pub(crate) fn done(&self, stamp: &Stamp) -> (Vec<u8>, Task) {
        self.changed(stamp, |block| {
            let now = written_utc(stamp.now.timestamp());
            block.set("STATUS", "STATUS:COMPLETED");
            block.set("COMPLETED", &format!("COMPLETED:{now}"));
            block.set("PERCENT-COMPLETE", "PERCENT-COMPLETE:100");
        })
    }

    /// Returns the calendar with this task changed, and the task.
    pub(crate) fn updated(&self, change: &Change, stamp: &Stamp) -> (Vec<u8>, Task) {
        self.changed(stamp, |block| write(block, change))
    }

    fn changed(&self, stamp: &Stamp, make: impl Fn(&mut Block)) -> (Vec<u8>, Task) {
        let mut block = Block::new(&self.bytes[self.at.clone()]);
        if block.value("UID").is_none() {
            block.set("UID", &format!("UID:{}", self.task.id));
        }
        make(&mut block);
        touch(&mut block, stamp);
        let task = task(block.bytes(), &mut Zones::new(b"", Vec::new(), stamp.now.time_zone().clone()));
        (edited(&self.bytes, vec![(self.at.clone(), block.bytes().to_vec())]), task)
    }
}

/// Returns a calendar with one new task, and the task.
pub(crate) fn add_todo(new: &Change, stamp: &Stamp) -> (Vec<u8>, Task) {
    let now = written_utc(stamp.now.timestamp());
    let mut block = Block::new("BEGIN:VTODO\r\nEND:VTODO\r\n");
    let uid = format!("UID:{}", id::fresh(stamp.dice));
    for line in [&uid, &format!("DTSTAMP:{now}"), &format!("CREATED:{now}"), "STATUS:NEEDS-ACTION"] {
        block.add(line);
    }
    write(&mut block, new);
    (around(block.bytes()), task(block.bytes(), &mut Zones::none()))
}

fn write(block: &mut Block, change: &Change) {
    if let Some(title) = &change.title {
        let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
        block.set("SUMMARY", &format!("SUMMARY:{}", escaped(&words)));
    }
    if let Some(due) = change.due {
        block.remove("DURATION");
        block.set("DUE", &format!("DUE;VALUE=DATE:{}", due.strftime("%Y%m%d")));
        // A DTSTART with a time does not fit a DUE date.
        block.remove("DTSTART");
    }
    if let Some(notes) = &change.notes {
        block.set("DESCRIPTION", &format!("DESCRIPTION:{}", escaped(notes.trim())));
    }
}

fn task(part: &[u8], zones: &mut Zones<'_>) -> Task {
    let mut task =
        Task { id: String::new(), title: String::new(), due: None, notes: None, state: State::Open };
    for line in own(part) {
        let text = || Some(unescaped(line.value())).filter(|text| !text.trim().is_empty());
        match line.name().to_ascii_uppercase().as_str() {
            "UID" => task.id = line.value().trim().to_owned(),
            "SUMMARY" => task.title = text().unwrap_or_default(),
            "DESCRIPTION" => task.notes = text(),
            "DUE" => {
                let due = Moment::read(&line, line.value(), zones);
                task.due = match due {
                    Some(Moment::Day(day)) => Some(day),
                    Some(time) => {
                        time.zoned(zones.home()).map(|at| at.with_time_zone(zones.home().clone()).date())
                    }
                    None => None,
                };
            }
            "COMPLETED" => task.state = State::Done,
            "STATUS"
                if ["COMPLETED", "CANCELLED"]
                    .iter()
                    .any(|done| line.value().trim().eq_ignore_ascii_case(done)) =>
            {
                task.state = State::Done;
            }
            _ => {}
        }
    }
    if task.id.is_empty() {
        task.id = id::unnamed(part);
    }
    task
}
