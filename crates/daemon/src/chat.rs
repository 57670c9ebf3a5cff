//! The commands that run the assistant or talk to it, in this process or in a running one.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::command::is_command;
use domain::conversation::Image;
use engine::ports::Clock;
use journal::disk::Disk;
use surfaces::client::{Client, ClientError, MessageDraft};
use surfaces::terminal::interactive::AfterExit;
use surfaces::terminal::{self, InputMode, ask_once, chat};
use tokio::io::{AsyncBufReadExt, BufReader, stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};

use crate::app::{Application, Mode, SOCKET};
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::commands::with_shell_commands;
use crate::connection::is_running;
use crate::exit::CommandError;
use crate::greeting;
use crate::printer::{note, print};
use crate::settings::Settings;
use crate::terminal_session;
use crate::update::{self, READY_WITHIN, UpdateStatus};

/// Runs the assistant until it is stopped, with a chat if there is a terminal. `repairs` holds
/// notices of repairs made before the start.
pub async fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    terminal: TerminalUse,
    repairs: Vec<String>,
) -> Result<ExitCode, CommandError> {
    let program = update::program(&settings.integrations.upgrade)?;
    let now = SystemClock::new(settings.zone.value.clone()).now().timestamp();
    let proof = update::check_update(&*disk, &settings.paths, now);
    match &proof {
        UpdateStatus::RolledBack => return Err(update::exec_program(settings, &disk, &program)),
        UpdateStatus::RollbackPostponed(why) => return Err(rollback_failed(why)),
        UpdateStatus::None | UpdateStatus::OnProbation => {}
    }
    let mut house = match (open_in_time(settings, repairs, &disk, &proof).await, &proof) {
        (Err(failed), UpdateStatus::OnProbation) if !matches!(failed, CommandError::AlreadyRunning(_)) => {
            return Err(match update::roll_back(&*disk, &settings.paths, &failed.to_string(), now) {
                UpdateStatus::RolledBack => update::exec_program(settings, &disk, &program),
                UpdateStatus::RollbackPostponed(why) => rollback_failed(&format!("{failed} ({why})")),
                UpdateStatus::None | UpdateStatus::OnProbation => failed,
            });
        }
        (opened, _) => opened?,
    };
    let terminal = if std::io::stdin().is_terminal() { terminal } else { TerminalUse::Never };
    greeting::print_greeting(settings, &house);
    let watch = house.start_watchdog(settings);
    let client = house.client.clone();
    let renewed = house.renewed();
    let well =
        update::end_probation(&proof, house.assistant.clone(), Arc::clone(&disk), settings.paths.clone());
    let ended = tokio::select! {
        ended = chat_or_wait(&client, (settings, &disk), terminal) => ended.map(|()| EndReason::Stop),
        () = stop_signal() => Ok(EndReason::Stop),
        () = renewed => Ok(EndReason::Restart),
        () = house.task_ended() => Err(task_failed()),
        never = well => match never {},
    };
    if ended.is_ok() {
        update::uncount_start(&*disk, &settings.paths);
    }
    match (&settings.integrations.service.notifier, &ended) {
        // systemd kills a process that announced `STOP_HOOK`, so a restart only reports that it is
        // alive.
        (Some(notifier), Ok(EndReason::Restart)) => notifier.alive(),
        (Some(notifier), Ok(EndReason::Stop) | Err(_)) => notifier.stopping(),
        (None, _) => {}
    }
    drop(watch);
    house.close().await;
    match ended? {
        EndReason::Stop => Ok(ExitCode::SUCCESS),
        EndReason::Restart => Err(update::exec_program(settings, &disk, &program)),
    }
}

enum EndReason {
    Stop,
    Restart,
}

/// Opens everything. A new program version must be ready within `READY_WITHIN`.
async fn open_in_time(
    settings: &Settings,
    repairs: Vec<String>,
    disk: &Arc<dyn Disk>,
    proof: &UpdateStatus,
) -> Result<Application, CommandError> {
    let opened = Application::start(settings, Arc::clone(disk), repairs);
    match proof {
        UpdateStatus::OnProbation => tokio::time::timeout(READY_WITHIN, opened).await.unwrap_or_else(|_| {
            Err(CommandError::Failed(format!("it was not ready within {} s", READY_WITHIN.as_secs())))
        }),
        UpdateStatus::None | UpdateStatus::RolledBack | UpdateStatus::RollbackPostponed(_) => opened.await,
    }
}

