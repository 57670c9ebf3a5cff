//! Runs one job now, in the running daemon or in this process, and waits for its end.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use domain::cost::Source;
use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::{Client, Events, Shown};
use surfaces::terminal;
use tokio::time::{Instant, timeout_at};

use crate::chat::told_to_stop;
use crate::cli::Output;
use crate::commands::in_the_shell;
use crate::exit::Failed;
use crate::house::{Doors, House, SOCKET};
use crate::reach::runs;
use crate::settings::Settings;
use crate::voice::{note, print};

/// Runs `job`, waits for its end and prints the result. The exit code is 1 if it was not done.
pub async fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    job: &Source,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    if runs(&client).await? {
        return done(&client, job, output).await;
    }
    let house = House::open(settings, disk, Doors::Local).await?;
    for notice in &house.notices {
        note(notice);
    }
    let ended = tokio::select! {
        ended = done(&house.client, job, output) => ended,
        () = told_to_stop() => Err(Failed::NotDone("stopped.".to_owned())),
    };
    house.close().await;
    ended
}

async fn done(client: &Client, job: &Source, output: &Output) -> Result<ExitCode, Failed> {
    let mut events = client.events().await?;
    let begun = client.post("/api/schedule/run", &json!({ "job": job.to_string() })).await;
    let begun = begun.map_err(|why| Failed::NotDone(in_the_shell(&why.to_string())))?;
    let mut work = Work {
        turn: begun["turn"].as_u64(),
        message: begun["message"].as_u64(),
        branch: None,
        has_begun: false,
        card: None,
        said: Vec::new(),
    };
    let (last, why) = work.follow(client, &mut events, job).await?;
    Ok(tell(job, &work.told(), &Outcome::of(&last, why), output))
}

/// Returns the newest occurrence of `job`.
async fn newest(client: &Client, job: &Source) -> Result<Value, Failed> {
    let past = client.get(&format!("/api/schedule/past?job={job}&limit=1")).await?;
    Ok(past["past"][0].clone())
}

/// Interval at which the state of the job is read besides its events.
const LOOKS_AGAIN: Duration = Duration::from_secs(2);

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
struct Work {
    turn: Option<u64>,
    message: Option<u64>,
    /// Its branch, which may be known only later.
    branch: Option<String>,
    /// Set when its turn began; then the end of the turn will be shown too.
    has_begun: bool,
    /// The current text of a reminder's card.
    card: Option<String>,
    said: Vec<String>,
}

impl Work {
    /// Follows the job to its end. Returns its final state and why its last turn failed, if it did.
    async fn follow(
        &mut self,
        client: &Client,
        events: &mut Events,
        job: &Source,
    ) -> Result<(Value, Option<String>), Failed> {
        let mut last = self.look(client, job).await?;
        if !is_open(&last) && last["state"] != "done" {
            return Ok((last, None));
        }
        let mut looks_at = Instant::now() + LOOKS_AGAIN;
        // The end of a compaction after the turn sends no event; only polling shows it.
        let mut goes_on = false;
        loop {
            let end = match timeout_at(looks_at, events.next()).await {
                Ok(shown) => self.take(&shown?.ok_or_else(ended_before)?, job),
                Err(_) => None,
            };
            if self.needs_no_turn() {
                return Ok((self.look(client, job).await?, None));
            }
            let is_time = looks_at <= Instant::now();
            if end.is_none() && !is_time && !is_loading(&last) {
                continue;
            }
            let was_over = !is_open(&last);
            last = self.look(client, job).await?;
            match end {
                // The turn has ended, but the run continues: it must report first, or its session
                // is compacted.
                Some(TurnEnd::Finished) if last["state"] == "running" => goes_on = true,
                Some(end) => return Ok((last, end.why())),
                // It ended without a turn, and all earlier events have been read.
                None if is_time && was_over && !is_open(&last) && (goes_on || !self.has_begun) => {
                    return Ok((last, None));
                }
                None => {}
            }
            if is_time {
                looks_at = Instant::now() + LOOKS_AGAIN;
            }
        }
    }

    /// Reads the state of the job and the branch of its turn.
    async fn look(&mut self, client: &Client, job: &Source) -> Result<Value, Failed> {
        let last = newest(client, job).await?;
        self.branch = last["branch"].as_str().map(str::to_owned).or(self.branch.take());
        self.message = self.message.or(last["message"].as_u64());
        Ok(last)
    }

    /// Returns whether it ended at once: a card is shown, and no model is called.
    fn needs_no_turn(&self) -> bool {
        self.turn.is_none() && self.message.is_none() && self.card.is_some()
    }

