//! Runs one job now, in the running daemon or in this process, and waits for its end.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use domain::cost::CostSource;
use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::{Client, EventStream, StreamEvent};
use surfaces::terminal;
use tokio::time::{Instant, timeout_at};

use crate::app::{Application, Mode, SOCKET};
use crate::chat::stop_signal;
use crate::cli::Output;
use crate::commands::with_shell_commands;
use crate::connection::is_running;
use crate::exit::CommandError;
use crate::printer::{note, print};
use crate::settings::Settings;

/// Runs `job`, waits for its end and prints the result. The exit code is 1 if it was not done.
pub async fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    job: &CostSource,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if is_running(&client).await? {
        return run_and_print(&client, job, output).await;
    }
    let house = Application::open(settings, disk, Mode::Local).await?;
    for notice in &house.notices {
        note(notice);
    }
    let ended = tokio::select! {
        ended = run_and_print(&house.client, job, output) => ended,
        () = stop_signal() => Err(CommandError::Failed("stopped.".to_owned())),
    };
    house.close().await;
    ended
}

async fn run_and_print(client: &Client, job: &CostSource, output: &Output) -> Result<ExitCode, CommandError> {
    let mut events = client.events().await?;
    let begun = client.post("/api/schedule/run", &json!({ "job": job.to_string() })).await;
    let begun = begun.map_err(|why| CommandError::Failed(with_shell_commands(&why.to_string())))?;
    let mut work = JobProgress {
        turn: begun["turn"].as_u64(),
        message: begun["message"].as_u64(),
        branch: None,
        has_begun: false,
        card: None,
        texts: Vec::new(),
    };
    let (last, why) = work.follow(client, &mut events, job).await?;
    Ok(print_outcome(job, &work.shown_texts(), &Outcome::of(&last, why), output))
}

/// Returns the newest occurrence of `job`.
async fn latest_occurrence(client: &Client, job: &CostSource) -> Result<Value, CommandError> {
    let past = client.get(&format!("/api/schedule/past?job={job}&limit=1")).await?;
    Ok(past["past"][0].clone())
}

/// Interval at which the state of the job is read besides its events.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Returns whether its skills are being loaded: it has not been tried yet, so it cannot have
/// failed.
fn is_loading(occurrence: &Value) -> bool {
    occurrence["state"] == "again" && occurrence["tries"] == 0
}

/// Returns whether its turn is running or still to come.
fn is_open(occurrence: &Value) -> bool {
    is_loading(occurrence) || matches!(occurrence["state"].as_str(), Some("running" | "asked"))
}

/// The job that was started, and what it showed to the user.
struct JobProgress {
    turn: Option<u64>,
    message: Option<u64>,
    /// Its branch, which may be known only later.
    branch: Option<String>,
    /// Set when its turn began; then the end of the turn will be shown too.
    has_begun: bool,
    /// The current text of a reminder's card.
    card: Option<String>,
    texts: Vec<String>,
}

impl JobProgress {
    /// Follows the job to its end. Returns its final state and why its last turn failed, if it did.
    async fn follow(
        &mut self,
        client: &Client,
        events: &mut EventStream,
        job: &CostSource,
    ) -> Result<(Value, Option<String>), CommandError> {
        let mut last = self.refresh(client, job).await?;
        if !is_open(&last) && last["state"] != "done" {
            return Ok((last, None));
        }
        let mut looks_at = Instant::now() + POLL_INTERVAL;
        // The end of a compaction after the turn sends no event; only polling shows it.
        let mut goes_on = false;
        loop {
            let end = match timeout_at(looks_at, events.next()).await {
                Ok(shown) => self.handle_event(&shown?.ok_or_else(daemon_stopped)?, job),
                Err(_) => None,
            };
            if self.needs_no_turn() {
                return Ok((self.refresh(client, job).await?, None));
            }
            let is_time = looks_at <= Instant::now();
            if end.is_none() && !is_time && !is_loading(&last) {
                continue;
            }
            let was_over = !is_open(&last);
            last = self.refresh(client, job).await?;
            match end {
                // The turn has ended, but the run continues: it must report first, or its session
                // is compacted.
                Some(TurnEnd::Finished) if last["state"] == "running" => goes_on = true,
                Some(end) => return Ok((last, end.reason())),
                // It ended without a turn, and all earlier events have been read.
                None if is_time && was_over && !is_open(&last) && (goes_on || !self.has_begun) => {
                    return Ok((last, None));
                }
                None => {}
            }
            if is_time {
                looks_at = Instant::now() + POLL_INTERVAL;
            }
        }
    }

