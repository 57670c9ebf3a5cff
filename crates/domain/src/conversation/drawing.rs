//! Draws the branches as text: main on the left, newest on top, forks in lanes beside it.
//!
//! Only the moves of branches are drawn, with the number of entries between them, so that a year
//! fits on a screen.

mod lane_drawing;

use jiff::tz::TimeZone;

use self::lane_drawing::LaneDrawing;
use super::lineage::{Lineage, LineageMove, Row, Tip};
use super::{Branch, MoveReason, SessionId};

/// The most characters of a fork's topic.
const MAX_LABEL_CHARS: usize = 60;

/// Draws `lineage` with times in `zone`.
pub fn draw(lineage: &Lineage, zone: &TimeZone) -> String {
    let picture = lineage.graph();
    let mut wires = LaneDrawing::new(picture.lanes);
    let mut rows: Vec<String> = Vec::with_capacity(picture.rows.len() + picture.open.len() + 1);
    rows.extend(picture.open.iter().map(|tip| format!("{}  {}", wires.tip_row(tip), tip_text(tip))));
    rows.extend(picture.rows.iter().map(|row| {
        let undid = row.undone_row.and_then(|undid| picture.rows.get(undid));
        format!("{}  {}{}", wires.move_row(row), row_text(row, zone), undone_text(undid))
    }));
    rows.extend(left_out_note(picture.omitted));
    if rows.is_empty() { "nothing was said yet.\n".to_owned() } else { rows.join("\n") + "\n" }
}

/// Returns the note about older moves that are not drawn.
pub fn left_out_note(older: u64) -> Option<String> {
    match older {
        0 => None,
        1 => Some("1 older move is left out.".to_owned()),
        _ => Some(format!("{older} older moves are left out.")),
    }
}

fn tip_text(tip: &Tip<'_>) -> String {
    let branch = tip.branch;
    let session = tip.session.short();
    let said = entry_count(tip.entries);
    match branch {
        Branch::Main => format!("main · now · {session} · {said}"),
        Branch::Fork(_) => format!("{branch}{} · open · {session} · {said}", topic(tip.label)),
    }
}

fn row_text(row: &Row<'_>, zone: &TimeZone) -> String {
    let LineageMove { branch, reason: why, .. } = row.branch_move;
    let time = row.branch_move.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
    let from = session_text(&row.branch_move.from);
    let to = session_text(&row.branch_move.to);
    let said = entry_count(row.entries);
    let left = |whose: &str| match row.left_behind {
        0 => String::new(),
        left => format!(" · {}{whose} left behind", entry_count(left)),
    };
    let fork = |word: &str| format!("{branch} {word} {time}{}", topic(row.label));
    match (branch, why) {
        (Branch::Main, MoveReason::Created) => format!("created {time} · {to}"),
        (Branch::Main, MoveReason::Compacted) => {
            format!("compacted {time} · {from} → {to} · {said} summed up")
        }
        (Branch::Main, MoveReason::Cleared) => format!("cleared {time} · {from} · {said}"),
        (Branch::Main, MoveReason::Undone) => format!("undone {time} · back to {to}{}", left("")),
        (Branch::Main, MoveReason::Promoted) => format!("saved a fork {time} · {from} → {to}"),
        (
            Branch::Main,
            MoveReason::Forked
            | MoveReason::Ended
            | MoveReason::Reported
            | MoveReason::Dropped
            | MoveReason::Lapsed,
        ) => {
            format!("{} {time} · {from}", why.as_str())
        }
        (Branch::Fork(_), MoveReason::Forked | MoveReason::Created) => format!("{} · {to}", fork("started")),
        (Branch::Fork(_), MoveReason::Compacted) => format!("{} · {from} → {to}", fork("compacted")),
        (Branch::Fork(_), MoveReason::Undone) => format!("{} · {to}", fork("undone")),
        (Branch::Fork(_), MoveReason::Promoted) => {
            let main = row
                .main_move
                .map(|main| format!(" · main {} → {}", session_text(&main.from), session_text(&main.to)));
            format!("{} · {said}{}{}", fork("saved"), main.unwrap_or_default(), left(" of main"))
        }
        (
            Branch::Fork(_),
            MoveReason::Ended
            | MoveReason::Cleared
            | MoveReason::Reported
            | MoveReason::Dropped
            | MoveReason::Lapsed,
        ) => {
            format!("{} · {said}", fork(why.as_str()))
        }
    }
}

/// Returns the text about the move that was undone.
fn undone_text(undid: Option<&Row<'_>>) -> &'static str {
    match undid.map(|row| row.branch_move.reason) {
        Some(MoveReason::Compacted) => " · took the compaction back",
        Some(MoveReason::Promoted) => " · took the saving back",
        Some(MoveReason::Cleared) => " · took the clearing back",
        Some(
            MoveReason::Created
            | MoveReason::Forked
            | MoveReason::Ended
            | MoveReason::Reported
            | MoveReason::Dropped
            | MoveReason::Lapsed
            | MoveReason::Undone,
        )
        | None => "",
    }
}

/// Returns the topic of a fork in one short line.
fn topic(label: Option<&str>) -> String {
    let Some(label) = label else { return String::new() };
    let line = label.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_LABEL_CHARS) {
        Some((end, _)) => format!(" · {}…", &line[..end]),
        None => format!(" · {line}"),
    }
}

fn session_text(place: &Option<(SessionId, u64)>) -> &str {
    place.as_ref().map_or("", |(session, _)| session.short())
}

fn entry_count(count: u64) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}

#[cfg(test)]
mod tests;
