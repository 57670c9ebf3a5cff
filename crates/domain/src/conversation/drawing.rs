//! The tree, drawn in text: the trunk on the left, newest on top, forks beside the place where they left it.
//!
//! Only the moves of names are drawn, with the number of entries between them, so that a year fits on a
//! screen.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Branch, SessionId, Why};

/// The moves of all names, oldest first, and where the names are now.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    /// What happened.
    pub lines: Vec<Line>,
    /// The branches that exist, with their session and their depth.
    pub open: Vec<(Branch, SessionId, u64)>,
}

/// One move, with how deep in the tree it went from and to.
#[derive(Clone, Debug)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// The branch.
    pub branch: Branch,
    /// Why.
    pub why: Why,
    /// The session and depth before.
    pub from: Option<(SessionId, u64)>,
    /// The session and depth after.
    pub to: Option<(SessionId, u64)>,
}

/// Draws `lineage`, telling times in `zone`.
pub fn draw(lineage: &Lineage, zone: &TimeZone) -> String {
    let mut rows: Vec<String> = Vec::new();
    let main = lineage.open.iter().find(|(branch, ..)| *branch == Branch::Main);
    if let Some((_, session, depth)) = main {
        rows.push(format!("●  main · now · {} · {}", session.short(), entries(*depth)));
    }
    for line in lineage.lines.iter().rev() {
        rows.extend(row(line, lineage, zone));
    }
    match rows.is_empty() {
        true => "nothing was said yet.\n".to_owned(),
        false => rows.join("\n") + "\n",
    }
}

fn row(line: &Line, lineage: &Lineage, zone: &TimeZone) -> Option<String> {
    let time = line.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string();
    let place = |place: &Option<(SessionId, u64)>| place.as_ref().map(|(id, _)| id.short().to_owned());
    let (from, to) = (place(&line.from).unwrap_or_default(), place(&line.to).unwrap_or_default());
    let row = match (&line.branch, line.why) {
        (Branch::Main, Why::Created) => format!("○  created {time} · {to}"),
        (Branch::Main, Why::Compacted) => {
            format!("◆  compacted {time} · {from} → {to} · {} summed up", entries(depth(&line.from)))
        }
        (Branch::Main, Why::Cleared) => {
            format!("╳  cleared {time} · {from} · {}", entries(depth(&line.from)))
        }
        (Branch::Main, Why::Promoted) => format!("┃◀━ kept a fork {time} · {from} → {to}"),
        (Branch::Main, Why::Undone) => format!("↶  undone {time} · back to {to}"),
        (Branch::Main, Why::Forked | Why::Ended) => return None,
        (Branch::Fork(_), Why::Forked | Why::Created) => {
            format!("┃╲  {} started {time} · {to}{}", line.branch, state(line, lineage))
        }
        (Branch::Fork(_), Why::Compacted) => format!("┃ ◆  {} compacted {time} · {from} → {to}", line.branch),
        (Branch::Fork(_), Why::Ended | Why::Cleared) => {
            format!("┃──✕ {} ended {time} · {}", line.branch, entries(grown(line, lineage)))
        }
        (Branch::Fork(_), Why::Promoted | Why::Undone) => {
            format!("┃ ↶  {} reopened {time} · {to}", line.branch)
        }
    };
    Some(row)
}

/// What a started fork is now.
fn state(line: &Line, lineage: &Lineage) -> String {
    let open = lineage.open.iter().find(|(branch, ..)| *branch == line.branch);
    let ended_later = lineage.lines.iter().any(|other| {
        other.branch == line.branch && other.at > line.at && matches!(other.why, Why::Ended | Why::Cleared)
    });
    match open {
        Some((.., now)) if !ended_later => {
            format!(" · open · {}", entries(now.saturating_sub(depth(&line.to))))
        }
        Some(_) | None => String::new(),
    }
}

/// How much was said on a fork between its start and its end.
fn grown(line: &Line, lineage: &Lineage) -> u64 {
    let start = lineage.lines.iter().rev().find(|other| {
        other.branch == line.branch && other.at <= line.at && matches!(other.why, Why::Forked | Why::Created)
    });
    depth(&line.from).saturating_sub(start.map_or(0, |start| depth(&start.to)))
}

fn depth(place: &Option<(SessionId, u64)>) -> u64 {
    place.as_ref().map_or(0, |(_, depth)| *depth)
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}
