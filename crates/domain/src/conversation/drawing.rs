//! Draws the branches as text: main on the left, newest on top, forks in lanes beside it.
//!
//! Only the moves of branches are drawn, with the number of entries between them, so that a year
//! fits on a screen.

mod wires;

use jiff::tz::TimeZone;

use self::wires::Wires;
use super::lineage::{Line, Lineage, Row, Tip};
use super::{Branch, SessionId, Why};

/// The most characters of a fork's topic.
const LABEL_CHARS: usize = 60;

/// Draws `lineage` with times in `zone`.
pub fn draw(lineage: &Lineage, zone: &TimeZone) -> String {
    let picture = lineage.picture();
    let mut wires = Wires::of(picture.lanes);
    let mut rows: Vec<String> = Vec::with_capacity(picture.rows.len() + picture.open.len() + 1);
    rows.extend(picture.open.iter().map(|tip| format!("{}  {}", wires.tip(tip), tell_tip(tip))));
    rows.extend(picture.rows.iter().map(|row| {
        let undid = row.undid.and_then(|undid| picture.rows.get(undid));
        format!("{}  {}{}", wires.row(row), tell(row, zone), took_back(undid))
    }));
    rows.extend(left_out(picture.older));
    if rows.is_empty() { "nothing was said yet.\n".to_owned() } else { rows.join("\n") + "\n" }
}

/// Returns the note about older moves that are not drawn.
pub fn left_out(older: u64) -> Option<String> {
    match older {
        0 => None,
        1 => Some("1 older move is left out.".to_owned()),
        _ => Some(format!("{older} older moves are left out.")),
    }
}

fn tell_tip(tip: &Tip<'_>) -> String {
    let branch = tip.branch;
    let session = tip.session.short();
    let said = entries(tip.entries);
    match branch {
        Branch::Main => format!("main · now · {session} · {said}"),
        Branch::Fork(_) => format!("{branch}{} · open · {session} · {said}", about(tip.label)),
    }
}

fn tell(row: &Row<'_>, zone: &TimeZone) -> String {
    let Line { branch, why, .. } = row.line;
    let time = row.line.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
    let from = session(&row.line.from);
    let to = session(&row.line.to);
    let said = entries(row.entries);
    let left = |whose: &str| match row.left_behind {
        0 => String::new(),
        left => format!(" · {}{whose} left behind", entries(left)),
    };
    let fork = |word: &str| format!("{branch} {word} {time}{}", about(row.label));
    match (branch, why) {
        (Branch::Main, Why::Created) => format!("created {time} · {to}"),
        (Branch::Main, Why::Compacted) => format!("compacted {time} · {from} → {to} · {said} summed up"),
        (Branch::Main, Why::Cleared) => format!("cleared {time} · {from} · {said}"),
        (Branch::Main, Why::Undone) => format!("undone {time} · back to {to}{}", left("")),
        (Branch::Main, Why::Promoted) => format!("saved a fork {time} · {from} → {to}"),
        (Branch::Main, Why::Forked | Why::Ended | Why::Reported | Why::Dropped | Why::Lapsed) => {
            format!("{} {time} · {from}", why.as_str())
        }
        (Branch::Fork(_), Why::Forked | Why::Created) => format!("{} · {to}", fork("started")),
        (Branch::Fork(_), Why::Compacted) => format!("{} · {from} → {to}", fork("compacted")),
        (Branch::Fork(_), Why::Undone) => format!("{} · {to}", fork("undone")),
        (Branch::Fork(_), Why::Promoted) => {
            let main =
                row.main.map(|main| format!(" · main {} → {}", session(&main.from), session(&main.to)));
            format!("{} · {said}{}{}", fork("saved"), main.unwrap_or_default(), left(" of main"))
        }
        (Branch::Fork(_), Why::Ended | Why::Cleared | Why::Reported | Why::Dropped | Why::Lapsed) => {
            format!("{} · {said}", fork(why.as_str()))
        }
    }
}

/// Returns the text about the move that was undone.
fn took_back(undid: Option<&Row<'_>>) -> &'static str {
    match undid.map(|row| row.line.why) {
        Some(Why::Compacted) => " · took the compaction back",
        Some(Why::Promoted) => " · took the saving back",
        Some(Why::Cleared) => " · took the clearing back",
        Some(
            Why::Created
            | Why::Forked
            | Why::Ended
            | Why::Reported
            | Why::Dropped
            | Why::Lapsed
            | Why::Undone,
        )
        | None => "",
    }
}

/// Returns the topic of a fork in one short line.
fn about(label: Option<&str>) -> String {
    let Some(label) = label else { return String::new() };
    let line = label.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LABEL_CHARS) {
        Some((end, _)) => format!(" · {}…", &line[..end]),
        None => format!(" · {line}"),
    }
}

fn session(place: &Option<(SessionId, u64)>) -> &str {
    place.as_ref().map_or("", |(session, _)| session.short())
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}

#[cfg(test)]
mod tests;
