//! Executes commands: asks the assistant, or reads the archive directly.
//!
//! Archive look-ups do not go through the event loop, so they neither wait for it nor delay it.

use domain::assistant::{Answer, Event, Query, Request};
use domain::command::{self, Command, JournalQuery};
use domain::cost::{BudgetLimit, CostReport};
use domain::record::SurfaceName;
use jiff::Zoned;

use crate::handle::AssistantHandle;
use crate::ports::{Archive, ReadError};

/// Executes the command `text` given on `surface`.
pub async fn execute(
    (surface, text): (SurfaceName, &str),
    assistant: &AssistantHandle,
    archive: &dyn Archive,
    now: Zoned,
) -> Answer {
    match command::parse_on(surface, text) {
        Ok(Command::Request(request)) => {
            assistant.send_event(Event::UserSeen(surface)).await;
            assistant.ask(request).await
        }
        Ok(Command::Query(look)) => look_up(look, assistant, archive, now)
            .await
            .map_or_else(|ReadError(why)| Answer::Refused(format!("i can't read that: {why}")), Answer::Text),
        Ok(Command::Renew(wanted)) => assistant.request_update(wanted).await,
        Ok(Command::SignIn(wanted)) => assistant.request_sign_in(wanted).await,
        Ok(Command::Help) => Answer::Text(command::help_text()),
        Err(why) => Answer::Refused(why),
    }
}

/// Returns the current daily spending limit of background work.
pub async fn daily_limit(assistant: &AssistantHandle) -> BudgetLimit {
    let answer = assistant.ask(Request::Query(Query::Numbers)).await;
    if let Answer::Numbers(numbers) = answer { numbers.limit } else { BudgetLimit::default() }
}

async fn look_up(
    look: JournalQuery,
    assistant: &AssistantHandle,
    archive: &dyn Archive,
    now: Zoned,
) -> Result<String, ReadError> {
    match look {
        JournalQuery::Cost => {
            let limit = daily_limit(assistant).await;
            Ok(CostReport { limit, ..archive.spending(now, 1).await? }.today_summary())
        }
        JournalQuery::Why(subject) => {
            let found = archive.explain(subject.clone(), now.time_zone().clone()).await?;
            Ok(found.map_or_else(|| subject.not_found_text(), |found| found.render(now.time_zone())))
        }
    }
}
