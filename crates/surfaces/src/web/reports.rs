//! The reports that main has not read, as the page and the command line read them.

use axum::Json;
use axum::extract::State;
use domain::report::Report;
use serde::Serialize;

use super::App;
use super::refusal::Refusal;

pub(super) async fn show(State(app): State<App>) -> Result<Json<UpdatesWire>, Refusal> {
    let reports = app.ports().archive.reports().await.map_err(|unreadable| Refusal::broken(unreadable.0))?;
    Ok(Json(UpdatesWire::from(reports.as_slice())))
}

/// The reports that wait, oldest first.
#[derive(Serialize)]
pub struct UpdatesWire {
    updates: Vec<UpdateWire>,
}

/// One report, when it was left and by whom.
#[derive(Serialize)]
struct UpdateWire {
    id: u64,
    at: String,
    from: String,
    text: String,
}

impl From<&[Report]> for UpdatesWire {
    fn from(reports: &[Report]) -> Self {
        let update = |report: &Report| UpdateWire {
            id: report.id.0,
            at: report.at.to_string(),
            from: report.from.clone(),
            text: report.text.clone(),
        };
        Self { updates: reports.iter().map(update).collect() }
    }
}
