//! The session tree as JSON: the rows of its picture, newest first.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use domain::conversation::{Lineage, LineageMove, Row, SessionId, Tip, draw, left_out_note};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::App;
use super::api_error::ApiError;

/// Default number of moves.
pub const DEFAULT_MOVES: u32 = 200;
/// Maximum number of moves.
pub const MAX_MOVES: u32 = 5_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsQuery {
    limit: Option<u32>,
}

pub(super) async fn show(
    State(app): State<App>,
    amount: Result<Query<SessionsQuery>, QueryRejection>,
) -> Result<Json<SessionsDto>, ApiError> {
    let limit = amount.ok().map(|Query(amount)| amount.limit.unwrap_or(DEFAULT_MOVES));
    let limit = limit.filter(|limit| (1..=MAX_MOVES).contains(limit)).ok_or_else(|| {
        ApiError::malformed(format!("ask with `?limit=NUMBER`, from 1 to {MAX_MOVES}, or without it."))
    })?;
    let lineage = app.ports().journal.lineage(limit).await;
    let lineage = lineage.map_err(|unreadable| ApiError::internal(unreadable.0))?;
    Ok(Json(SessionsDto::new(&lineage, app.ports().clock.now().time_zone())))
}

#[derive(Serialize)]
pub struct SessionsDto {
    open: Vec<TipDto>,
    lines: Vec<MoveDto>,
    lanes: usize,
    older: u64,
    left_out: Option<String>,
    drawing: String,
}

/// An existing branch.
#[derive(Serialize)]
struct TipDto {
    branch: String,
    session: String,
    label: Option<String>,
    lane: usize,
    entries: u64,
}

/// A move of a branch.
#[derive(Serialize)]
struct MoveDto {
    at: String,
    branch: String,
    why: &'static str,
    label: Option<String>,
    lane: usize,
    #[serde(flatten)]
    moved: PositionsDto,
    /// The move of main when a fork was promoted.
    main: Option<PositionsDto>,
    entries: u64,
    left_behind: u64,
    /// Index of the line that this one undid.
    undid: Option<usize>,
}

/// Previous and new position of a branch.
#[derive(Serialize)]
struct PositionsDto {
    from: Option<PositionDto>,
    to: Option<PositionDto>,
}

/// A position in the tree.
#[derive(Serialize)]
struct PositionDto {
    session: String,
    depth: u64,
}

impl SessionsDto {
    /// Creates the tree of `lineage`, with times in `zone`.
    pub fn new(lineage: &Lineage, zone: &TimeZone) -> Self {
        let picture = lineage.graph();
        Self {
            open: picture.open.iter().map(TipDto::from).collect(),
            lines: picture.rows.iter().map(|row| MoveDto::new(row, zone)).collect(),
            lanes: picture.lanes,
            older: picture.omitted,
            left_out: left_out_note(picture.omitted),
            drawing: draw(lineage, zone),
        }
    }
}

impl From<&Tip<'_>> for TipDto {
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

impl MoveDto {
    fn new(row: &Row<'_>, zone: &TimeZone) -> Self {
        Self {
            at: format_time(row.branch_move.at, zone),
            branch: row.branch_move.branch.to_string(),
            why: row.branch_move.reason.as_str(),
            label: row.label.map(str::to_owned),
            lane: row.lane,
            moved: row.branch_move.into(),
            main: row.main_move.map(PositionsDto::from),
            entries: row.entries,
            left_behind: row.left_behind,
            undid: row.undone_row,
        }
    }
}

impl From<&LineageMove> for PositionsDto {
    fn from(line: &LineageMove) -> Self {
        Self { from: position(&line.from), to: position(&line.to) }
    }
}

fn position(place: &Option<(SessionId, u64)>) -> Option<PositionDto> {
    place.as_ref().map(|(session, depth)| PositionDto { session: session.to_string(), depth: *depth })
}

pub(super) fn format_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}
