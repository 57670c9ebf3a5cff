//! The session tree as JSON: the rows of its picture, newest first.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use domain::conversation::{Line, Lineage, Row, SessionId, Tip, draw, left_out};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::App;
use super::refusal::Refusal;

/// Default number of moves.
pub const MOVES: u32 = 200;
/// Maximum number of moves.
pub const MOST_MOVES: u32 = 5_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Amount {
    limit: Option<u32>,
}

pub(super) async fn show(
    State(app): State<App>,
    amount: Result<Query<Amount>, QueryRejection>,
) -> Result<Json<SessionsWire>, Refusal> {
    let limit = amount.ok().map(|Query(amount)| amount.limit.unwrap_or(MOVES));
    let limit = limit.filter(|limit| (1..=MOST_MOVES).contains(limit)).ok_or_else(|| {
        Refusal::malformed(format!("ask with `?limit=NUMBER`, from 1 to {MOST_MOVES}, or without it."))
    })?;
    let lineage = app.ports().journal.lineage(limit).await;
    let lineage = lineage.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    Ok(Json(SessionsWire::new(&lineage, app.ports().clock.now().time_zone())))
}

#[derive(Serialize)]
pub struct SessionsWire {
    open: Vec<TipWire>,
    lines: Vec<RowWire>,
    lanes: usize,
    older: u64,
    left_out: Option<String>,
    drawing: String,
}

/// An existing branch.
#[derive(Serialize)]
struct TipWire {
    branch: String,
    session: String,
    label: Option<String>,
    lane: usize,
    entries: u64,
}

/// A move of a branch.
#[derive(Serialize)]
struct RowWire {
    at: String,
    branch: String,
    why: &'static str,
    label: Option<String>,
    lane: usize,
    #[serde(flatten)]
    moved: MovedWire,
    /// The move of main when a fork was promoted.
    main: Option<MovedWire>,
    entries: u64,
    left_behind: u64,
    /// Index of the line that this one undid.
    undid: Option<usize>,
}

/// Previous and new position of a branch.
#[derive(Serialize)]
struct MovedWire {
    from: Option<PlaceWire>,
    to: Option<PlaceWire>,
}

/// A position in the tree.
#[derive(Serialize)]
struct PlaceWire {
    session: String,
    depth: u64,
}

impl SessionsWire {
    /// Creates the tree of `lineage`, with times in `zone`.
    pub fn new(lineage: &Lineage, zone: &TimeZone) -> Self {
        let picture = lineage.picture();
        Self {
            open: picture.open.iter().map(TipWire::from).collect(),
            lines: picture.rows.iter().map(|row| RowWire::new(row, zone)).collect(),
            lanes: picture.lanes,
            older: picture.older,
            left_out: left_out(picture.older),
            drawing: draw(lineage, zone),
        }
    }
}

impl From<&Tip<'_>> for TipWire {
    fn from(tip: &Tip<'_>) -> Self {
        Self {
            branch: tip.branch.to_string(),
            session: tip.session.to_string(),
            label: tip.label.map(str::to_owned),
            lane: tip.lane,
            entries: tip.entries,
        }
    }
}

impl RowWire {
    fn new(row: &Row<'_>, zone: &TimeZone) -> Self {
        Self {
            at: moment(row.line.at, zone),
            branch: row.line.branch.to_string(),
            why: row.line.why.as_str(),
            label: row.label.map(str::to_owned),
            lane: row.lane,
            moved: row.line.into(),
            main: row.main.map(MovedWire::from),
            entries: row.entries,
            left_behind: row.left_behind,
            undid: row.undid,
        }
    }
}

impl From<&Line> for MovedWire {
    fn from(line: &Line) -> Self {
        Self { from: place(&line.from), to: place(&line.to) }
    }
}

fn place(place: &Option<(SessionId, u64)>) -> Option<PlaceWire> {
    place.as_ref().map(|(session, depth)| PlaceWire { session: session.to_string(), depth: *depth })
}

pub(super) fn moment(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}
