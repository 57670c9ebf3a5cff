//! `ollim-bot man`: the manual, from the same definition as the command line.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, Output};
use crate::exit::Failed;
use serde_json::json;

/// Prints the page of the program, or writes the pages of all its commands into `out`.
pub fn show(out: Option<&Path>, output: &Output) -> Result<ExitCode, Failed> {
    let Some(dir) = out else {
        let mut page = Vec::new();
        Man::new(Cli::command()).render(&mut page)?;
        output.voice.print(String::from_utf8_lossy(&page).trim_end());
        return Ok(ExitCode::SUCCESS);
    };
    let unwritable = |error: std::io::Error| {
        Failed::NotDone(format!("{}: {error}. name a directory that you can write to.", dir.display()))
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(unwritable)?;
    let pages = std::fs::read_dir(dir).map_err(unwritable)?.count();
    super::answer(
        output,
        &json!({ "ok": true, "dir": dir, "pages": pages }),
        &format!("{pages} pages are in {}.", dir.display()),
    );
    Ok(ExitCode::SUCCESS)
}
