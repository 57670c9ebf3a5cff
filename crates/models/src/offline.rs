//! The offline model: answers without a key or a network, and calls the same tools.
//!
//! It reads only the user's last message and the tool results since.

use domain::brain::{Meant, Span, Talk, read};
use domain::context::{Context, FORK_STARTED, REPORT_WANTED};
use domain::conversation::{Block, Json, Said, Usage};
use domain::failure::Failure;
use domain::phrase::Note;
use domain::tool::{Outcome, ToolCall, ToolResult};
use domain::turn::{Reply, Stop};
use engine::ports::{Listener, Model};
use futures_util::future::BoxFuture;

/// The model that is always available.
#[derive(Clone, Copy, Debug)]
pub struct Offline;

impl Offline {
    /// Returns the answer to one of our notes, if that is the last entry.
    fn to_a_note(context: &Context) -> Option<Result<String, &'static str>> {
        match context.said.last().map(AsRef::as_ref) {
            Some(Said::Human(heard)) if heard.is_note() => Some(match &heard.preface {
                note if note.contains(FORK_STARTED) => Ok(HERE.to_owned()),
                note if note.ends_with(REPORT_WANTED) => Ok(CANNOT_REPORT.to_owned()),
                note if note.contains("[reminder:") || note.contains("[routine:") => Ok(rings(note)),
                note if note.contains("-bg:") => Err(CANNOT_RUN),
                // A request for a summary, which needs a real model.
                _ => Err(CANNOT_SUM_UP),
            }),
            Some(
                Said::Human(_) | Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_),
            )
            | None => None,
        }
    }

    fn answer(&self, context: &Context) -> Block {
        let text = last_words(context);
        // The time does not matter here; the scheduling tool resolves it.
        let meant = read(text, &Default::default(), &Default::default());
        match (tool_for(&meant, text), last_result(context)) {
            (Some((name, input)), None) => {
                let id = format!("offline-{}", context.said.len());
                Block::Call(ToolCall { id, name: name.to_owned(), input: Json(input) })
            }
            (_, result) => Block::Text(self.words(&meant, result)),
        }
    }

    fn words(&self, meant: &Meant, result: Option<&ToolResult>) -> String {
        let told = result.map(|result| result.text.as_str()).unwrap_or_default();
        if let Some(ToolResult { outcome: Outcome::Failed | Outcome::Denied, text, .. }) = result {
            return text.strip_prefix("Error: ").unwrap_or(text).to_owned();
        }
        match meant {
            Meant::Talk(Talk::Greeting) => HI.to_owned(),
            Meant::Talk(Talk::Thanks) => "any time.".to_owned(),
            Meant::Talk(Talk::Farewell) => "see you.".to_owned(),
            Meant::Talk(Talk::Help) => HELP.to_owned(),
            Meant::Status => format!("i'm here, on the offline brain. {told}"),
            Meant::List(Span::Inbox) => told.to_owned(),
            Meant::Keep(_) => format!("{told}."),
            Meant::List(_) | Meant::Plan(_) | Meant::Change(_) | Meant::Ease(_) => told.to_owned(),
            Meant::Untimed => format!("your words are safe in the inbox, {told}. when? {QUICK}"),
            Meant::Unclear(notes) if notes.iter().any(Note::is_trouble) => {
                let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
                format!("{}. your words are safe in the inbox, {told}.", notes.join("; "))
            }
            Meant::Unclear(_) => format!(
                "i can't think about that: no model is connected. your words are safe in the inbox, {told}. to connect \
                 one: ollim-bot setup model (30 s with an api key); it reads the inbox first."
            ),
        }
    }
}

const HI: &str = "hi. there is no model behind me yet, so i can't hold a conversation. what i can do: keep what you \
                  tell me, and list it again with `inbox`. `help` says more.";
const QUICK: &str = "1h · tonight · tomorrow · no time";
const HERE: &str = "we are aside now, still without a model: what you want kept goes to the inbox, as always. /exit \
                    leads back.";
const CANNOT_RUN: &str = "this takes a model, and none is connected.";
const CANNOT_REPORT: &str = "i can't sum this up, that takes a model.";
const CANNOT_SUM_UP: &str = "the offline brain can't write a summary: that takes a model.";

const HELP: &str = "\
without a model i do a few things, and those reliably:
- `call the dentist tomorrow at 10` or `stretch every weekday at 3` reminds you then
- `today`, `tomorrow`, `week`, `when is dentist` list what is planned
- `done dentist`, `move dentist to thu 11`, `cancel dentist`, `undo`, `pause until monday`
- `remember: locker 214` keeps something; so does anything else you write
- `inbox` lists what i kept
- `status` says how things stand, `name julia` what you are called

to talk for real, give me a model: ollim-bot setup model. what you told me until then stays.";

/// Returns the text that a due reminder or routine shows: the user's own words.
fn rings(note: &str) -> String {
    let tagged = note.find("[reminder:").or_else(|| note.find("[routine:")).map_or(note, |tag| &note[tag..]);
    let body = tagged.split_once(']').map_or(tagged, |(_, body)| body).trim();
    let late =
        body.strip_prefix("[late: was scheduled for ").and_then(|rest| rest.split_once(", running now]"));
    let words = late.map_or(body, |(_, body)| body.trim());
    let words = match words.strip_prefix("CHAIN CONTEXT:").and_then(|chain| chain.split_once("\n\n")) {
        Some((_, words)) => words,
        None => words,
    };
    match late {
        Some((due, _)) => format!("⏰ {words} · was for {due}"),
        None => format!("⏰ {words}"),
    }
}

fn tool_for(meant: &Meant, text: &str) -> Option<(&'static str, String)> {
    let add = |text: &str| ("inbox_add", serde_json::json!({ "text": text }).to_string());
    match meant {
        Meant::Talk(_) => None,
        Meant::Status => Some(("status", "{}".to_owned())),
        Meant::List(Span::Inbox) => Some(("inbox_list", "{}".to_owned())),
        Meant::Keep(kept) => Some(add(kept)),
        Meant::List(_) | Meant::Plan(_) | Meant::Change(_) | Meant::Ease(_) => {
            Some(("schedule", serde_json::json!({ "words": text }).to_string()))
        }
        Meant::Untimed | Meant::Unclear(_) => Some(add(text)),
    }
}

fn last_words(context: &Context) -> &str {
    let heard = context.said.iter().rev().find_map(|said| match said.as_ref() {
        Said::Human(heard) => Some(heard.text.as_str()),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
    });
    heard.unwrap_or_default()
}

/// Returns the tool's result, if that is the last entry.
fn last_result(context: &Context) -> Option<&ToolResult> {
    match context.said.last().map(AsRef::as_ref) {
        Some(Said::Tools(results)) => results.last(),
        Some(Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_)) | None => None,
    }
}

impl Model for Offline {
    fn name(&self) -> &str {
        domain::model::OFFLINE
    }

    fn is_free(&self) -> bool {
        true
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        let block = match Self::to_a_note(context) {
            Some(Err(why)) => return Box::pin(async { Err(Failure::Stopped(why.to_owned())) }),
            Some(Ok(text)) => Block::Text(text),
            None => self.answer(context),
        };
        let stop = match &block {
            Block::Text(text) => {
                listener.words(text);
                Stop::Said
            }
            Block::Call(_) | Block::Opaque(_) => Stop::Tools,
        };
        let reply = Reply { blocks: vec![block], stop, usage: Usage::default() };
        Box::pin(async move { Ok(reply) })
    }
}
