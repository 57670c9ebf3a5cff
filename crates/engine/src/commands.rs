//! Commands: decided by the assistant, or looked up in the archive beside it.
//!
//! Who only wants to know what was written down waits for nobody, and nobody waits for them.

use domain::assistant::{Answer, Event};
use domain::command::{self, Command, Look};
use domain::record::SurfaceName;
use jiff::Zoned;

use crate::desk::Desk;
use crate::ports::{Archive, Unreadable};

/// Obeys the command `text`, given on `surface`.
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
        Ok(Command::Look(look)) => look_up(look, archive, now).await.map_or_else(
            |Unreadable(why)| Answer::Refused(format!("i can't read that: {why}")),
            Answer::Told,
        ),
        Ok(Command::Renew(wanted)) => desk.renew(wanted).await,
        Ok(Command::SignIn(wanted)) => desk.sign_in(wanted).await,
        Ok(Command::Help) => Answer::Told(command::list()),
        Err(why) => Answer::Refused(why),
    }
}

async fn look_up(look: Look, archive: &dyn Archive, now: Zoned) -> Result<String, Unreadable> {
    match look {
        Look::Cost => Ok(archive.spent(now, 1).await?.today_in_words()),
        Look::Why(subject) => {
            let found = archive.explain(subject.clone(), now.time_zone().clone()).await?;
            Ok(found.map_or_else(|| subject.unknown(), |found| found.tell(now.time_zone())))
        }
    }
}
