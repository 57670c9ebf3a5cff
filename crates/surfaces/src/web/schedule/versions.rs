//! Earlier versions of job files.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};

use super::changing::{file, unchanged};
use super::wire::FileWire;
use crate::web::App;
use crate::web::job_files::{Version, VersionId};
use crate::web::refusal::Refusal;
use crate::web::sessions::moment;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    file: String,
}

/// Versions, newest first.
#[derive(Serialize)]
pub(super) struct VersionsWire {
    versions: Vec<VersionWire>,
}

#[derive(Serialize)]
struct VersionWire {
    id: String,
    at: String,
    /// Description of the change.
    what: String,
}

pub(super) async fn list(
    State(app): State<App>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<VersionsWire>, Refusal> {
    let Query(Which { file: name }) =
        which.map_err(|_| Refusal::malformed("ask with `?file=routines/NAME.md`."))?;
    let versions = app.ports().job_files.versions(file(&name)?).await.map_err(unchanged)?;
    let zone = app.ports().clock.now().time_zone().clone();
    let wire = |Version { id, at, what }| VersionWire { id: id.to_string(), at: moment(at, &zone), what };
    Ok(Json(VersionsWire { versions: versions.into_iter().map(wire).collect() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WhichVersion {
    file: String,
    id: String,
}

pub(super) async fn text(
    State(app): State<App>,
    which: Result<Query<WhichVersion>, QueryRejection>,
) -> Result<Json<FileWire>, Refusal> {
    let wrong =
        || Refusal::malformed("ask with `?file=routines/NAME.md&id=VERSION`, as the versions are listed.");
    let Query(WhichVersion { file: name, id }) = which.map_err(|_| wrong())?;
    let id = VersionId::parse(&id).ok_or_else(wrong)?;
    let text = app.ports().job_files.version(file(&name)?, id).await.map_err(unchanged)?;
    Ok(Json(FileWire { file: name, text }))
}
