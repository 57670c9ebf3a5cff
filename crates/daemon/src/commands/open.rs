//! `ollim-bot open`: prints a new link to the page.

use std::process::ExitCode;

use surfaces::client::Client;

use super::print_result;
use crate::app::SOCKET;
use crate::cli::Output;
use crate::exit::CommandError;
use crate::printer::note;
use crate::settings::Settings;

/// Prints a link that pairs the browser which opens it.
pub async fn open(settings: &Settings, output: &Output) -> Result<ExitCode, CommandError> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    let made = client.post("/api/pairings", &serde_json::json!({})).await?;
    let link = made["link"].as_str().unwrap_or_default();
    print_result(output, &made, link);
    if !output.json {
        note("open it within ten minutes; it works once.");
    }
    Ok(ExitCode::SUCCESS)
}
