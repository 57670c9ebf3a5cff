//! Endpoints of the conversation: reading messages, sending, replying, and pressing buttons.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::assistant::{Answer, Press, Request as Ask, Saying};
use domain::card::Act;
use domain::context::message_words;
use domain::conversation::{Branch, Entry, EntryId, Image};
use domain::embed::Action;
use domain::record::ReplyTo;
use domain::sent::SentId;
use engine::ports::{Margin, Unreadable};

use super::App;
use super::api::{BODY_BYTES, read, surface, unexpected};
use super::gate::Through;
use super::refusal::Refusal;
use super::wire;

/// Maximum size of a message with images in bytes.
pub const SAY_BYTES: usize = 32 * 1024 * 1024;
/// Default number of entries per page.
const PAGE: usize = 50;
/// Maximum number of entries per page.
const LARGEST_PAGE: usize = 200;
/// Maximum size of a page with more than one entry in bytes.
const PAGE_BYTES: usize = 2 * 1024 * 1024;

pub(super) async fn messages(
    State(app): State<App>,
    wanted: Result<Query<wire::Wanted>, QueryRejection>,
) -> Result<Json<wire::Messages>, Refusal> {
    let Query(wanted) = wanted.map_err(|_| {
        Refusal::malformed(format!(
            "ask with `?before=NUMBER&limit=NUMBER` or `?to=NUMBER`, all optional, limit at most {LARGEST_PAGE}."
        ))
    })?;
    let before = wanted.before.map(EntryId);
    let limit = wanted.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let here = app.ports().stage.subscribe().scene().fork.map_or(Branch::Main, |(branch, _)| branch);
    let journal = &app.ports().journal;
    let last = match wanted.to.filter(|to| i64::try_from(*to).is_ok()) {
        Some(to) => journal.entry(EntryId(to)).await.map_err(unreadable)?,
        None => None,
    };
    let before = last.as_ref().map(|last| last.id).or(before);
    let mut entries = journal.recent(here, before, limit).await.map_err(unreadable)?;
    entries.extend(last);
    let more = entries.first().is_some_and(|oldest| oldest.parent.is_some());
    // Messages between older entries are returned with those entries.
    let from = entries.first().filter(|_| more).map_or(EntryId(0), |oldest| oldest.id);
    let margin = journal.beside(from, before).await.map_err(unreadable)?;
    let (messages, is_cut) = page(&entries, &margin);
    Ok(Json(wire::Messages { messages, more: more || is_cut }))
}