/// The error when a new version failed and the previous one cannot be restored yet. A service
/// manager starts the program again after it.
fn rollback_failed(why: &str) -> CommandError {
    CommandError::Failed(format!(
        "the new version did not start well, and the one before cannot be put back now: {why}. \
         start again (a service does so by itself)."
    ))
}

/// Use of the terminal by `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalUse {
    /// Opens a chat if stdin is a terminal.
    IfTerminal,
    /// For services.
    Never,
}

/// Talks to the running assistant, or to one in this process.
pub async fn talk(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
    repairs: Vec<String>,
) -> Result<ExitCode, CommandError> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    match client.get("/api/health").await {
        Ok(_) => {}
        Err(ClientError::NotRunning) if std::io::stdin().is_terminal() => {
            return run(settings, disk, TerminalUse::IfTerminal, repairs).await;
        }
        Err(ClientError::NotRunning) => {
            let house = Application::open(settings, Arc::clone(&disk), Mode::Local).await?;
            repairs.iter().chain(&house.notices).for_each(|notice| note(notice));
            let talked = tokio::select! {
                talked = open_chat(&house.client, (settings, &disk), AfterExit::RemindersStop, output) => talked,
                () = stop_signal() => Ok(()),
            };
            house.close().await;
            return talked.map(|()| ExitCode::SUCCESS);
        }
        Err(error) => return Err(error.into()),
    }
    repairs.iter().for_each(|repairs| note(repairs));
    tokio::select! {
        talked = open_chat(&client, (settings, &disk), AfterExit::RemindersContinue, output) => talked.map(|()| ExitCode::SUCCESS),
        () = stop_signal() => Ok(ExitCode::SUCCESS),
    }
}

/// Shows the full-screen interface of the running assistant, or of one in this process.
pub async fn full_screen(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    repairs: Vec<String>,
) -> Result<ExitCode, CommandError> {
    let Some(look) = terminal_session::interactive_look(settings) else {
        let text = "the full screen needs a terminal that can draw; this is none. try: ollim-bot chat";
        return Err(CommandError::Usage(text.to_owned()));
    };
    let client = Client::new(&settings.paths.state(), SOCKET);
    let around = (settings, &disk);
    let (ended, afterwards) = match client.get("/api/health").await {
        Ok(_) => {
            repairs.iter().for_each(|repairs| note(repairs));
            let ended = tokio::select! {
                ended = terminal_session::run_full_screen(&client, around, look) => ended,
                () = stop_signal() => Ok(()),
            };
            (ended, AfterExit::RemindersContinue)
        }
        Err(ClientError::NotRunning) => {
            let mut house = Application::start(settings, Arc::clone(&disk), repairs).await?;
            let ended = tokio::select! {
                ended = terminal_session::run_full_screen(&client, around, look) => ended,
                () = stop_signal() => Ok(()),
                () = house.task_ended() => Err(task_failed()),
            };
            house.close().await;
            (ended, AfterExit::RemindersStop)
        }
        Err(error) => return Err(error.into()),
    };
    print(afterwards.text());
    ended.map(|()| ExitCode::SUCCESS)
}

fn task_failed() -> CommandError {
    CommandError::Failed("a part of me stopped unexpectedly; see the log.".to_owned())
}

/// Sends one message or command, prints the answer, and returns.
pub async fn say_once(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    words: MessageDraft,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if is_running(&client).await? {
        return print_answer(&client, &words, output).await;
    }
    let house = Application::open(settings, disk, Mode::Local).await?;
    for notice in &house.notices {
        note(notice);
    }
    let answered = tokio::select! {
        answered = print_answer(&house.client, &words, output) => answered,
        () = stop_signal() => Err(CommandError::Failed("stopped.".to_owned())),
    };
    house.close().await;
    answered
}

/// Executes a command that is only useful for a running assistant.
pub async fn execute_if_running(
    settings: &Settings,
    command: &str,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    print_command_result(terminal::run_command(&client, command).await?, output)
}

