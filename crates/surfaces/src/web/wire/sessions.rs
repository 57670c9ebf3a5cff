//! The sessions on the wire: how the names moved.

use domain::conversation::{Line, Lineage, SessionId};
use serde::Serialize;

/// How the names moved, and the same as a drawing.
#[derive(Serialize)]
pub struct Sessions {
    pub lines: Vec<LineWire>,
    pub open: Vec<OpenWire>,
    pub drawing: String,
}

/// One move of a name.
#[derive(Serialize)]
pub struct LineWire {
    pub at: String,
    pub branch: String,
    pub why: &'static str,
    pub from: Option<PlaceWire>,
    pub to: Option<PlaceWire>,
}

/// A place in the tree.
#[derive(Serialize)]
pub struct PlaceWire {
    pub session: String,
    pub depth: u64,
}

/// A branch that exists.
#[derive(Serialize)]
pub struct OpenWire {
    pub branch: String,
    pub session: String,
    pub depth: u64,
}

impl Sessions {
    pub fn new(lineage: &Lineage, drawing: String) -> Self {
        let open = lineage.open.iter().map(|(branch, session, depth)| OpenWire {
            branch: branch.to_string(),
            session: session.to_string(),
            depth: *depth,
        });
        Self { lines: lineage.lines.iter().map(LineWire::from).collect(), open: open.collect(), drawing }
    }
}

impl From<&Line> for LineWire {
    fn from(line: &Line) -> Self {
        let place = |place: &Option<(SessionId, u64)>| {
            place.as_ref().map(|(session, depth)| PlaceWire { session: session.to_string(), depth: *depth })
        };
        Self {
            at: line.at.to_string(),
            branch: line.branch.to_string(),
            why: line.why.as_str(),
            from: place(&line.from),
            to: place(&line.to),
        }
    }
}
