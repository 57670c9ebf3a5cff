//! What goes over the wire: the JSON that the page and the command line read and write.

mod approval;
mod devices;
mod embed;

use domain::assistant::{Aside, Asking, Compaction, Known, Shown};
use domain::conversation::{Block, Entry, Reach, Said, Text};
use domain::tool::{Outcome, ToolResult};
use domain::turn::Ending;
use serde::{Deserialize, Serialize};

use self::approval::{AnsweredWire, ApprovalWire, word};
use self::embed::EmbedWire;
use super::vitals::Health;
use crate::stage::Scene;
pub use devices::{DeviceList, DeviceName, DeviceWire};

/// The most characters of a tool's input or result that are sent.
const TOOL_CHARS: usize = 4_000;

/// Something went wrong.
#[derive(Serialize)]
pub struct Failed {
    pub ok: bool,
    pub error: Problem,
}

/// What, and in which words.
#[derive(Serialize)]
pub struct Problem {
    pub kind: &'static str,
    pub message: String,
}

/// It is done.
#[derive(Serialize)]
pub struct Done {
    pub ok: bool,
}

/// A pairing code, on its way in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairWith {
    pub code: String,
}

/// A new link to pair a browser with.
#[derive(Serialize)]
pub struct PairLink {
    pub ok: bool,
    pub link: String,
}

/// Words of the human, on their way in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    #[serde(default)]
    pub text: String,
    /// Base64.
    #[serde(default)]
    pub images: Vec<String>,
}

/// The message is on disk.
#[derive(Serialize)]
pub struct Heard {
    pub ok: bool,
    pub message: u64,
}

/// A command, on its way in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub text: String,
}

/// What came of a command: words, or the number of the work that began.
#[derive(Serialize)]
pub struct Obeyed {
    pub ok: bool,
    pub text: Option<String>,
    pub turn: Option<u64>,
}

/// Nothing, on its way in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Which part of the conversation is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub before: Option<u64>,
    pub limit: Option<usize>,
}

/// A part of the conversation, oldest first.
#[derive(Serialize)]
pub struct Messages {
    pub messages: Vec<EntryWire>,
    pub more: bool,
}

/// One thing said.
#[derive(Serialize)]
pub struct EntryWire {
    pub id: u64,
    pub parent: Option<u64>,
    pub at: String,
    #[serde(flatten)]
    pub said: SaidWire,
}

/// What was said, by whom.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum SaidWire {
    Human { text: String, images: usize },
    Assistant { text: String, whole: bool, calls: Vec<CallWire> },
    Tools { results: Vec<ResultWire> },
    Summary { text: String },
    Recalled { summary: u64 },
}

/// A call of a tool.
#[derive(Serialize)]
pub struct CallWire {
    pub id: String,
    pub tool: String,
    pub input: String,
}

/// What came of a call.
#[derive(Serialize)]
pub struct ResultWire {
    pub call: String,
    /// `done`, `failed` or `denied`.
    pub outcome: &'static str,
    pub text: String,
    pub embed: Option<EmbedWire>,
}

impl From<&Entry> for EntryWire {
    fn from(entry: &Entry) -> Self {
        let said = SaidWire::from(&entry.said);
        Self { id: entry.id.0, parent: entry.parent.map(|id| id.0), at: entry.at.to_string(), said }
    }
}

impl From<&Said> for SaidWire {
    fn from(said: &Said) -> Self {
        match said {
            Said::Human(heard) => Self::Human { text: heard.text.clone(), images: heard.images.len() },
            Said::Assistant(blocks, reach) => Self::Assistant {
                text: blocks.text(),
                whole: match reach {
                    Reach::Whole => true,
                    Reach::Cut => false,
                },
                calls: blocks.iter().filter_map(call).collect(),
            },
            Said::Tools(results) => Self::Tools { results: results.iter().map(result).collect() },
            Said::Summary(text) => Self::Summary { text: text.clone() },
            Said::Recalled(summary) => Self::Recalled { summary: summary.0 },
        }
    }
}

fn call(block: &Block) -> Option<CallWire> {
    match block {
        Block::Call(call) => {
            Some(CallWire { id: call.id.clone(), tool: call.name.clone(), input: shortened(&call.input.0) })
        }
        Block::Text(_) | Block::Opaque(_) => None,
    }
}