    /// Reads the state of the job and the branch of its turn.
    async fn refresh(&mut self, client: &Client, job: &CostSource) -> Result<Value, CommandError> {
        let last = latest_occurrence(client, job).await?;
        self.branch = last["branch"].as_str().map(str::to_owned).or(self.branch.take());
        self.message = self.message.or(last["message"].as_u64());
        Ok(last)
    }

    /// Returns whether it ended at once: a card is shown, and no model is called.
    fn needs_no_turn(&self) -> bool {
        self.turn.is_none() && self.message.is_none() && self.card.is_some()
    }

    /// Handles an event. Returns how the turn ended, if the event is its end.
    fn handle_event(&mut self, shown: &StreamEvent, job: &CostSource) -> Option<TurnEnd> {
        let data = &shown.data;
        match shown.name.as_str() {
            "began" if self.concerns_job(data) => {
                self.turn = data["turn"].as_u64();
                self.has_begun = true;
            }
            "card" if matches!(job, CostSource::Reminder(id) if data["id"] == **id) => {
                self.card = data["said"].as_str().map(str::to_owned);
            }
            "sent" if data["entry"]["from"] == job.to_string() => {
                self.texts.push(terminal::sent_text(&data["entry"]));
            }
            "said" if self.is_answer(data) => {
                self.texts.extend(data["entry"]["text"].as_str().map(str::to_owned));
            }
            "held" if self.concerns_job(data) || self.message.is_some() => {
                return Some(TurnEnd::Blocked(data["why"].as_str().map(str::to_owned)));
            }
            "ended" if self.concerns_job(data) => return Some(TurnEnd::of(data["why"].as_str())),
            // Events were lost, and the end may be among them.
            "reload" => return Some(TurnEnd::Finished),
            _ => {}
        }
        None
    }

    /// Returns what the user was shown: the text of a reminder, and other text that does not repeat
    /// it.
    fn shown_texts(&self) -> Vec<String> {
        let card = self.card.iter();
        let beside = |words: &&String| self.card.as_ref().is_none_or(|card| !card.contains(words.trim()));
        card.chain(self.texts.iter().filter(beside)).cloned().collect()
    }

    /// Returns whether it is an answer to our message. Only one turn runs on main at a time.
    fn is_answer(&self, data: &Value) -> bool {
        let ours = self.message.is_some() && self.turn.is_some() && data["branch"] == "main";
        ours && data["entry"]["by"] == "assistant"
    }

    fn concerns_job(&self, data: &Value) -> bool {
        let is = |key: &str, number: Option<u64>| number.is_some() && data[key].as_u64() == number;
        let there = self.branch.as_deref().is_some_and(|branch| data["branch"] == branch);
        there || is("turn", self.turn) || is("answers", self.message)
    }
}

/// The end of a turn of the job.
#[derive(Debug, PartialEq, Eq)]
enum TurnEnd {
    /// Answered, or its end was not seen.
    Finished,
    /// The reason.
    Failed(String),
    /// Blocked until something else happens; the reason, if known.
    Blocked(Option<String>),
}

impl TurnEnd {
    fn of(why: Option<&str>) -> Self {
        why.map_or(Self::Finished, |why| Self::Failed(why.to_owned()))
    }

    /// Returns why it did not finish, if that is known.
    fn reason(self) -> Option<String> {
        match self {
            Self::Finished => None,
            Self::Failed(why) => Some(why),
            Self::Blocked(why) => why,
        }
    }
}

fn daemon_stopped() -> CommandError {
    CommandError::Failed("the assistant ended before the job did; it goes on at the next start.".to_owned())
}

/// The result of the job.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The note of the occurrence.
    Done(String),
    /// The final state and the reason.
    NotDone(String, String),
}

