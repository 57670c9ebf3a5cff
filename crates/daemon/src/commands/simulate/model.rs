//! The model of a simulation, which follows a script.
//!
//! A routine without a script counts as done; a reminder without one is answered by the offline
//! model, so that its own text is delivered.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, EntryContent, Json, Usage};
use domain::failure::Failure;
use domain::tool::ToolCall;
use domain::turn::{ModelReply, StopReason};
use engine::ports::{Model, StreamSinkRef};
use engine::simulation::SimClock;
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use models::offline::OfflineModel;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::exit::CommandError;

/// Additional help text of the command.
pub const HELP: &str = "\
examples:
  ollim-bot simulate --from 2026-03-27 --to 2026-04-03
  ollim-bot simulate --from 2026-03-29T00:00 --to 2026-03-29T12:00 --json

Nothing of the data directory is changed, and no model is asked: a routine without a script is taken as done.

A script is one JSON object. For each job it lists runs, and for each run what the model does in it, in order:
  {\"routine:mail\": [[{\"ping\": \"two mails\", \"critical\": true}, {\"report\": \"two mails\"}], []]}
The steps: {\"say\": TEXT}, {\"ping\": TEXT, \"critical\": BOOL}, {\"report\": TEXT}, {\"follow_up\": MINUTES},
{\"takes\": \"45m\"}, {\"fail\": TEXT}. After its last run a job begins again with its first.";

/// The runs of each job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Script(BTreeMap<String, Vec<Vec<Step>>>);

/// One action of the model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Step {
    /// Answers with this text.
    Say { say: String },
    /// Pings the user.
    Ping {
        ping: String,
        #[serde(default)]
        critical: bool,
    },
    /// Leaves an update for main.
    Report { report: String },
    /// Schedules a follow-up.
    FollowUp { follow_up: u32 },
    /// Lets time pass.
    Takes {
        #[serde(deserialize_with = "time")]
        takes: Duration,
    },
    /// Fails.
    Fail { fail: String },
}

impl Script {
    pub fn read(path: &Path) -> Result<Self, CommandError> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| CommandError::Usage(format!("--script: {name} cannot be read ({error}).")))?;
        serde_json::from_str(&text)
            .map_err(|error| CommandError::Usage(format!("--script: {name} is no script ({error}). `ollim-bot simulate --help` says how one is written.")))
    }
}

/// Reads a duration such as `45m`.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let time = text.parse::<SignedDuration>().map_err(D::Error::custom)?;
    Ok(time.unsigned_abs())
}

/// A model that follows a script.
pub struct ScriptedModel {
    script: Script,
    clock: Arc<SimClock>,
    offline: OfflineModel,
    progress: Mutex<ScriptProgress>,
}

/// The progress of the script.
#[derive(Default)]
struct ScriptProgress {
    /// The number of starts of each job.
    runs: BTreeMap<String, usize>,
    calls: u64,
}

impl ScriptedModel {
    /// Creates a model that follows `script` on `clock`.
    pub fn new(script: Script, clock: Arc<SimClock>) -> Self {
        Self { script, clock, offline: OfflineModel, progress: Mutex::default() }
    }

    /// Returns the next action of `job` after `spoken` actions in this run, and the time before it;
    /// `None` at the end of the run.
    fn next_step(&self, job: &str, spoken: usize) -> (Duration, Option<Step>) {
        let Some(runs) = self.script.0.get(job).filter(|runs| !runs.is_empty()) else {
            return (Duration::ZERO, None);
        };
        let mut begun = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let count = begun.runs.entry(job.to_owned()).or_default();
        if spoken == 0 {
            *count += 1;
        }
        let mut time = Duration::ZERO;
        let mut before = 0;
        for step in &runs[count.saturating_sub(1) % runs.len()] {
            match step {
                Step::Takes { takes } if before == spoken => time += *takes,
                Step::Takes { .. } => {}
                step if before == spoken => return (time, Some(step.clone())),
                Step::Say { .. }
                | Step::Ping { .. }
                | Step::Report { .. }
                | Step::FollowUp { .. }
                | Step::Fail { .. } => before += 1,
            }
        }
        (time, None)
    }

    fn call(&self, name: &str, input: &Value) -> ModelReply {
        let mut begun = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        begun.calls += 1;
        let id = format!("simulated-{}", begun.calls);
        let name = name.to_owned();
        let input = Json(input.to_string());
        ModelReply {
            blocks: vec![Block::Call(ToolCall { id, name, input })],
            stop_reason: StopReason::Tools,
            usage: Usage::default(),
        }
    }

    async fn answer(&self, context: &Context, listener: StreamSinkRef<'_>) -> Result<ModelReply, Failure> {
        let Some((job, spoken)) = job_of(context) else { return self.offline.reply(context, listener).await };
        let (time, step) = self.next_step(&job, spoken);
        if !time.is_zero() {
            self.clock.sleep(time).await;
        }
        match step {
            Some(Step::Ping { ping, critical }) => {
                Ok(self.call("ping_user", &json!({ "message": ping, "critical": critical })))
            }
            Some(Step::Report { report }) => Ok(self.call("report_updates", &json!({ "message": report }))),
            Some(Step::FollowUp { follow_up }) => {
                Ok(self.call("follow_up_chain", &json!({ "minutes_from_now": follow_up })))
            }
            Some(Step::Fail { fail }) => Err(Failure::VendorError(fail)),
            Some(Step::Say { say }) => Ok(text_reply(&say, listener)),
            None if job.starts_with("reminder:") && !self.script.0.contains_key(&job) => {
                self.offline.reply(context, listener).await
            }
            Some(Step::Takes { .. }) | None => Ok(text_reply("done.", listener)),
        }
    }
}

fn text_reply(text: &str, listener: StreamSinkRef<'_>) -> ModelReply {
    listener.text(text);
    ModelReply {
        blocks: vec![Block::Text(text.to_owned())],
        stop_reason: StopReason::Finished,
        usage: Usage::default(),
    }
}

/// Returns the job that `context` is about, and how often the model has replied since its prompt.
fn job_of(context: &Context) -> Option<(String, usize)> {
    let mut spoken = 0;
    for said in context.entries.iter().rev() {
        match said.as_ref() {
            EntryContent::User(heard) => {
                if let Some(job) = job_tag(&heard.preface) {
                    return Some((job, spoken));
                }
            }
            EntryContent::Assistant(..) => spoken += 1,
            EntryContent::Tools(_) | EntryContent::Summary(_) | EntryContent::SummaryRecalled(_) => {}
        }
    }
    None
}

/// Finds the tag of a job in a prompt: `[routine-bg:mail]` is the tag of `routine:mail`.
fn job_tag(words: &str) -> Option<String> {
    ["routine-bg:", "routine:", "reminder-bg:", "reminder:"].into_iter().find_map(|kind| {
        let (_, rest) = words.split_once(&format!("[{kind}"))?;
        let (id, _) = rest.split_once(']')?;
        Some(format!("{}:{id}", kind.trim_end_matches(':').trim_end_matches("-bg")))
    })
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "simulated"
    }

    fn is_free(&self) -> bool {
        true
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        Box::pin(self.answer(context, listener))
    }
}
