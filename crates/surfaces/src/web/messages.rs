//! Endpoints of the conversation: reading messages, sending, replying, and pressing buttons.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::assistant::{Answer, ButtonPress, Request as Ask, UserMessage};
use domain::card::CardAction;
use domain::context::message_text;
use domain::conversation::{Branch, Entry, EntryId, Image};
use domain::embed::ButtonAction;
use domain::record::ReplyTo;
use domain::sent_messages::SentId;
use engine::ports::{ReadError, SideMessages};

use super::App;
use super::api::{MAX_BODY_BYTES, read_body, surface_of, unexpected_answer};
use super::api_error::ApiError;
use super::authentication::Connection;
use super::dto;

/// Maximum size of a message with images in bytes.
pub const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// Default number of entries per page.
const DEFAULT_PAGE: usize = 50;
/// Maximum number of entries per page.
const MAX_PAGE: usize = 200;
/// Maximum size of a page with more than one entry in bytes.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;

pub(super) async fn messages(
    State(app): State<App>,
    wanted: Result<Query<dto::MessagesQuery>, QueryRejection>,
) -> Result<Json<dto::MessagesResponse>, ApiError> {
    let Query(wanted) = wanted.map_err(|_| {
        ApiError::malformed(format!(
            "ask with `?before=NUMBER&limit=NUMBER` or `?to=NUMBER`, all optional, limit at most {MAX_PAGE}."
        ))
    })?;
    let before = wanted.before.map(EntryId);
    let limit = wanted.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let here = app.ports().event_hub.subscribe().snapshot().fork.map_or(Branch::Main, |(branch, _)| branch);
    let journal = &app.ports().journal;
    let last = match wanted.to.filter(|to| i64::try_from(*to).is_ok()) {
        Some(to) => journal.entry(EntryId(to)).await.map_err(unreadable_error)?,
        None => None,
    };
    let before = last.as_ref().map(|last| last.id).or(before);
    let mut entries = journal.recent_entries(here, before, limit).await.map_err(unreadable_error)?;
    entries.extend(last);
    let more = entries.first().is_some_and(|oldest| oldest.parent.is_some());
    // Messages between older entries are returned with those entries.
    let from = entries.first().filter(|_| more).map_or(EntryId(0), |oldest| oldest.id);
    let margin = journal.side_messages(from, before).await.map_err(unreadable_error)?;
    let (messages, is_cut) = build_page(&entries, &margin);
    Ok(Json(dto::MessagesResponse { messages, more: more || is_cut }))
}

/// Returns the entries and sent messages of a page, and whether the oldest were left out because
/// the page would be too large; the next page contains them.
fn build_page(entries: &[Entry], margin: &SideMessages) -> (Vec<dto::EntryDto>, bool) {
    let mut all = with_sent(entries, margin);
    let mut bytes = 0;
    let fits = |entry: &&dto::EntryDto| {
        bytes += serde_json::to_vec(entry).map_or(0, |json| json.len());
        bytes <= MAX_PAGE_BYTES
    };
    let fitting = all.iter().rev().take_while(fits).count();
    let mut first = all.len() - fitting;
    let is_said = |entry: &dto::EntryDto| entries.iter().any(|said| said.id.0 == entry.id);
    if first == 0 || entries.is_empty() {
        return (all.split_off(first), false);
    }
    // The next page ends before the oldest item, so that one must be an entry of the conversation.
    match all[first..].iter().position(is_said) {
        Some(place) => first += place,
        None => {
            let newest = all.iter().rposition(is_said).unwrap_or_default();
            all.drain(newest + 1..first);
            first = newest;
        }
    }
    (all.split_off(first), true)
}

/// Merges entries and messages of background runs in order.
fn with_sent(entries: &[Entry], margin: &SideMessages) -> Vec<dto::EntryDto> {
    let is_away = |entry: &Entry| margin.put_away.contains(&SentId::from(entry.id));
    let said = entries.iter().map(|entry| {
        if is_away(entry) {
            dto::EntryDto::from(entry).truncated_for_list().without_shown()
        } else {
            dto::EntryDto::from(entry).truncated_for_list()
        }
    });
    let is_said = |id: EntryId| entries.iter().any(|entry| entry.id == id);
    let sent = margin.sent.iter().filter(|(_, entry)| !is_said(entry.id));
    let mut all: Vec<dto::EntryDto> = said
        .chain(sent.map(|(source, entry)| dto::EntryDto::from_run(source, entry).truncated_for_list()))
        .collect();
    all.sort_by_key(|entry| entry.id);
    all
}

