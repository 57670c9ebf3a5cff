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
use surfaces::client::{Client, Unanswered, Words};
use surfaces::terminal::seat::Afterwards;
use surfaces::terminal::{self, Reader, chat, once};
use tokio::io::{AsyncBufReadExt, BufReader, stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Output;
use crate::clock::SystemClock;
use crate::commands::in_the_shell;
use crate::exit::Failed;
use crate::greeting;
use crate::house::{Doors, House, SOCKET};
use crate::reach::runs;
use crate::seating;
use crate::settings::Settings;
use crate::updating::{self, Proof, READY_WITHIN};
use crate::voice::{note, print};

/// Runs the assistant until it is stopped, with a chat if there is a terminal. `repairs` holds
/// notices of repairs made before the start.
pub async fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    attached: Attached,
    mended: Vec<String>,
) -> Result<ExitCode, Failed> {
    let program = updating::program(&settings.places.upgrade)?;
    let now = SystemClock::new(settings.zone.value.clone()).now().timestamp();
    let proof = updating::prove(&*disk, &settings.paths, now);
    match &proof {
        Proof::Back => return Err(updating::become_again(settings, &disk, &program)),
        Proof::NotNow(why) => return Err(not_put_back(why)),
        Proof::None | Proof::Owed => {}
    }
    let mut house = match (open_within(settings, mended, &disk, &proof).await, &proof) {
        (Err(failed), Proof::Owed) if !matches!(failed, Failed::Running(_)) => {
            return Err(match updating::go_back(&*disk, &settings.paths, &failed.to_string(), now) {
                Proof::Back => updating::become_again(settings, &disk, &program),
                Proof::NotNow(why) => not_put_back(&format!("{failed} ({why})")),
                Proof::None | Proof::Owed => failed,
            });
        }
        (opened, _) => opened?,
    };
    let attached = if std::io::stdin().is_terminal() { attached } else { Attached::Never };
    greeting::greet(settings, &house);
    let watch = house.watched_over(settings);
    let client = house.client.clone();
    let renewed = house.renewed();
    let well = updating::prove_well(&proof, house.desk.clone(), Arc::clone(&disk), settings.paths.clone());
    let ended = tokio::select! {
        ended = talk_or_wait(&client, (settings, &disk), attached) => ended.map(|()| Ended::ForGood),
        () = told_to_stop() => Ok(Ended::ForGood),
        () = renewed => Ok(Ended::ToStartAgain),
        () = house.fell() => Err(fell()),
        never = well => match never {},
    };
    if ended.is_ok() {
        updating::ended_well(&*disk, &settings.paths);
    }
    match (&settings.places.service.notifier, &ended) {
        // systemd kills a process that announced `STOPPING`, so a restart only reports that it is
        // alive.
        (Some(notifier), Ok(Ended::ToStartAgain)) => notifier.alive(),
        (Some(notifier), Ok(Ended::ForGood) | Err(_)) => notifier.stopping(),
        (None, _) => {}
    }
    drop(watch);
    house.close().await;
    match ended? {
        Ended::ForGood => Ok(ExitCode::SUCCESS),
        Ended::ToStartAgain => Err(updating::become_again(settings, &disk, &program)),
    }
}

enum Ended {
    ForGood,
    ToStartAgain,
}

/// Opens everything. A new program version must be ready within `READY_WITHIN`.
async fn open_within(
    settings: &Settings,
    mended: Vec<String>,
    disk: &Arc<dyn Disk>,
    proof: &Proof,
) -> Result<House, Failed> {
    let opened = House::start(settings, Arc::clone(disk), mended);
    match proof {
        Proof::Owed => tokio::time::timeout(READY_WITHIN, opened).await.unwrap_or_else(|_| {
            Err(Failed::NotDone(format!("it was not ready within {} s", READY_WITHIN.as_secs())))
        }),
        Proof::None | Proof::Back | Proof::NotNow(_) => opened.await,
    }
}

/// The error when a new version failed and the previous one cannot be restored yet. A service
/// manager starts the program again after it.
fn not_put_back(why: &str) -> Failed {
    Failed::NotDone(format!(
        "the new version did not start well, and the one before cannot be put back now: {why}. \
         start again (a service does so by itself)."
    ))
}

/// Use of the terminal by `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
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
    mended: Vec<String>,
) -> Result<ExitCode, Failed> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    match client.get("/api/health").await {
        Ok(_) => {}
        Err(Unanswered::NotRunning) if std::io::stdin().is_terminal() => {
            return run(settings, disk, Attached::IfTerminal, mended).await;
        }
        Err(Unanswered::NotRunning) => {
            let house = House::open(settings, Arc::clone(&disk), Doors::Local).await?;
            mended.iter().chain(&house.notices).for_each(|notice| note(notice));
            let talked = tokio::select! {
                talked = sit_down(&house.client, (settings, &disk), Afterwards::Wait, output) => talked,
                () = told_to_stop() => Ok(()),
            };
            house.close().await;
            return talked.map(|()| ExitCode::SUCCESS);
        }
        Err(error) => return Err(error.into()),
    }
    mended.iter().for_each(|mended| note(mended));
    tokio::select! {
        talked = sit_down(&client, (settings, &disk), Afterwards::Ring, output) => talked.map(|()| ExitCode::SUCCESS),
        () = told_to_stop() => Ok(ExitCode::SUCCESS),
    }
}

