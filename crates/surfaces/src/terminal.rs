//! The terminal in line mode: a chat for users, pipes and screen readers. A client of the assistant
//! over the socket file.

mod approval;
pub(crate) mod completion;
pub mod editor;
mod embed;
pub mod glance;
pub mod history;
pub mod keys;
mod offers;
mod progress;
mod prompt;
pub mod raw;
mod rings;
pub mod screen;
pub mod seat;
pub(crate) mod talk;
mod telling;

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, Lines};

use domain::command::is_command;
use engine::ports::Clock;
use tokio::time::Instant;

use crate::client::{Client, Events, Obeyed, Shown, Unanswered, Words};
use offers::{Deed, Offers};
use prompt::Prompt;
use screen::TOGETHER;
use telling::Telling;
pub use telling::{Ended, sent_words};

/// How the terminal is used.
#[derive(Clone, Copy)]
pub enum Reader<'a> {
    /// Interactive, with a prompt; the clock is for relative times.
    Person(&'a dyn Clock),
    /// Each line is answered before the next is read.
    Pipe,
}

/// Why the terminal stopped.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// A request to the assistant failed.
    #[error("{0}")]
    Unanswered(#[from] Unanswered),
    /// Reading or writing the terminal failed.
    #[error("the terminal cannot be read or written: {0}")]
    Terminal(#[from] io::Error),
}

/// Reply for work whose end was missed.
const ENDED_UNSEEN: &str =
    "it ended while i could not follow. `ollim-bot sessions tree` shows what came of it.";

/// Executes a command and waits for the work it starts. Returns the final text, `Err` for failed
/// work.
pub async fn obey(client: &Client, command: &str) -> Result<Result<String, String>, Stopped> {
    let mut events = client.events().await?;
    let turn = match client.command(command).await? {
        Obeyed::Told(text) if text.trim().is_empty() => return Ok(Ok(done_words(command).to_owned())),
        Obeyed::Told(text) => return Ok(Ok(plain(&text))),
        Obeyed::Begun(turn) => turn,
    };
    while let Some(Shown { name, data }) = events.next().await? {
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
    Err(Unanswered::Broken("it ended before the work did".to_owned()).into())
}

/// Returns the text for a finished command without a reply of its own. Not used in a chat, where
/// the effect is shown anyway.
fn done_words(command: &str) -> &'static str {
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
pub async fn once(
    client: &Client,
    words: &Words,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<Ended, Stopped> {
    let mut events = client.events().await?;
    let message = client.say(words).await?;
    let mut telling = Telling::of(message);
    loop {
        let Some(shown) = events.next().await? else {
            return Err(Unanswered::Broken("it ended before the answer did".to_owned()).into());
        };
        write(out, &telling.hear(&shown)).await?;
        out.flush().await?;
        match telling.ended() {
            None => {}
            Some(Ended::Unseen) => return read_later(client, &words.text, out).await,
            Some(ended) => return Ok(ended),
        }
    }
}

/// Number of entries searched for a missed answer.
const LOOKED_THROUGH: usize = 100;

/// Reads the answer to `text` from the conversation.
async fn read_later(
    client: &Client,
    text: &str,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<Ended, Stopped> {
    let found = client.get(&format!("/api/messages?limit={LOOKED_THROUGH}")).await?;
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
        Ok(Ended::Not("there is no answer to that; say it again.".to_owned()))
    } else {
        Ok(Ended::Answered)
    }
}

/// Chats until the end of the input.
pub async fn chat(
    client: &Client,
    reader: Reader<'_>,
    input: impl AsyncBufRead + Unpin,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Stopped> {
    let ended = match reader {
        Reader::Pipe => answer_lines(client, input.lines(), out).await,
        Reader::Person(clock) => talk(client, clock, input.lines(), out).await,
    };
    // Flushed before returning, because the process may end next.
    out.flush().await?;
    ended
}

async fn answer_lines(
    client: &Client,
    mut lines: Lines<impl AsyncBufRead + Unpin>,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Stopped> {
    while let Some(line) = lines.next_line().await? {
        let told = match (line.trim(), Words::reply(&line)) {
            ("", _) => continue,
            ("/quit", _) => return Ok(()),
            (_, Some(reply)) => once(client, &reply, out).await.map(Ended::why),
            (command, None) if is_command(command) => {
                obey(client, command).await.map(|obeyed| Some(obeyed.unwrap_or_else(|why| why)))
            }
            (_, None) => once(client, &line.as_str().into(), out).await.map(Ended::why),
        };
        match told {
            Ok(None) => {}
            Ok(Some(text)) | Err(Stopped::Unanswered(Unanswered::Refused(text))) => {
                write(out, &format!("{text}\n")).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Runs the chat for an interactive terminal without raw mode.
async fn talk(
    client: &Client,
    clock: &dyn Clock,
    mut lines: Lines<impl AsyncBufRead + Unpin>,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Stopped> {
    let mut events: Events = client.events().await?;
    let mut telling = Telling::of_all();
    let mut prompt = Prompt::default();
    let mut offers = Offers::default();
    write(out, &prompt.stand()).await?;
    loop {
        out.flush().await?;
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                prompt.answered();
                let deed = offers.of_line(&line, Instant::now()).cloned();
                match deed_or_words(client, deed, line.trim(), &mut telling).await? {
                    Said::Nothing => write(out, &prompt.stand()).await?,
                    Said::Sent | Said::Done => {}
                    Said::Told(text) => {
                        let text = plain(&text).replace('\n', "\n  ");
                        write(out, &format!("  {text}\n{}", prompt.stand())).await?;
                    }
                    Said::Leave => return Ok(()),
                }
            }
            shown = events.next() => {
                let shown = match shown {
                    Ok(Some(shown)) => shown,
                    Ok(None) => return Err(Unanswered::NotRunning.into()),
                    Err(silent) => {
                        let words = prompt.beside(&format!("\n  {silent}\n"));
                        write(out, &format!("{words}{}", prompt.stand())).await?;
                        continue;
                    }
                };
                prompt.follow(&shown);
                let ring = rings::hear(&shown, &mut offers, Instant::now(), &clock.now());
                let words = telling.hear(&shown) + &ring.map(|ring| ring.words).unwrap_or_default();
                write(out, &prompt.beside(&words.replace(TOGETHER, " "))).await?;
                let due = prompt.is_due(&shown, &words) && !telling.is_speaking();
                // An approval expects an answer.
                if telling.ended().is_some() || due || shown.name == "asked" {
                    write(out, &prompt.stand()).await?;
                }
            }
        }
    }
}

/// Executes the action of a shortcut, or submits the line.
async fn deed_or_words(
    client: &Client,
    deed: Option<Deed>,
    line: &str,
    telling: &mut Telling,
) -> Result<Said, Stopped> {
    let pressed = match deed {
        Some(Deed::Press(button)) => client.press(&button, rings::words_for(&button)).await,
        Some(Deed::When { what, .. }) => Ok(Some(format!("to when? say: move {what} to tomorrow 9"))),
        Some(Deed::Give(words)) => return said(client, &words, telling).await,
        Some(Deed::Undo) => client.undo().await,
        None => return said(client, line, telling).await,
    };
    match pressed {
        // The effect is shown as an event.
        Ok(None) => Ok(Said::Done),
        Ok(Some(text)) => Ok(Said::Told(text)),
        Err(error) => Ok(Said::Told(to_tell(error)?)),
    }
}

/// Returns the text of an error after which the chat can continue.
fn to_tell(error: Unanswered) -> Result<String, Unanswered> {
    match error {
        Unanswered::Refused(why) => Ok(why),
        Unanswered::Still(_) | Unanswered::Unsure(_) | Unanswered::Silent(_) => Ok(error.to_string()),
        Unanswered::NotRunning | Unanswered::Broken(_) => Err(error),
    }
}

/// Removes bold markup.
pub(crate) fn plain(text: &str) -> String {
    text.replace("**", "")
}

/// Result of a submitted line.
pub(crate) enum Said {
    Nothing,
    /// A message or work that will be answered.
    Sent,
    /// A command whose effect is shown as an event.
    Done,
    /// The reply text of a command.
    Told(String),
    Leave,
}

/// Sends `line` as a message or executes it as a command.
pub(crate) async fn said(client: &Client, line: &str, telling: &mut Telling) -> Result<Said, Stopped> {
    match line {
        "" => Ok(Said::Nothing),
        "/quit" => Ok(Said::Leave),
        line => match Words::reply(line) {
            Some(reply) => say(client, &reply, telling).await,
            None if is_command(line) => obeyed(client.command(line).await, telling),
            None => say(client, &line.into(), telling).await,
        },
    }
}

async fn say(client: &Client, words: &Words, telling: &mut Telling) -> Result<Said, Stopped> {
    telling.expect(&words.text);
    match client.say(words).await {
        Ok(_) => Ok(Said::Sent),
        Err(error) => {
            telling.unexpect();
            Ok(Said::Told(to_tell(error)?))
        }
    }
}

fn obeyed(obeyed: Result<Obeyed, Unanswered>, telling: &mut Telling) -> Result<Said, Stopped> {
    match obeyed {
        // Stopping is shown as an event.
        Ok(Obeyed::Told(text)) if text.is_empty() => Ok(Said::Done),
        Ok(Obeyed::Told(text)) => Ok(Said::Told(text)),
        Ok(Obeyed::Begun(turn)) => {
            telling.expect_work(turn);
            Ok(Said::Sent)
        }
        Err(error) => Ok(Said::Told(to_tell(error)?)),
    }
}

/// Writes text without control characters. All output goes through here.
async fn write(out: &mut (impl AsyncWrite + Unpin), words: &str) -> io::Result<()> {
    out.write_all(readable(words).as_bytes()).await
}

/// Removes control characters except newlines and tabs.
pub fn readable(words: &str) -> String {
    words.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