    /// Handles an event. Returns how the turn ended, if the event is its end.
    fn take(&mut self, shown: &Shown, job: &Source) -> Option<TurnEnd> {
        let data = &shown.data;
        match shown.name.as_str() {
            "began" if self.is_its(data) => {
                self.turn = data["turn"].as_u64();
                self.has_begun = true;
            }
            "card" if matches!(job, Source::Reminder(id) if data["id"] == **id) => {
                self.card = data["said"].as_str().map(str::to_owned);
            }
            "sent" if data["entry"]["from"] == job.to_string() => {
                self.said.push(terminal::sent_words(&data["entry"]));
            }
            "said" if self.is_answer(data) => {
                self.said.extend(data["entry"]["text"].as_str().map(str::to_owned));
            }
            "held" if self.is_its(data) || self.message.is_some() => {
                return Some(TurnEnd::Waits(data["why"].as_str().map(str::to_owned)));
            }
            "ended" if self.is_its(data) => return Some(TurnEnd::of(data["why"].as_str())),
            // Events were lost, and the end may be among them.
            "reload" => return Some(TurnEnd::Finished),
            _ => {}
        }
        None
    }

    /// Returns what the user was shown: the text of a reminder, and other text that does not repeat
    /// it.
    fn told(&self) -> Vec<String> {
        let card = self.card.iter();
        let beside = |words: &&String| self.card.as_ref().is_none_or(|card| !card.contains(words.trim()));
        card.chain(self.said.iter().filter(beside)).cloned().collect()
    }

    /// Returns whether it is an answer to our message. Only one turn runs on main at a time.
    fn is_answer(&self, data: &Value) -> bool {
        let ours = self.message.is_some() && self.turn.is_some() && data["branch"] == "main";
        ours && data["entry"]["by"] == "assistant"
    }

    fn is_its(&self, data: &Value) -> bool {
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
    Waits(Option<String>),
}

impl TurnEnd {
    fn of(why: Option<&str>) -> Self {
        why.map_or(Self::Finished, |why| Self::Failed(why.to_owned()))
    }

    /// Returns why it did not finish, if that is known.
    fn why(self) -> Option<String> {
        match self {
            Self::Finished => None,
            Self::Failed(why) => Some(why),
            Self::Waits(why) => why,
        }
    }
}

fn ended_before() -> Failed {
    Failed::NotDone("the assistant ended before the job did; it goes on at the next start.".to_owned())
}

/// The result of the job.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The note of the occurrence.
    Done(String),
    /// The final state and the reason.
    Not(String, String),
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
                Self::Not("again".to_owned(), format!("it failed and is tried again at {again}: {why}"))
            }
            state @ ("running" | "asked") => Self::Not(state.to_owned(), format!("it goes on. {why}")),
            state => Self::Not(state.to_owned(), why),
        }
    }
}

fn tell(job: &Source, said: &[String], outcome: &Outcome, output: &Output) -> ExitCode {
    let job = job.to_string();
    let (code, value, words) = match outcome {
        Outcome::Done(why) => {
            let value = json!({ "ok": true, "job": job, "state": "done", "said": said, "why": why });
            let quiet = if said.is_empty() { "it is done, and there was nothing to say." } else { "" };
            (ExitCode::SUCCESS, value, if why.is_empty() { quiet } else { why })
        }
        Outcome::Not(state, why) => {
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
        Outcome::Not(..) => note(&format!("error: {words}")),
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_done_says_why_and_what_comes_of_it() {
        let of = |state: &str, why: &str, again: Option<&str>, told: Option<&str>| {
            let last = json!({ "state": state, "why": why, "again": again });
            Outcome::of(&last, told.map(str::to_owned))
        };
        let not = |state: &str, why: &str| Outcome::Not(state.to_owned(), why.to_owned());
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

    fn begun(turn: Option<u64>, message: Option<u64>) -> Work {
        Work { turn, message, branch: None, has_begun: false, card: None, said: Vec::new() }
    }

    #[test]
    fn the_words_of_a_reminder_are_told_once() {
        let tea: Source = "reminder:tea".parse().unwrap();
        let mut work = begun(None, Some(3));
        let mut shown = |name: &str, data: Value| {
            let shown = Shown { name: name.to_owned(), data };
            (work.take(&shown, &tea), work.told())
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
    fn only_its_own_end_ends_it() {
        let work = begun(None, Some(3));
        assert!(work.is_its(&json!({ "turn": 9, "answers": 3 })));
        assert!(!work.is_its(&json!({ "turn": 3, "answers": 4 })));
        let aside = Work { branch: Some("run/1".to_owned()), ..begun(Some(3), None) };
        assert!(
            aside.is_its(&json!({ "turn": 9, "branch": "run/1" }))
                && aside.is_its(&json!({ "turn": 3 }))
                && !aside.is_its(&json!({ "turn": null, "answers": null }))
        );
    }
}