impl Outcome {
    fn of(last: &Value, told: Option<String>) -> Self {
        let word = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
        let why = [word("why"), told.unwrap_or_default()].into_iter().find(|why| !why.is_empty());
        let why = why.unwrap_or_default();
        let again: String = word("again").chars().skip(11).take(5).collect();
        match word("state").as_str() {
            "done" => Self::Done(why),
            "again" => {
                Self::NotDone("again".to_owned(), format!("it failed and is tried again at {again}: {why}"))
            }
            state @ ("running" | "asked") => Self::NotDone(state.to_owned(), format!("it goes on. {why}")),
            state => Self::NotDone(state.to_owned(), why),
        }
    }
}

fn print_outcome(job: &CostSource, said: &[String], outcome: &Outcome, output: &Output) -> ExitCode {
    let job = job.to_string();
    let (code, value, words) = match outcome {
        Outcome::Done(why) => {
            let value = json!({ "ok": true, "job": job, "state": "done", "said": said, "why": why });
            let quiet = if said.is_empty() { "it is done, and there was nothing to say." } else { "" };
            (ExitCode::SUCCESS, value, if why.is_empty() { quiet } else { why })
        }
        Outcome::NotDone(state, why) => {
            let error = json!({ "code": 1, "kind": "failed", "message": why });
            let value = json!({ "ok": false, "job": job, "state": state, "said": said, "error": error });
            (ExitCode::FAILURE, value, why.as_str())
        }
    };
    if output.json {
        print(&value.to_string())
    } else {
        said.iter().for_each(|words| print(words.trim_end()))
    }
    match outcome {
        Outcome::Done(_) if output.json || words.is_empty() => {}
        Outcome::Done(_) => note(words),
        Outcome::NotDone(..) => note(&format!("error: {words}")),
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_job_shows_reason_and_next_try() {
        let of = |state: &str, why: &str, again: Option<&str>, told: Option<&str>| {
            let last = json!({ "state": state, "why": why, "again": again });
            Outcome::of(&last, told.map(str::to_owned))
        };
        let not = |state: &str, why: &str| Outcome::NotDone(state.to_owned(), why.to_owned());
        assert_eq!(of("done", "", None, None), Outcome::Done(String::new()));
        assert_eq!(of("failed", "it broke", None, Some("it broke.")), not("failed", "it broke"));
        assert_eq!(
            of("again", "", Some("2026-11-16T10:05:00+01:00"), Some("no answer")),
            not("again", "it failed and is tried again at 10:05: no answer")
        );
        assert_eq!(
            of("asked", "", None, Some("a key is needed")),
            not("asked", "it goes on. a key is needed")
        );
    }

    fn progress(turn: Option<u64>, message: Option<u64>) -> JobProgress {
        JobProgress { turn, message, branch: None, has_begun: false, card: None, texts: Vec::new() }
    }

    #[test]
    fn reminder_text_is_printed_once() {
        let tea: CostSource = "reminder:tea".parse().unwrap();
        let mut work = progress(None, Some(3));
        let mut shown = |name: &str, data: Value| {
            let shown = StreamEvent { name: name.to_owned(), data };
            (work.handle_event(&shown, &tea), work.shown_texts())
        };
        assert_eq!(shown("card", json!({ "id": "bread", "said": "bake" })), (None, Vec::new()));
        assert_eq!(shown("card", json!({ "id": "tea", "said": "make tea" })).1, ["make tea"]);
        shown("began", json!({ "turn": 9, "answers": 3 }));
        let said = |text: &str| json!({ "branch": "main", "entry": { "by": "assistant", "text": text } });
        assert_eq!(shown("said", said("make tea")).1, ["make tea"], "the entry of the card");
        assert_eq!(shown("said", said("Tea time!")).1, ["make tea", "Tea time!"]);
        assert_eq!(shown("ended", json!({ "answers": 3 })).0, Some(TurnEnd::Finished));
    }

    #[test]
    fn only_events_of_the_job_are_matched() {
        let work = progress(None, Some(3));
        assert!(work.concerns_job(&json!({ "turn": 9, "answers": 3 })));
        assert!(!work.concerns_job(&json!({ "turn": 3, "answers": 4 })));
        let aside = JobProgress { branch: Some("run/1".to_owned()), ..progress(Some(3), None) };
        assert!(
            aside.concerns_job(&json!({ "turn": 9, "branch": "run/1" }))
                && aside.concerns_job(&json!({ "turn": 3 }))
                && !aside.concerns_job(&json!({ "turn": null, "answers": null }))
        );
    }
}
