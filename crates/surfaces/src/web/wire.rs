//! JSON types of the API shared by the page and the command line.

mod approval;
mod card;
mod devices;
mod embed;
mod shown;

use domain::conversation::{Block, Entry, Reach, Said, Text};
use domain::cost::Source;
use domain::tool::{Outcome, Showing, ToolResult};
use serde::{Deserialize, Serialize};

use self::embed::EmbedWire;
use super::vitals::Health;
pub use card::CardWire;
pub use devices::{DeviceList, DeviceName, DeviceWire};
pub use shown::{SceneWire, ShownWire};

/// How full the context window is.
#[derive(Serialize)]
pub struct ContextWire {
    /// Tokens of the last call; null before the first one.
    pub tokens: Option<u64>,
    /// Size of the context window in tokens.
    pub limit: u64,
    /// Number of tokens at which the conversation is compacted.
    pub compacts: u64,
}

/// Maximum length of a tool's input or result in characters.
const TOOL_CHARS: usize = 4_000;

/// Maximum length of one text in a list of entries in characters.
const LISTED_CHARS: usize = 100_000;

/// Error response.
#[derive(Serialize)]
pub struct Failed {
    pub ok: bool,
    pub error: Problem,
}

#[derive(Serialize)]
pub struct Problem {
    pub kind: &'static str,
    pub message: String,
}

#[derive(Serialize)]
pub struct Done {
    pub ok: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairWith {
    pub code: String,
}

#[derive(Serialize)]
pub struct PairLink {
    pub ok: bool,
    pub link: String,
}

/// Request to send a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    #[serde(default)]
    pub text: String,
    /// Base64.
    #[serde(default)]
    pub images: Vec<String>,
    /// Number of the message this one replies to.
    #[serde(default)]
    pub reply_to: Option<u64>,
}

/// Request to press a button.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Press {
    /// Number of the message with the button, or 0.
    #[serde(default)]
    pub message: u64,
    pub button: String,
    /// The time, for a button that moves an item.
    #[serde(default)]
    pub words: String,
}

/// The reply text, or the number of a stored message.
#[derive(Serialize)]
pub struct Pressed {
    pub ok: bool,
    pub text: Option<String>,
    pub message: Option<u64>,
}

/// The message was stored.
#[derive(Serialize)]
pub struct Heard {
    pub ok: bool,
    pub message: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub text: String,
}

/// The reply text, or the turn of the started work.
#[derive(Serialize)]
pub struct Obeyed {
    pub ok: bool,
    pub text: Option<String>,
    pub turn: Option<u64>,
}

/// A request without content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Query for a part of the conversation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub before: Option<u64>,
    /// The last entry of the part, on any branch.
    pub to: Option<u64>,
    pub limit: Option<usize>,
}

/// A part of the conversation, oldest first.
#[derive(Serialize)]
pub struct Messages {
    pub messages: Vec<EntryWire>,
    pub more: bool,
}

#[derive(Serialize)]
pub struct EntryWire {
    pub id: u64,
    pub parent: Option<u64>,
    pub at: String,
    /// The background run that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(flatten)]
    pub said: SaidWire,
}

/// Content with its author.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum SaidWire {
    Human { text: String, images: usize },
    Assistant { text: String, whole: bool, calls: Vec<CallWire> },
    Tools { results: Vec<ResultWire> },
    Summary { text: String },
    Recalled { summary: u64 },
}

#[derive(Serialize)]
pub struct CallWire {
    pub id: String,
    pub tool: String,
    pub input: String,
}

#[derive(Serialize)]
pub struct ResultWire {
    pub call: String,
    /// `done`, `failed` or `denied`.
    pub outcome: &'static str,
    pub text: String,
    pub embed: Option<EmbedWire>,
    pub words: Option<String>,
}

impl From<&Entry> for EntryWire {
    fn from(entry: &Entry) -> Self {
        let said = SaidWire::from(&entry.said);
        let (id, parent, at) = (entry.id.0, entry.parent.map(|id| id.0), entry.at.to_string());
        Self { id, parent, at, from: None, said }
    }
}

impl EntryWire {
    /// Creates the entry of a message sent by a background run.
    pub fn sent(source: &Source, entry: &Entry) -> Self {
        Self { from: Some(source.to_string()), ..Self::from(entry) }
    }

    /// Truncates very long text for a list, with a note about the missing part.
    #[must_use]
    pub fn listed(mut self) -> Self {
        match &mut self.said {
            SaidWire::Human { text, .. } | SaidWire::Assistant { text, .. } | SaidWire::Summary { text } => {
                cut_listed(text);
            }
            SaidWire::Tools { results } => {
                results.iter_mut().filter_map(|result| result.words.as_mut()).for_each(cut_listed);
            }
            SaidWire::Recalled { .. } => {}
        }
        self
    }

    /// Removes the shown content of a message that the user dismissed.
    #[must_use]
    pub fn put_away(mut self) -> Self {
        if let SaidWire::Tools { results } = &mut self.said {
            results.iter_mut().for_each(|result| (result.embed, result.words) = (None, None));
        }
        self
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
    let (outcome, embed, words) = match &result.outcome {
        Outcome::Done => ("done", None, None),
        Outcome::Shown(Showing::Embed(embed)) => ("done", Some(embed.into()), None),
        Outcome::Shown(Showing::Words(words)) => ("done", None, Some(words.clone())),
        Outcome::Failed => ("failed", None, None),
        Outcome::Denied => ("denied", None, None),
    };
    ResultWire { call: result.call.clone(), outcome, text: shortened(&result.text), embed, words }
}

fn cut_listed(text: &mut String) {
    let Some((end, _)) = text.char_indices().nth(LISTED_CHARS) else { return };
    let all = text.chars().count();
    text.truncate(end);
    text.push_str(&format!(
        "\n\n(Only the first {LISTED_CHARS} of {all} characters are shown here. `ollim-bot history export main` writes all of it.)"
    ));
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TOOL_CHARS) {
        Some((end, _)) => format!("{}… ({} characters in all)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

#[derive(Serialize)]
pub struct HealthWire {
    pub ok: bool,
    pub version: String,
    pub pid: u32,
    pub brain: String,
    pub zone: String,
    pub data_dir: String,
    pub page: String,
    pub surfaces: Vec<String>,
    pub discord: Option<String>,
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
            surfaces: health.surfaces,
            discord: health.discord,
            session: health.session,
            notices: health.notices,
        }
    }
}
