//! The terminal in line mode: a chat for users, pipes and screen readers. A client of the assistant
//! over the socket file.

mod approval;
pub(crate) mod chat_state;
pub(crate) mod completion;
pub mod editor;
mod embed;
pub mod history;
pub mod interactive;
pub mod keys;
mod notices;
mod progress;
mod prompt;
pub mod raw;
pub mod screen;
mod shortcuts;
pub mod status_line;
mod transcript;

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, Lines};

use domain::command::is_command;
use engine::ports::Clock;
use tokio::time::Instant;

use crate::client::{Client, ClientError, CommandReply, EventStream, MessageDraft, StreamEvent};
use prompt::Prompt;
use screen::NO_BREAK_SPACE;
use shortcuts::{ShortcutAction, Shortcuts};
use transcript::Transcript;
pub use transcript::{AnswerOutcome, sent_text};

/// How the terminal is used.
#[derive(Clone, Copy)]
pub enum InputMode<'a> {
    /// Interactive, with a prompt; the clock is for relative times.
    Interactive(&'a dyn Clock),
    /// Each line is answered before the next is read.
    Pipe,
}

/// Why the terminal stopped.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// A request to the assistant failed.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// Reading or writing the terminal failed.
    #[error("the terminal cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

/// Reply for work whose end was missed.
const ENDED_UNSEEN: &str =
    "it ended while i could not follow. `ollim-bot sessions tree` shows what came of it.";

/// Executes a command and waits for the work it starts. Returns the final text, `Err` for failed
/// work.
pub async fn run_command(client: &Client, command: &str) -> Result<Result<String, String>, TerminalError> {
    let mut events = client.events().await?;
    let turn = match client.execute(command).await? {
        CommandReply::Text(text) if text.trim().is_empty() => {
            return Ok(Ok(default_reply(command).to_owned()));
        }
        CommandReply::Text(text) => return Ok(Ok(strip_bold(&text))),
        CommandReply::Started(turn) => turn,
    };
    while let Some(StreamEvent { name, data }) = events.next().await? {
        match name.as_str() {
            "compacted" if data["turn"].as_u64() == Some(turn) => {
                let text = data["text"].as_str().unwrap_or_default().to_owned();
                return Ok(if data["done"] == true { Ok(text) } else { Err(text) });
            }
            "reload" if data["compacting"]["turn"].as_u64() != Some(turn) => {
                return Ok(Err(ENDED_UNSEEN.to_owned()));
            }
            _ => {}
        }
    }
    Err(ClientError::Connection("it ended before the work did".to_owned()).into())
}

/// Returns the text for a finished command without a reply of its own. Not used in a chat, where
/// the effect is shown anyway.
fn default_reply(command: &str) -> &'static str {
    match command.split_whitespace().next().unwrap_or_default() {
        "/fork" => {
            "The side conversation has begun. What you say next goes there; /save, /report or /exit ends it."
        }
        "/save" => "The side conversation becomes the main conversation.",
        "/report" => "The side conversation ends, and your words are kept for the main conversation.",
        "/exit" => "The side conversation ends. Nothing of it is kept.",
        "/stop" => "Stopped.",
        _ => "Done.",
    }
}

