//! One job, done now: by the assistant that runs, or by one in this process. It ends when the job has ended.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use domain::cost::Source;
use journal::disk::Disk;
use serde_json::{Value, json};
use surfaces::client::{Client, Events, Shown};
use surfaces::terminal;
use tokio::time::timeout;

use crate::chat::told_to_stop;
use crate::cli::Output;
use crate::commands::in_the_shell;
use crate::exit::Failed;
use crate::house::{Doors, House, SOCKET};
use crate::reach::runs;
use crate::settings::Settings;
use crate::voice::{note, print};

/// Does `job` now, waits for its end and tells what came of it: 0, if it was done, and 1, if it was not.
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
        said: Vec::new(),
    };
    let mut last = newest(client, job).await?;
    while is_loading(&last) {
        // Whatever happens, and if nothing does, it may have begun since.
        if let Ok(shown) = timeout(LOOKS_AGAIN, events.next()).await {
            shown?.ok_or_else(ended_before)?;
        }
        last = newest(client, job).await?;
        work.branch = last["branch"].as_str().map(str::to_owned);
        work.message = work.message.or(last["message"].as_u64());
    }
    let mut why = None;
    if matches!(last["state"].as_str(), Some("running" | "asked" | "done")) {
        // What is done by now has been told already, and is read from the stream.
        let mut end = work.follow(&mut events, job).await?;
        last = newest(client, job).await?;
        // The turn has ended, and the run goes on: it was told to report first, or its session is compacted.
        while end == TurnEnd::Finished && last["state"] == "running" {
            work.branch = last["branch"].as_str().map(str::to_owned).or(work.branch);
            if let Ok(followed) = timeout(LOOKS_AGAIN, work.follow(&mut events, job)).await {
                end = followed?;
            }
            last = newest(client, job).await?;
        }
        why = end.why();
    }
    Ok(tell(job, &work.said, &Outcome::of(&last, why), output))
}

/// What became of the newest time of `job`.
async fn newest(client: &Client, job: &Source) -> Result<Value, Failed> {
    let past = client.get(&format!("/api/schedule/past?job={job}&limit=1")).await?;
    Ok(past["past"][0].clone())
}

/// How often is looked whether it has begun.
const LOOKS_AGAIN: Duration = Duration::from_secs(2);

/// Whether its skills are loaded before it begins: nobody has tried it yet, so that it cannot have failed.
fn is_loading(occurrence: &Value) -> bool {
    occurrence["state"] == "again" && occurrence["tries"] == 0
}

/// The work that began, and what it said to the human.
struct Work {
    turn: Option<u64>,
    message: Option<u64>,
    /// Where it runs, if that was not known when it was asked for.
    branch: Option<String>,
    said: Vec<String>,
}

impl Work {
    /// Follows it to the end of its turn.
    async fn follow(&mut self, events: &mut Events, job: &Source) -> Result<TurnEnd, Failed> {
        while let Some(Shown { name, data }) = events.next().await? {
            match name.as_str() {
                "began" if self.is_its(&data) => self.turn = data["turn"].as_u64(),
                "sent" if data["entry"]["from"] == job.to_string() => {
                    self.said.push(terminal::sent_words(&data["entry"]));
                }
                "said" if self.is_answer(&data) => {
                    self.said.extend(data["entry"]["text"].as_str().map(str::to_owned));
                }
                "held" if self.is_its(&data) || self.message.is_some() => {
                    return Ok(TurnEnd::Waits(data["why"].as_str().map(str::to_owned)));
                }
                "ended" if self.is_its(&data) => return Ok(TurnEnd::of(data["why"].as_str())),
                // Something was missed, and it may have been the end.
                "reload" => return Ok(TurnEnd::Finished),
                _ => {}
            }
        }
        Err(ended_before())
    }

    /// Whether it is said on main in answer to our message: nobody else speaks there meanwhile.
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

/// How a turn of the work ended.
#[derive(Debug, PartialEq, Eq)]
enum TurnEnd {
    /// It was answered, or nobody saw the end of it.
    Finished,
    /// It was not, for this reason.
    Failed(String),
    /// It waits for something, for this reason.
    Waits(Option<String>),
}

impl TurnEnd {
    fn of(why: Option<&str>) -> Self {
        why.map_or(Self::Finished, |why| Self::Failed(why.to_owned()))
    }

    /// Why it did not come to a good end, if that is told.
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

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It was done; what there is to say of it.
    Done(String),
    /// It was not, in this state, for this reason.
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
    match output.json {
        true => print(&value.to_string()),
        false => said.iter().for_each(|words| print(words.trim_end())),
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

    #[test]
    fn only_its_own_end_ends_it() {
        let work = Work { turn: None, message: Some(3), branch: None, said: Vec::new() };
        assert!(work.is_its(&json!({ "turn": 9, "answers": 3 })));
        assert!(!work.is_its(&json!({ "turn": 3, "answers": 4 })));
        let aside = Work { turn: Some(3), message: None, branch: Some("run/1".to_owned()), said: Vec::new() };
        assert!(
            aside.is_its(&json!({ "turn": 9, "branch": "run/1" }))
                && aside.is_its(&json!({ "turn": 3 }))
                && !aside.is_its(&json!({ "turn": null, "answers": null }))
        );
    }
}
