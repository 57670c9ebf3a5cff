//! `ollim-bot man`: generates manual pages from the command-line definition.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, Output};
use crate::exit::CommandError;
use serde_json::json;

/// The most important environment variables.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("OLLIM_DATA_DIR", "where everything is kept"),
    ("OLLIM_MODEL", "who answers: offline, anthropic:NAME, openai:NAME, claude or claude:NAME"),
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL", "the key of a model, and where its server is"),
    ("OLLIM_TIMEZONE", "your zone, such as Europe/Berlin"),
    ("DISCORD_TOKEN", "the token of your application in Discord"),
    ("OLLIM_LOG", "how much is logged: off, error, warn, info, debug or trace"),
];

const FILES: [(&str, &str); 5] = [
    ("~/.ollim-bot", "the data directory, unless OLLIM_DATA_DIR or --data-dir names another"),
    ("settings.toml", "in it: what you set by hand"),
    ("routines, reminders, webhooks, skills", "in it: plain files that you can read and edit"),
    ("state/environment", "in it: what ollim-bot setup keeps, lines like NAME=value"),
    ("state/journal.db", "in it: the conversation"),
];

/// Prints the page of the program, or writes the pages of all commands into `out`.
pub fn show(out: Option<&Path>, output: &Output) -> Result<ExitCode, CommandError> {
    let Some(dir) = out else {
        output.voice.print(page(&Cli::command(), PageKind::Program)?.trim_end());
        return Ok(ExitCode::SUCCESS);
    };
    let unwritable = |error: std::io::Error| {
        CommandError::Failed(format!("{}: {error}. name a directory that you can write to.", dir.display()))
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    let mut cli = Cli::command();
    cli.build();
    write(&cli, PageKind::Program, dir).map_err(unwritable)?;
    let pages = std::fs::read_dir(dir).map_err(unwritable)?.count();
    super::print_result(
        output,
        &json!({ "ok": true, "dir": dir, "pages": pages }),
        &format!("{pages} pages are in {}.", dir.display()),
    );
    Ok(ExitCode::SUCCESS)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Program,
    Command,
}

fn write(command: &Command, whose: PageKind, dir: &Path) -> std::io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write(inner, PageKind::Command, dir)?;
    }
    std::fs::write(dir.join(Man::new(command.clone()).get_filename()), page(command, whose)?)
}

fn page(command: &Command, whose: PageKind) -> std::io::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone().after_help(None::<&str>)).render(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if whose == PageKind::Program {
        definition_list(&mut page, "ENVIRONMENT", &ENVIRONMENT);
        definition_list(&mut page, "FILES", &FILES);
    }
    let around = [command.get_before_help(), command.get_after_help()];
    for words in around.into_iter().flatten().map(ToString::to_string) {
        let (title, words) = match words.split_once(":\n") {
            Some(("example" | "examples", lines)) => ("EXAMPLES", lines),
            _ if whose == PageKind::Program => ("\"EXIT STATUS\"", words.as_str()),
            _ => ("NOTES", words.as_str()),
        };
        let _ = writeln!(page, ".SH {title}\n.nf\n{}\n.fi", escape_roff(words));
    }
    Ok(page)
}

fn definition_list(page: &mut String, title: &str, rows: &[(&str, &str)]) {
    let _ = writeln!(page, ".SH {title}");
    for (name, meaning) in rows {
        let _ = writeln!(page, ".TP\n{}\n{}", escape_roff(name), escape_roff(meaning));
    }
}

/// Escapes `text` for roff.
fn escape_roff(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('~', "\\(ti")
}