/// Returns the entries and sent messages of a page, and whether the oldest were left out because
/// the page would be too large; the next page contains them.
fn page(entries: &[Entry], margin: &Margin) -> (Vec<wire::EntryWire>, bool) {
    let mut all = with_margin(entries, margin);
    let mut bytes = 0;
    let fits = |entry: &&wire::EntryWire| {
        bytes += serde_json::to_vec(entry).map_or(0, |json| json.len());
        bytes <= PAGE_BYTES
    };
    let fitting = all.iter().rev().take_while(fits).count();
    let mut first = all.len() - fitting;
    let is_said = |entry: &wire::EntryWire| entries.iter().any(|said| said.id.0 == entry.id);
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
fn with_margin(entries: &[Entry], margin: &Margin) -> Vec<wire::EntryWire> {
    let is_away = |entry: &Entry| margin.put_away.contains(&SentId::from(entry.id));
    let said = entries.iter().map(|entry| {
        if is_away(entry) {
            wire::EntryWire::from(entry).listed().put_away()
        } else {
            wire::EntryWire::from(entry).listed()
        }
    });
    let is_said = |id: EntryId| entries.iter().any(|entry| entry.id == id);
    let sent = margin.sent.iter().filter(|(_, entry)| !is_said(entry.id));
    let mut all: Vec<wire::EntryWire> =
        said.chain(sent.map(|(source, entry)| wire::EntryWire::sent(source, entry).listed())).collect();
    all.sort_by_key(|entry| entry.id);
    all
}

pub(super) async fn say(
    State(app): State<App>,
    Extension(through): Extension<Through>,
    request: Request,
) -> Result<Response, Refusal> {
    let wire::Say { text, images, reply_to } = read(&app, request, SAY_BYTES).await?;
    let images = images.into_iter().map(Image::read).collect::<Result<Vec<_>, _>>();
    let images = images.map_err(|none| Refusal::refused(none.to_string()))?;
    let reply_to = match reply_to {
        Some(message) => Some(reply(&app, message).await?),
        None => None,
    };
    let saying = Saying { surface: surface(&through), text, images, reply_to, mark: None };
    let answer = app.ports().desk.ask(Ask::Say(saying)).await;
    let Answer::Heard(id) = answer else { return Err(unexpected(answer)) };
    Ok((StatusCode::ACCEPTED, Json(wire::Heard { ok: true, message: id.0 })).into_response())
}

/// Returns a reply to `message` with its text, which is empty if the message does not exist.
async fn reply(app: &App, message: u64) -> Result<ReplyTo, Refusal> {
    let entry = match i64::try_from(message) {
        Ok(_) => app.ports().journal.entry(EntryId(message)).await.map_err(unreadable)?,
        Err(_) => None,
    };
    let words = entry.map(|entry| message_words(&entry.said)).unwrap_or_default();
    Ok(ReplyTo { to: SentId(message), words })
}

/// XB-7, XB-8: handles a pressed button.
pub(super) async fn press(
    State(app): State<App>,
    Extension(through): Extension<Through>,
    request: Request,
) -> Result<Response, Refusal> {
    let wire::Press { message, button, words } = read(&app, request, BODY_BYTES).await?;
    let action = Action::pressed(&button);
    let mut action = action.ok_or_else(|| Refusal::malformed(format!("`{button}` is no button of mine.")))?;
    if let Action::Card(_, Act::Move(chosen) | Act::Pick(chosen)) = &mut action {
        *chosen = words;
    }
    let press = Press { surface: surface(&through), on: SentId(message), action };
    let pressed = |text, message| {
        let pressed = wire::Pressed { ok: true, text, message };
        (StatusCode::ACCEPTED, Json(pressed)).into_response()
    };
    match app.ports().desk.ask(Ask::Press(press)).await {
        Answer::Heard(id) => Ok(pressed(None, Some(id.0))),
        Answer::Told(text) => Ok(pressed(Some(text), None)),
        Answer::Noted => Ok(pressed(None, None)),
        answer @ (Answer::Begun(_)
        | Answer::Decided(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Err(unexpected(answer)),
    }
}

fn unreadable(unreadable: Unreadable) -> Refusal {
    Refusal::broken(unreadable.0)
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Block, Reach, Said};
    use domain::cost::Source;
    use domain::label::Label;

    use super::*;

    fn entry(id: u64, text: &str) -> Entry {
        let said = Said::Assistant(vec![Block::Text(text.to_owned())], Reach::Whole);
        let at = jiff::Timestamp::UNIX_EPOCH;
        let parent = id.checked_sub(1).map(EntryId);
        Entry { id: EntryId(id), parent, at, said, own: Label::PLAIN, label: Label::PLAIN }
    }

    /// Very long entries stored by earlier versions do not make a page too large for browsers.
    #[test]
    fn a_page_of_very_long_entries_is_cut_and_says_so() {
        let entries: Vec<Entry> = (1..=50).map(|id| entry(id, &"word ".repeat(100_000))).collect();
        let (shown, is_cut) = page(&entries, &Margin::default());
        assert_eq!(ids(&shown), (31..=50).collect::<Vec<_>>());
        assert!(is_cut);
        let shown = serde_json::to_string(&shown).unwrap();
        assert!(shown.len() < PAGE_BYTES, "{}", shown.len());
        let told = "Only the first 100000 of 500000 characters are shown here.";
        assert_eq!(shown.matches(told).count(), 20);
        let (one, is_cut) = page(&[entry(7, &"x".repeat(3 * 1024 * 1024))], &Margin::default());
        assert_eq!((ids(&one), is_cut), (vec![7], false));
    }

    /// Messages of background runs count too, and a page begins with an entry of the conversation.
    #[test]
    fn a_page_of_very_long_messages_of_runs_is_cut_and_says_so() {
        let sent = |id| (Source::Routine("mail".to_owned()), entry(id, &"word ".repeat(20_000)));
        let margin =
            |ids: Vec<u64>| Margin { sent: ids.into_iter().map(sent).collect(), ..Margin::default() };
        let between = |from, to| margin((from..to).filter(|id| id % 10 != 0).collect());
        let entries: Vec<Entry> = (1..=10).map(|place| entry(10 * place, "well")).collect();
        let (shown, is_cut) = page(&entries, &between(10, 100));
        assert_eq!((ids(&shown), is_cut), ((80..=100).collect(), true));
        // All that fits is newer than the newest entry.
        let (shown, is_cut) = page(&entries, &between(10, 200));
        assert_eq!((shown[0].id, is_cut), (100, true));
        assert_eq!(shown.len(), 21);
        // A small page is complete.
        let (shown, is_cut) = page(&entries, &between(90, 100));
        assert_eq!((shown.len(), is_cut), (19, false));
    }

    fn ids(shown: &[wire::EntryWire]) -> Vec<u64> {
        shown.iter().map(|entry| entry.id).collect()
    }
}