pub(super) async fn say(
    State(app): State<App>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Response, ApiError> {
    let dto::SayRequest { text, images, reply_to } = read_body(&app, request, MAX_MESSAGE_BYTES).await?;
    let images = images.into_iter().map(Image::from_base64).collect::<Result<Vec<_>, _>>();
    let images = images.map_err(|none| ApiError::rejected(none.to_string()))?;
    let reply_to = match reply_to {
        Some(message) => Some(find_reply_target(&app, message).await?),
        None => None,
    };
    let saying = UserMessage { surface: surface_of(&connection), text, images, reply_to, mark: None };
    let answer = app.ports().assistant.ask(Ask::Say(saying)).await;
    let Answer::MessageQueued(id) = answer else { return Err(unexpected_answer(answer)) };
    Ok((StatusCode::ACCEPTED, Json(dto::MessageStored { ok: true, message: id.0 })).into_response())
}

/// Returns a reply to `message` with its text, which is empty if the message does not exist.
async fn find_reply_target(app: &App, message: u64) -> Result<ReplyTo, ApiError> {
    let entry = match i64::try_from(message) {
        Ok(_) => app.ports().journal.entry(EntryId(message)).await.map_err(unreadable_error)?,
        Err(_) => None,
    };
    let words = entry.map(|entry| message_text(&entry.content)).unwrap_or_default();
    Ok(ReplyTo { sent_id: SentId(message), quote: words })
}

/// XB-7, XB-8: handles a pressed button.
pub(super) async fn press(
    State(app): State<App>,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Response, ApiError> {
    let dto::PressRequest { message, button, words } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let action = ButtonAction::from_button_id(&button);
    let mut action =
        action.ok_or_else(|| ApiError::malformed(format!("`{button}` is no button of mine.")))?;
    if let ButtonAction::Card(_, CardAction::Move(chosen) | CardAction::Pick(chosen)) = &mut action {
        *chosen = words;
    }
    let press = ButtonPress { surface: surface_of(&connection), on: SentId(message), action };
    let pressed = |text, message| {
        let pressed = dto::PressResponse { ok: true, text, message };
        (StatusCode::ACCEPTED, Json(pressed)).into_response()
    };
    match app.ports().assistant.ask(Ask::Press(press)).await {
        Answer::MessageQueued(id) => Ok(pressed(None, Some(id.0))),
        Answer::Text(text) => Ok(pressed(Some(text), None)),
        Answer::Done => Ok(pressed(None, None)),
        answer @ (Answer::TurnStarted(_)
        | Answer::Rulings(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Err(unexpected_answer(answer)),
    }
}

fn unreadable_error(unreadable: ReadError) -> ApiError {
    ApiError::internal(unreadable.0)
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Block, Completeness, EntryContent};
    use domain::cost::CostSource;
    use domain::label::Label;

    use super::*;

    fn entry(id: u64, text: &str) -> Entry {
        let said = EntryContent::Assistant(vec![Block::Text(text.to_owned())], Completeness::Complete);
        let at = jiff::Timestamp::UNIX_EPOCH;
        let parent = id.checked_sub(1).map(EntryId);
        Entry { id: EntryId(id), parent, at, content: said, own_label: Label::PLAIN, label: Label::PLAIN }
    }

    /// Very long entries stored by earlier versions do not make a page too large for browsers.
    #[test]
    fn a_page_of_very_long_entries_is_truncated() {
        let entries: Vec<Entry> = (1..=50).map(|id| entry(id, &"word ".repeat(100_000))).collect();
        let (shown, is_cut) = build_page(&entries, &SideMessages::default());
        assert_eq!(ids(&shown), (31..=50).collect::<Vec<_>>());
        assert!(is_cut);
        let shown = serde_json::to_string(&shown).unwrap();
        assert!(shown.len() < MAX_PAGE_BYTES, "{}", shown.len());
        let told = "Only the first 100000 of 500000 characters are shown here.";
        assert_eq!(shown.matches(told).count(), 20);
        let (one, is_cut) = build_page(&[entry(7, &"x".repeat(3 * 1024 * 1024))], &SideMessages::default());
        assert_eq!((ids(&one), is_cut), (vec![7], false));
    }

    /// Messages of background runs count too, and a page begins with an entry of the conversation.
    #[test]
    fn a_page_of_very_long_run_messages_is_truncated() {
        let sent = |id| (CostSource::Routine("mail".to_owned()), entry(id, &"word ".repeat(20_000)));
        let margin = |ids: Vec<u64>| SideMessages {
            sent: ids.into_iter().map(sent).collect(),
            ..SideMessages::default()
        };
        let between = |from, to| margin((from..to).filter(|id| id % 10 != 0).collect());
        let entries: Vec<Entry> = (1..=10).map(|place| entry(10 * place, "well")).collect();
        let (shown, is_cut) = build_page(&entries, &between(10, 100));
        assert_eq!((ids(&shown), is_cut), ((80..=100).collect(), true));
        // All that fits is newer than the newest entry.
        let (shown, is_cut) = build_page(&entries, &between(10, 200));
        assert_eq!((shown[0].id, is_cut), (100, true));
        assert_eq!(shown.len(), 21);
        // A small page is complete.
        let (shown, is_cut) = build_page(&entries, &between(90, 100));
        assert_eq!((shown.len(), is_cut), (19, false));
    }

    fn ids(shown: &[dto::EntryDto]) -> Vec<u64> {
        shown.iter().map(|entry| entry.id).collect()
    }
}