/// Shows the full-screen interface of the running assistant, or of one in this process.
pub async fn full_screen(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    mended: Vec<String>,
) -> Result<ExitCode, Failed> {
    let Some(look) = seating::able(settings) else {
        let text = "the full screen needs a terminal that can draw; this is none. try: ollim-bot chat";
        return Err(Failed::Usage(text.to_owned()));
    };
    let client = Client::new(&settings.paths.state(), SOCKET);
    let around = (settings, &disk);
    let (ended, afterwards) = match client.get("/api/health").await {
        Ok(_) => {
            mended.iter().for_each(|mended| note(mended));
            let ended = tokio::select! {
                ended = seating::full_screen(&client, around, look) => ended,
                () = told_to_stop() => Ok(()),
            };
            (ended, Afterwards::Ring)
        }
        Err(Unanswered::NotRunning) => {
            let mut house = House::start(settings, Arc::clone(&disk), mended).await?;
            let ended = tokio::select! {
                ended = seating::full_screen(&client, around, look) => ended,
                () = told_to_stop() => Ok(()),
                () = house.fell() => Err(fell()),
            };
            house.close().await;
            (ended, Afterwards::Wait)
        }
        Err(error) => return Err(error.into()),
    };
    print(afterwards.tell());
    ended.map(|()| ExitCode::SUCCESS)
}

fn fell() -> Failed {
    Failed::NotDone("a part of me stopped unexpectedly; see the log.".to_owned())
}

/// Sends one message or command, prints the answer, and returns.
pub async fn say_once(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    words: Words,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if runs(&client).await? {
        return answer(&client, &words, output).await;
    }
    let house = House::open(settings, disk, Doors::Local).await?;
    for notice in &house.notices {
        note(notice);
    }
    let answered = tokio::select! {
        answered = answer(&house.client, &words, output) => answered,
        () = told_to_stop() => Err(Failed::NotDone("stopped.".to_owned())),
    };
    house.close().await;
    answered
}

/// Executes a command that is only useful for a running assistant.
pub async fn obey_if_running(
    settings: &Settings,
    command: &str,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    told(terminal::obey(&client, command).await?, output)
}

fn told(obeyed: Result<String, String>, output: &Output) -> Result<ExitCode, Failed> {
    let text = obeyed.map_err(Failed::NotDone)?;
    if output.json {
        output.voice.print(&serde_json::json!({ "ok": true, "text": text }).to_string());
    } else {
        output.voice.print(&in_the_shell(&text));
    }
    Ok(ExitCode::SUCCESS)
}

async fn answer(client: &Client, words: &Words, output: &Output) -> Result<ExitCode, Failed> {
    let command = words.text.trim();
    if is_command(command) && words.images.is_empty() {
        return told(terminal::obey(client, command).await?, output);
    }
    if !output.json {
        let ended = once(client, words, &mut stdout()).await?;
        return Ok(ended.why().map_or(ExitCode::SUCCESS, |why| {
            note(&why);
            ExitCode::FAILURE
        }));
    }
    let mut told = Vec::new();
    let why_not = once(client, words, &mut told).await?.why();
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
pub fn words(words: &[String], images: &[PathBuf]) -> Result<Words, Failed> {
    let text = if images.is_empty() { words_or_stdin(words)? } else { words.join(" ") };
    let picture = |path: &PathBuf| {
        let bytes = std::fs::read(path);
        let bytes = bytes.map_err(|error| Failed::Usage(format!("{}: {error}", path.display())))?;
        let image = Image::read(BASE64_STANDARD.encode(bytes));
        image.map(|image| image.data).map_err(|none| Failed::Usage(format!("{}: {none}", path.display())))
    };
    let images = images.iter().map(picture).collect::<Result<_, _>>()?;
    Ok(Words { text, images, reply_to: None })
}

fn words_or_stdin(words: &[String]) -> Result<String, Failed> {
    if !words.is_empty() {
        return Ok(words.join(" "));
    }
    if std::io::stdin().is_terminal() {
        let text = "say what? write it after --once, or pipe it in: echo \"hello\" | ollim-bot chat --once";
        return Err(Failed::Usage(text.to_owned()));
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Failed::Usage("what came in is not text (UTF-8).".to_owned()))
}

async fn talk_or_wait(
    client: &Client,
    around: (&Settings, &Arc<dyn Disk>),
    attached: Attached,
) -> Result<(), Failed> {
    match attached {
        Attached::IfTerminal => sit_down(client, around, Afterwards::Wait, &Output::default()).await,
        Attached::Never => std::future::pending().await,
    }
}

async fn sit_down(
    client: &Client,
    (settings, disk): (&Settings, &Arc<dyn Disk>),
    afterwards: Afterwards,
    output: &Output,
) -> Result<(), Failed> {
    if let Some(look) = seating::able(settings) {
        return seating::talk(client, settings, disk, look, afterwards).await;
    }
    let clock = SystemClock::new(settings.zone.value.clone());
    let reader = match (std::io::stdin().is_terminal(), output.json) {
        (true, _) => Reader::Person(&clock),
        (false, false) => Reader::Pipe,
        (false, true) => return answer_in_documents(client, output).await,
    };
    chat(client, reader, BufReader::new(stdin()), &mut stdout()).await.map_err(Failed::from)
}

/// Serves a program: one line in, one JSON document out. A failed message does not end the loop
/// while the daemon responds.
async fn answer_in_documents(client: &Client, output: &Output) -> Result<(), Failed> {
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match line.trim() {
            "" => continue,
            "/quit" => return Ok(()),
            _ => {}
        }
        match answer(client, &line.as_str().into(), output).await {
            Ok(_) => {}
            Err(failed) if client.get("/api/health").await.is_ok() => drop(failed.tell(output)),
            Err(gone) => return Err(gone),
        }
    }
    Ok(())
}

/// Waits for SIGTERM or SIGINT.
pub async fn told_to_stop() {
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