fn print_command_result(obeyed: Result<String, String>, output: &Output) -> Result<ExitCode, CommandError> {
    let text = obeyed.map_err(CommandError::Failed)?;
    if output.json {
        output.voice.print(&serde_json::json!({ "ok": true, "text": text }).to_string());
    } else {
        output.voice.print(&with_shell_commands(&text));
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_answer(
    client: &Client,
    words: &MessageDraft,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let command = words.text.trim();
    if is_command(command) && words.images.is_empty() {
        return print_command_result(terminal::run_command(client, command).await?, output);
    }
    if !output.json {
        let ended = ask_once(client, words, &mut stdout()).await?;
        return Ok(ended.failure().map_or(ExitCode::SUCCESS, |why| {
            note(&why);
            ExitCode::FAILURE
        }));
    }
    let mut told = Vec::new();
    let why_not = ask_once(client, words, &mut told).await?.failure();
    let answer = String::from_utf8_lossy(&told).trim_end().to_owned();
    let (told, code) = match why_not {
        None => (serde_json::json!({ "ok": true, "answer": answer }), ExitCode::SUCCESS),
        Some(why) => {
            let error = serde_json::json!({ "code": 1, "kind": "failed", "message": why });
            (serde_json::json!({ "ok": false, "answer": answer, "error": error }), ExitCode::FAILURE)
        }
    };
    print(&told.to_string());
    Ok(code)
}

/// Reads the message from the arguments or stdin, and the images from their files.
pub fn read_message(words: &[String], images: &[PathBuf]) -> Result<MessageDraft, CommandError> {
    let text = if images.is_empty() { text_or_stdin(words)? } else { words.join(" ") };
    let picture = |path: &PathBuf| {
        let bytes = std::fs::read(path);
        let bytes = bytes.map_err(|error| CommandError::Usage(format!("{}: {error}", path.display())))?;
        let image = Image::from_base64(BASE64_STANDARD.encode(bytes));
        image
            .map(|image| image.data)
            .map_err(|none| CommandError::Usage(format!("{}: {none}", path.display())))
    };
    let images = images.iter().map(picture).collect::<Result<_, _>>()?;
    Ok(MessageDraft { text, images, reply_to: None })
}

fn text_or_stdin(words: &[String]) -> Result<String, CommandError> {
    if !words.is_empty() {
        return Ok(words.join(" "));
    }
    if std::io::stdin().is_terminal() {
        let text = "say what? write it after --once, or pipe it in: echo \"hello\" | ollim-bot chat --once";
        return Err(CommandError::Usage(text.to_owned()));
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| CommandError::Usage("what came in is not text (UTF-8).".to_owned()))
}

async fn chat_or_wait(
    client: &Client,
    around: (&Settings, &Arc<dyn Disk>),
    terminal: TerminalUse,
) -> Result<(), CommandError> {
    match terminal {
        TerminalUse::IfTerminal => {
            open_chat(client, around, AfterExit::RemindersStop, &Output::default()).await
        }
        TerminalUse::Never => std::future::pending().await,
    }
}

async fn open_chat(
    client: &Client,
    (settings, disk): (&Settings, &Arc<dyn Disk>),
    afterwards: AfterExit,
    output: &Output,
) -> Result<(), CommandError> {
    if let Some(look) = terminal_session::interactive_look(settings) {
        return terminal_session::run_line_editor(client, settings, disk, look, afterwards).await;
    }
    let clock = SystemClock::new(settings.zone.value.clone());
    let reader = match (std::io::stdin().is_terminal(), output.json) {
        (true, _) => InputMode::Interactive(&clock),
        (false, false) => InputMode::Pipe,
        (false, true) => return chat_as_json(client, output).await,
    };
    chat(client, reader, BufReader::new(stdin()), &mut stdout()).await.map_err(CommandError::from)
}

/// Serves a program: one line in, one JSON document out. A failed message does not end the loop
/// while the daemon responds.
async fn chat_as_json(client: &Client, output: &Output) -> Result<(), CommandError> {
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match line.trim() {
            "" => continue,
            "/quit" => return Ok(()),
            _ => {}
        }
        match print_answer(client, &line.as_str().into(), output).await {
            Ok(_) => {}
            Err(failed) if client.get("/api/health").await.is_ok() => drop(failed.report(output)),
            Err(gone) => return Err(gone),
        }
    }
    Ok(())
}

/// Waits for SIGTERM or SIGINT.
pub async fn stop_signal() {
    let terminate = signal(SignalKind::terminate());
    let interrupt = signal(SignalKind::interrupt());
    let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
