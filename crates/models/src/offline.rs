//! The offline model: answers without a key or a network, and calls the same tools.
//!
//! It reads only the user's last message and the tool results since.

use domain::context::{Context, FORK_STARTED, REPORT_REQUESTED};
use domain::conversation::{Block, EntryContent, Json, Usage};
use domain::failure::Failure;
use domain::intent::{Intent, ListRange, SmallTalk, parse};
use domain::phrase::ParseNote;
use domain::tool::{Outcome, ToolCall, ToolResult};
use domain::turn::{ModelReply, StopReason};
use engine::ports::{Model, StreamSinkRef};
use futures_util::future::BoxFuture;

/// The model that is always available.
#[derive(Clone, Copy, Debug)]
pub struct OfflineModel;

impl OfflineModel {
    /// Returns the answer to one of our notes, if that is the last entry.
    fn answer_to_note(context: &Context) -> Option<Result<String, &'static str>> {
        match context.entries.last().map(AsRef::as_ref) {
            Some(EntryContent::User(heard)) if heard.is_note() => Some(match &heard.preface {
                note if note.contains(FORK_STARTED) => Ok(FORK_GREETING.to_owned()),
                note if note.ends_with(REPORT_REQUESTED) => Ok(CANNOT_REPORT.to_owned()),
                note if note.contains("[reminder:") || note.contains("[routine:") => Ok(alert_text(note)),
                note if note.contains("-bg:") => Err(CANNOT_RUN),
                // A request for a summary, which needs a real model.
                _ => Err(CANNOT_SUMMARIZE),
            }),
            Some(
                EntryContent::User(_)
                | EntryContent::Assistant(..)
                | EntryContent::Tools(_)
                | EntryContent::Summary(_)
                | EntryContent::SummaryRecalled(_),
            )
            | None => None,
        }
    }

    fn answer_block(&self, context: &Context) -> Block {
        let text = last_user_text(context);
        // The time does not matter here; the scheduling tool resolves it.
        let intent = parse(text, &Default::default(), &Default::default());
        match (tool_for(&intent, text), last_tool_result(context)) {
            (Some((name, input)), None) => {
                let id = format!("offline-{}", context.entries.len());
                Block::Call(ToolCall { id, name: name.to_owned(), input: Json(input) })
            }
            (_, result) => Block::Text(self.answer_text(&intent, result)),
        }
    }

    fn answer_text(&self, intent: &Intent, result: Option<&ToolResult>) -> String {
        let result_text = result.map(|result| result.text.as_str()).unwrap_or_default();
        if let Some(ToolResult { outcome: Outcome::Failed | Outcome::Denied, text, .. }) = result {
            return text.strip_prefix("Error: ").unwrap_or(text).to_owned();
        }
        match intent {
            Intent::SmallTalk(SmallTalk::Greeting) => GREETING.to_owned(),
            Intent::SmallTalk(SmallTalk::Thanks) => "any time.".to_owned(),
            Intent::SmallTalk(SmallTalk::Farewell) => "see you.".to_owned(),
            Intent::SmallTalk(SmallTalk::Help) => HELP.to_owned(),
            Intent::Status => format!("i'm here, on the offline brain. {result_text}"),
            Intent::List(ListRange::Inbox) => result_text.to_owned(),
            Intent::Keep(_) => format!("{result_text}."),
            Intent::List(_) | Intent::Plan(_) | Intent::Change(_) | Intent::Quiet(_) => {
                result_text.to_owned()
            }
            Intent::Untimed => {
                format!("your words are safe in the inbox, {result_text}. when? {QUICK_TIMES}")
            }
            Intent::Unclear(notes) if notes.iter().any(ParseNote::is_error) => {
                let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
                format!("{}. your words are safe in the inbox, {result_text}.", notes.join("; "))
            }
            Intent::Unclear(_) => format!(
                "i can't think about that: no model is connected. your words are safe in the inbox, {result_text}. to connect \
                 one: ollim-bot setup model (30 s with an api key); it reads the inbox first."
            ),
        }
    }
}

const GREETING: &str = "hi. there is no model behind me yet, so i can't hold a conversation. what i can do: keep what you \
                  tell me, and list it again with `inbox`. `help` says more.";
const QUICK_TIMES: &str = "1h · tonight · tomorrow · no time";
const FORK_GREETING: &str = "we are aside now, still without a model: what you want kept goes to the inbox, as always. /exit \
                    leads back.";
const CANNOT_RUN: &str = "this takes a model, and none is connected.";
const CANNOT_REPORT: &str = "i can't sum this up, that takes a model.";
const CANNOT_SUMMARIZE: &str = "the offline brain can't write a summary: that takes a model.";

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
fn alert_text(note: &str) -> String {
    let tagged = note.find("[reminder:").or_else(|| note.find("[routine:")).map_or(note, |tag| &note[tag..]);
    let body = tagged.split_once(']').map_or(tagged, |(_, body)| body).trim();
    let late =
        body.strip_prefix("[late: was scheduled for ").and_then(|rest| rest.split_once(", running now]"));
    let text = late.map_or(body, |(_, body)| body.trim());
    let text = match text.strip_prefix("CHAIN CONTEXT:").and_then(|chain| chain.split_once("\n\n")) {
        Some((_, text)) => text,
        None => text,
    };
    match late {
        Some((due, _)) => format!("⏰ {text} · was for {due}"),
        None => format!("⏰ {text}"),
    }
}

fn tool_for(intent: &Intent, text: &str) -> Option<(&'static str, String)> {
    let add = |text: &str| ("inbox_add", serde_json::json!({ "text": text }).to_string());
    match intent {
        Intent::SmallTalk(_) => None,
        Intent::Status => Some(("status", "{}".to_owned())),
        Intent::List(ListRange::Inbox) => Some(("inbox_list", "{}".to_owned())),
        Intent::Keep(kept) => Some(add(kept)),
        Intent::List(_) | Intent::Plan(_) | Intent::Change(_) | Intent::Quiet(_) => {
            Some(("schedule", serde_json::json!({ "words": text }).to_string()))
        }
        Intent::Untimed | Intent::Unclear(_) => Some(add(text)),
    }
}

fn last_user_text(context: &Context) -> &str {
    let text = context.entries.iter().rev().find_map(|said| match said.as_ref() {
        EntryContent::User(text) => Some(text.text.as_str()),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => None,
    });
    text.unwrap_or_default()
}

/// Returns the tool's result, if that is the last entry.
fn last_tool_result(context: &Context) -> Option<&ToolResult> {
    match context.entries.last().map(AsRef::as_ref) {
        Some(EntryContent::Tools(results)) => results.last(),
        Some(
            EntryContent::User(_)
            | EntryContent::Assistant(..)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_),
        )
        | None => None,
    }
}

impl Model for OfflineModel {
    fn name(&self) -> &str {
        domain::model::OFFLINE
    }

    fn is_free(&self) -> bool {
        true
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        sink: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        let block = match Self::answer_to_note(context) {
            Some(Err(why)) => return Box::pin(async { Err(Failure::Stopped(why.to_owned())) }),
            Some(Ok(text)) => Block::Text(text),
            None => self.answer_block(context),
        };
        let stop = match &block {
            Block::Text(text) => {
                sink.text(text);
                StopReason::Finished
            }
            Block::Call(_) | Block::Opaque(_) => StopReason::Tools,
        };
        let reply = ModelReply { blocks: vec![block], stop_reason: stop, usage: Usage::default() };
        Box::pin(async move { Ok(reply) })
    }
}
