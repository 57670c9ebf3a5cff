//! Executes commands: asks the assistant, or reads the archive directly.
//!
//! Archive look-ups do not go through the event loop, so they neither wait for it nor delay it.

use domain::assistant::{Answer, Event, Question, Request};
use domain::command::{self, Command, Look};
use domain::cost::{Limit, Report};
use domain::record::SurfaceName;
use jiff::Zoned;

use crate::desk::Desk;
use crate::ports::{Archive, Unreadable};

/// Executes the command `text` given on `surface`.
pub async fn obey(
    (surface, text): (SurfaceName, &str),
    desk: &Desk,
    archive: &dyn Archive,
    now: Zoned,
) -> Answer {
    match command::read_on(surface, text) {
        Ok(Command::Ask(request)) => {
            desk.tell(Event::Seen(surface)).await;
            desk.ask(request).await
        }
        Ok(Command::Look(look)) => look_up(look, desk, archive, now).await.map_or_else(
            |Unreadable(why)| Answer::Refused(format!("i can't read that: {why}")),
            Answer::Told,
        ),
        Ok(Command::Renew(wanted)) => desk.renew(wanted).await,
        Ok(Command::SignIn(wanted)) => desk.sign_in(wanted).await,
        Ok(Command::Help) => Answer::Told(command::list()),
        Err(why) => Answer::Refused(why),
    }
}

/// Returns the current daily spending limit of background work.
pub async fn limit(desk: &Desk) -> Limit {
    let answer = desk.ask(Request::Tell(Question::Numbers)).await;
    if let Answer::Numbers(numbers) = answer { numbers.limit } else { Limit::default() }
}

async fn look_up(look: Look, desk: &Desk, archive: &dyn Archive, now: Zoned) -> Result<String, Unreadable> {
    match look {
        Look::Cost => {
            let limit = limit(desk).await;
            Ok(Report { limit, ..archive.spent(now, 1).await? }.today_in_words())
        }
        Look::Why(subject) => {
            let found = archive.explain(subject.clone(), now.time_zone().clone()).await?;
            Ok(found.map_or_else(|| subject.unknown(), |found| found.tell(now.time_zone())))
        }
    }
}
