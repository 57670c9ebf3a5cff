//! Earlier versions of job files.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};

use super::dto::FileDto;
use super::edit::{file_error, parse_file};
use crate::web::App;
use crate::web::api_error::ApiError;
use crate::web::job_files::{Version, VersionId};
use crate::web::sessions::format_time;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionsQuery {
    file: String,
}

/// Versions, newest first.
#[derive(Serialize)]
pub(super) struct VersionsDto {
    versions: Vec<VersionDto>,
}

#[derive(Serialize)]
struct VersionDto {
    id: String,
    at: String,
    /// Description of the change.
    what: String,
}

pub(super) async fn list(
    State(app): State<App>,
    which: Result<Query<VersionsQuery>, QueryRejection>,
) -> Result<Json<VersionsDto>, ApiError> {
    let Query(VersionsQuery { file: name }) =
        which.map_err(|_| ApiError::malformed("ask with `?file=routines/NAME.md`."))?;
    let versions = app.ports().job_files.versions(parse_file(&name)?).await.map_err(file_error)?;
    let zone = app.ports().clock.now().time_zone().clone();
    let wire = |Version { id, at, change: what }| VersionDto {
        id: id.to_string(),
        at: format_time(at, &zone),
        what,
    };
    Ok(Json(VersionsDto { versions: versions.into_iter().map(wire).collect() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionQuery {
    file: String,
    id: String,
}

pub(super) async fn text(
    State(app): State<App>,
    which: Result<Query<VersionQuery>, QueryRejection>,
) -> Result<Json<FileDto>, ApiError> {
    let wrong =
        || ApiError::malformed("ask with `?file=routines/NAME.md&id=VERSION`, as the versions are listed.");
    let Query(VersionQuery { file: name, id }) = which.map_err(|_| wrong())?;
    let id = VersionId::parse(&id).ok_or_else(wrong)?;
    let text = app.ports().job_files.version(parse_file(&name)?, id).await.map_err(file_error)?;
    Ok(Json(FileDto { file: name, text }))
}