fn result(result: &ToolResult) -> ResultWire {
    let (outcome, embed) = match &result.outcome {
        Outcome::Done => ("done", None),
        Outcome::Shown(embed) => ("done", Some(embed.into())),
        Outcome::Failed => ("failed", None),
        Outcome::Denied => ("denied", None),
    };
    ResultWire { call: result.call.clone(), outcome, text: shortened(&result.text), embed }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TOOL_CHARS) {
        Some((end, _)) => format!("{}… ({} characters in all)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

/// What goes on right now, for who has just come.
#[derive(Serialize)]
pub struct SceneWire {
    pub running: Vec<RunningWire>,
    pub compacting: Option<CompactingWire>,
    pub approvals: Vec<ApprovalWire>,
    pub fork: Option<ForkWire>,
    pub held: Option<String>,
}

/// A side conversation that is open.
#[derive(Serialize)]
pub struct ForkWire {
    pub branch: String,
    pub topic: Option<String>,
}

/// A compaction that goes on.
#[derive(Serialize)]
pub struct CompactingWire {
    pub turn: u64,
    pub tokens: Option<u64>,
}

/// A turn that goes on.
#[derive(Serialize)]
pub struct RunningWire {
    pub turn: u64,
    pub branch: String,
    pub answers: u64,
    pub text: String,
    pub tool: Option<String>,
    pub doing: Option<&'static str>,
}

impl From<Scene> for SceneWire {
    fn from(scene: Scene) -> Self {
        let running = scene.running.into_iter().map(|(turn, run)| RunningWire {
            turn: turn.0,
            branch: run.branch.to_string(),
            answers: run.answers.0,
            text: run.words,
            doing: run.tool.as_ref().map(|(_, doing)| word(*doing)),
            tool: run.tool.map(|(tool, _)| tool),
        });
        let approvals = scene.approvals.values().map(ApprovalWire::from).collect();
        let compacting = scene.compacting.map(|(turn, tokens)| CompactingWire { turn: turn.0, tokens });
        let fork = scene.fork.map(|(branch, topic)| ForkWire { branch: branch.to_string(), topic });
        let held = scene.held.into_values().next();
        Self { running: running.collect(), compacting, approvals, fork, held }
    }
}

/// Something that was shown. Its name is the name of the event.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ShownWire {
    Said { branch: String, entry: EntryWire },
    Began { turn: u64, branch: String, answers: u64 },
    Delta { turn: u64, text: String },
    Working { turn: u64, tool: String, doing: &'static str },
    Asked(ApprovalWire),
    Answered(AnsweredWire),
    Waiting { turn: u64, seconds: u64 },
    Ended { turn: u64, branch: String, answers: u64, how: &'static str, why: Option<String> },
    Compacting { turn: u64, branch: String, tokens: Option<u64> },
    Compacted { turn: u64, branch: String, done: bool, text: String },
    Held { turn: u64, branch: String, newest: u64, first: bool, why: String },
    Undone { branch: String, summary: u64 },
    Forked { branch: String, topic: Option<String> },
    Unforked { branch: String, why: &'static str, text: String },
    Moved { why: &'static str },
    Notice { text: String },
}

impl ShownWire {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Said { .. } => "said",
            Self::Began { .. } => "began",
            Self::Delta { .. } => "delta",
            Self::Working { .. } => "working",
            Self::Asked(_) => "asked",
            Self::Answered(_) => "answered",
            Self::Waiting { .. } => "waiting",
            Self::Ended { .. } => "ended",
            Self::Compacting { .. } => "compacting",
            Self::Compacted { .. } => "compacted",
            Self::Held { .. } => "held",
            Self::Undone { .. } => "undone",
            Self::Forked { .. } => "forked",
            Self::Unforked { .. } => "unforked",
            Self::Moved { .. } => "moved",
            Self::Notice { .. } => "notice",
        }
    }
}

impl From<&Shown> for ShownWire {
    fn from(shown: &Shown) -> Self {
        match shown {
            Shown::Said { branch, entry } => Self::Said { branch: branch.to_string(), entry: entry.into() },
            Shown::Began { turn, branch, answers } => {
                Self::Began { turn: turn.0, branch: branch.to_string(), answers: answers.0 }
            }
            Shown::Delta { turn, text } => Self::Delta { turn: turn.0, text: text.clone() },
            Shown::Working { turn, tool, doing } => {
                Self::Working { turn: turn.0, tool: tool.clone(), doing: word(*doing) }
            }
            Shown::Approval(Asking::Open(approval)) => Self::Asked(approval.into()),
            Shown::Approval(Asking::Closed(approval, closed)) => {
                Self::Answered(AnsweredWire::new(approval, closed))
            }
            Shown::Waiting { turn, time } => Self::Waiting { turn: turn.0, seconds: time.as_secs().max(1) },
            Shown::Ended { turn, branch, answers, ending } => {
                let (how, why) = match ending {
                    Ending::Finished => ("finished", None),
                    Ending::Interrupted => ("interrupted", None),
                    Ending::Failed(failure) => ("failed", Some(failure.to_string())),
                };
                Self::Ended { turn: turn.0, branch: branch.to_string(), answers: answers.0, how, why }
            }
            Shown::Compaction(Compaction::Began { turn, branch, tokens }) => {
                Self::Compacting { turn: turn.0, branch: branch.to_string(), tokens: *tokens }
            }
            Shown::Compaction(Compaction::Ended { turn, branch, outcome }) => Self::Compacted {
                turn: turn.0,
                branch: branch.to_string(),
                done: outcome.is_ok(),
                text: outcome.clone().unwrap_or_else(|why| why),
            },
            Shown::Held { turn, branch, newest, known, why } => Self::Held {
                turn: turn.0,
                branch: branch.to_string(),
                newest: newest.0,
                first: *known == Known::Unknown,
                why: why.to_string(),
            },
            Shown::Compaction(Compaction::Undone { branch, summary }) => {
                Self::Undone { branch: branch.to_string(), summary: summary.0 }
            }
            Shown::Fork(Aside::Began { branch, topic }) => {
                Self::Forked { branch: branch.to_string(), topic: topic.clone() }
            }
            Shown::Fork(Aside::Ended { branch, why, text }) => {
                Self::Unforked { branch: branch.to_string(), why: why.as_str(), text: text.clone() }
            }
            Shown::Moved(why) => Self::Moved { why: why.as_str() },
            Shown::Notice(text) => Self::Notice { text: text.clone() },
        }
    }
}

/// How the assistant is.
#[derive(Serialize)]
pub struct HealthWire {
    pub ok: bool,
    pub version: String,
    pub pid: u32,
    pub brain: String,
    pub zone: String,
    pub data_dir: String,
    pub page: String,
    pub session: Option<String>,
    pub notices: Vec<String>,
}

impl From<Health> for HealthWire {
    fn from(health: Health) -> Self {
        Self {
            ok: true,
            version: health.version,
            pid: health.pid,
            brain: health.brain,
            zone: health.zone,
            data_dir: health.data_dir,
            page: health.page,
            session: health.session,
            notices: health.notices,
        }
    }
}