/// Sends `message` and writes the answer to `out` as it arrives.
pub async fn ask_once(
    client: &Client,
    input: &MessageDraft,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<AnswerOutcome, TerminalError> {
    let mut events = client.events().await?;
    let message = client.say(input).await?;
    let mut transcript = Transcript::for_message(message);
    loop {
        let Some(shown) = events.next().await? else {
            return Err(ClientError::Connection("it ended before the answer did".to_owned()).into());
        };
        write(out, &transcript.on_event(&shown)).await?;
        out.flush().await?;
        match transcript.outcome() {
            None => {}
            Some(AnswerOutcome::Missed) => return read_missed_answer(client, &input.text, out).await,
            Some(ended) => return Ok(ended),
        }
    }
}

/// Number of entries searched for a missed answer.
const SEARCHED_ENTRIES: usize = 100;

/// Reads the answer to `text` from the conversation.
async fn read_missed_answer(
    client: &Client,
    text: &str,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<AnswerOutcome, TerminalError> {
    let found = client.get(&format!("/api/messages?limit={SEARCHED_ENTRIES}")).await?;
    let entries = found["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = entries.iter().rposition(|entry| entry["by"] == "human" && entry["text"] == text);
    let answers = entries[asked.map_or(entries.len(), |asked| asked + 1)..].iter();
    let words: Vec<&str> = answers
        .take_while(|entry| entry["by"] != "human")
        .filter(|entry| entry["by"] == "assistant")
        .filter_map(|entry| entry["text"].as_str())
        .collect();
    write(out, &format!("\n{}\n", words.join("\n"))).await?;
    out.flush().await?;
    if words.is_empty() {
        Ok(AnswerOutcome::Failed("there is no answer to that; say it again.".to_owned()))
    } else {
        Ok(AnswerOutcome::Answered)
    }
}

/// Chats until the end of the input.
pub async fn chat(
    client: &Client,
    reader: InputMode<'_>,
    input: impl AsyncBufRead + Unpin,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), TerminalError> {
    let ended = match reader {
        InputMode::Pipe => run_pipe(client, input.lines(), out).await,
        InputMode::Interactive(clock) => run_interactive(client, clock, input.lines(), out).await,
    };
    // Flushed before returning, because the process may end next.
    out.flush().await?;
    ended
}

async fn run_pipe(
    client: &Client,
    mut lines: Lines<impl AsyncBufRead + Unpin>,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), TerminalError> {
    while let Some(line) = lines.next_line().await? {
        let told = match (line.trim(), MessageDraft::parse_reply(&line)) {
            ("", _) => continue,
            ("/quit", _) => return Ok(()),
            (_, Some(reply)) => ask_once(client, &reply, out).await.map(AnswerOutcome::failure),
            (command, None) if is_command(command) => {
                run_command(client, command).await.map(|obeyed| Some(obeyed.unwrap_or_else(|why| why)))
            }
            (_, None) => ask_once(client, &line.as_str().into(), out).await.map(AnswerOutcome::failure),
        };
        match told {
            Ok(None) => {}
            Ok(Some(text)) | Err(TerminalError::Client(ClientError::Refused(text))) => {
                write(out, &format!("{text}\n")).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Runs the chat for an interactive terminal without raw mode.
async fn run_interactive(
    client: &Client,
    clock: &dyn Clock,
    mut lines: Lines<impl AsyncBufRead + Unpin>,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), TerminalError> {
    let mut events: EventStream = client.events().await?;
    let mut transcript = Transcript::for_all();
    let mut prompt = Prompt::default();
    let mut shortcuts = Shortcuts::default();
    write(out, &prompt.show()).await?;
    loop {
        out.flush().await?;
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                prompt.hide();
                let deed = shortcuts.for_line(&line, Instant::now()).cloned();
                match run_shortcut_or_line(client, deed, line.trim(), &mut transcript).await? {
                    LineResult::Empty => write(out, &prompt.show()).await?,
                    LineResult::Sent | LineResult::Done => {}
                    LineResult::Reply(text) => {
                        let text = strip_bold(&text).replace('\n', "\n  ");
                        write(out, &format!("  {text}\n{}", prompt.show())).await?;
                    }
                    LineResult::Quit => return Ok(()),
                }
            }
            shown = events.next() => {
                let shown = match shown {
                    Ok(Some(shown)) => shown,
                    Ok(None) => return Err(ClientError::NotRunning.into()),
                    Err(silent) => {
                        let words = prompt.with_output(&format!("\n  {silent}\n"));
                        write(out, &format!("{words}{}", prompt.show())).await?;
                        continue;
                    }
                };
                prompt.on_event(&shown);
                let ring = notices::on_event(&shown, &mut shortcuts, Instant::now(), &clock.now());
                let words = transcript.on_event(&shown) + &ring.map(|ring| ring.text).unwrap_or_default();
                write(out, &prompt.with_output(&words.replace(NO_BREAK_SPACE, " "))).await?;
                let due = prompt.is_due(&shown, &words) && !transcript.is_streaming();
                // An approval expects an answer.
                if transcript.outcome().is_some() || due || shown.name == "asked" {
                    write(out, &prompt.show()).await?;
                }
            }
        }
    }
}

/// Executes the action of a shortcut, or submits the line.
async fn run_shortcut_or_line(
    client: &Client,
    action: Option<ShortcutAction>,
    line: &str,
    transcript: &mut Transcript,
) -> Result<LineResult, TerminalError> {
    let pressed = match action {
        Some(ShortcutAction::Press(button)) => client.press(&button, notices::press_text(&button)).await,
        Some(ShortcutAction::AskTime { name: what, .. }) => {
            Ok(Some(format!("to when? say: move {what} to tomorrow 9")))
        }
        Some(ShortcutAction::Submit(words)) => return submit_line(client, &words, transcript).await,
        Some(ShortcutAction::Undo) => client.undo().await,
        None => return submit_line(client, line, transcript).await,
    };
    match pressed {
        // The effect is shown as an event.
        Ok(None) => Ok(LineResult::Done),
        Ok(Some(text)) => Ok(LineResult::Reply(text)),
        Err(error) => Ok(LineResult::Reply(recoverable_text(error)?)),
    }
}

/// Returns the text of an error after which the chat can continue.
fn recoverable_text(error: ClientError) -> Result<String, ClientError> {
    match error {
        ClientError::Refused(why) => Ok(why),
        ClientError::NoAnswer(_) | ClientError::OutcomeUnknown(_) | ClientError::StreamSilent(_) => {
            Ok(error.to_string())
        }
        ClientError::NotRunning | ClientError::Connection(_) => Err(error),
    }
}

/// Removes bold markup.
pub(crate) fn strip_bold(text: &str) -> String {
    text.replace("**", "")
}

/// Result of a submitted line.
pub(crate) enum LineResult {
    Empty,
    /// A message or work that will be answered.
    Sent,
    /// A command whose effect is shown as an event.
    Done,
    /// The reply text of a command.
    Reply(String),
    Quit,
}

/// Sends `line` as a message or executes it as a command.
pub(crate) async fn submit_line(
    client: &Client,
    line: &str,
    transcript: &mut Transcript,
) -> Result<LineResult, TerminalError> {
    match line {
        "" => Ok(LineResult::Empty),
        "/quit" => Ok(LineResult::Quit),
        line => match MessageDraft::parse_reply(line) {
            Some(reply) => send_message(client, &reply, transcript).await,
            None if is_command(line) => command_result(client.execute(line).await, transcript),
            None => send_message(client, &line.into(), transcript).await,
        },
    }
}

async fn send_message(
    client: &Client,
    words: &MessageDraft,
    transcript: &mut Transcript,
) -> Result<LineResult, TerminalError> {
    transcript.expect_echo(&words.text);
    match client.say(words).await {
        Ok(_) => Ok(LineResult::Sent),
        Err(error) => {
            transcript.drop_echo();
            Ok(LineResult::Reply(recoverable_text(error)?))
        }
    }
}

fn command_result(
    obeyed: Result<CommandReply, ClientError>,
    transcript: &mut Transcript,
) -> Result<LineResult, TerminalError> {
    match obeyed {
        // Stopping is shown as an event.
        Ok(CommandReply::Text(text)) if text.is_empty() => Ok(LineResult::Done),
        Ok(CommandReply::Text(text)) => Ok(LineResult::Reply(text)),
        Ok(CommandReply::Started(turn)) => {
            transcript.expect_work(turn);
            Ok(LineResult::Sent)
        }
        Err(error) => Ok(LineResult::Reply(recoverable_text(error)?)),
    }
}

/// Writes text without control characters. All output goes through here.
async fn write(out: &mut (impl AsyncWrite + Unpin), words: &str) -> io::Result<()> {
    out.write_all(strip_control(words).as_bytes()).await
}

/// Removes control characters except newlines and tabs.
pub fn strip_control(words: &str) -> String {
    words.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
