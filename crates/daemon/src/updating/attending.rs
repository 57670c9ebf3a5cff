//! Handles `/update` and `/restart`, and looks for updates on schedule.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event, Question, Request};
use domain::renewal::{Renew, Renewal};
use engine::desk::{Desk, Errand};
use engine::ports::Clock;
use jiff::Timestamp;
use journal::disk::Disk;
use tokio::sync::{Notify, mpsc};

use super::checkout::{Checkout, News};
use super::{Renewer, UNAVAILABLE, Wanted, program};
use crate::settings::Settings;

/// SC-7, UP-3: Interval at which the handler asks whether a check is due.
const EVERY: Duration = Duration::from_secs(300);

/// Interval at which the handler asks whether a restart is possible.
const AGAIN: Duration = Duration::from_secs(5);

/// Handles update and restart requests.
pub struct Attendant {
    /// The handle of the event loop.
    pub desk: Desk,
    pub settings: Settings,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// Notified when the process should restart.
    pub renewed: Arc<Notify>,
}

/// Handles requests and scheduled checks until the channel is closed.
pub async fn attend(attendant: Attendant, mut errands: mpsc::Receiver<Errand>) {
    let mut last = None;
    loop {
        tokio::select! {
            errand = errands.recv() => match errand {
                Some(Errand { wanted: Renew::Restart, reply }) => {
                    let may = attendant.may(Renewal::Asked).await;
                    let _ = reply.send(restarting(&may));
                    if may.is_ok() {
                        attendant.renewed.notify_one();
                    }
                }
                Some(Errand { wanted: Renew::Update, reply }) => attendant.update(reply, &mut errands).await,
                None => return,
            },
            () = tokio::time::sleep(EVERY) => attendant.by_itself(&mut last, &mut errands).await,
        }
    }
}

impl Attendant {
    /// UP-8: Updates immediately, at any hour. A running answer is completed before the restart.
    async fn update(
        &self,
        reply: tokio::sync::oneshot::Sender<Answer>,
        errands: &mut mpsc::Receiver<Errand>,
    ) {
        let Some(program) = self.program() else {
            let _ = reply.send(Answer::Refused(UNAVAILABLE.to_owned()));
            return;
        };
        let renewer = self.renewer(&program);
        let Some(renewer) = renewer else {
            let _ = reply.send(Answer::Refused(UNAVAILABLE.to_owned()));
            return;
        };
        match renewer.look(Wanted::Asked).await {
            Ok(None) => drop(reply.send(Answer::Told("already up to date.".to_owned()))),
            Err(trouble) => drop(reply.send(Answer::Refused(format!("i could not look: {trouble}.")))),
            Ok(Some(news)) => {
                let text = format!(
                    "updating. i build it, look it over, and restart when nothing goes on.{}",
                    news.tell()
                );
                let _ = reply.send(Answer::Told(text));
                self.become_new(&renewer, news, Renewal::Asked, errands).await;
            }
        }
    }

    /// UP-3, UP-4: Checks for an update if that is due, and installs it in the configured hours.
    async fn by_itself(&self, last: &mut Option<Timestamp>, errands: &mut mpsc::Receiver<Errand>) {
        if self.may(Renewal::Look(*last)).await.is_err() {
            return;
        }
        *last = Some(self.clock.now().timestamp());
        let Some(program) = self.program() else { return };
        let Some(renewer) = self.renewer(&program) else { return };
        match renewer.look(Wanted::ByItself).await {
            Ok(Some(news)) if self.may(Renewal::ByMyself).await.is_ok() => {
                self.become_new(&renewer, news, Renewal::Made, errands).await;
            }
            Ok(_) => {}
            Err(trouble) => tracing::warn!(%trouble, "It could not be looked for a newer version."),
        }
    }

    async fn become_new(
        &self,
        renewer: &Renewer<'_>,
        news: News,
        how: Renewal,
        errands: &mut mpsc::Receiver<Errand>,
    ) {
        match renewer.apply(news).await {
            Err(trouble) => {
                tracing::error!(%trouble, "The update failed.");
                // UP-7: The notice is delivered once it can be written.
                self.desk.tell(Event::Told(format!("the update failed: {trouble}. i go on as i am."))).await;
            }
            Ok(applied) => {
                self.wait_until_it_may(how, errands).await;
                self.announce(format!("updated; i restart.{}", applied.news.tell())).await;
                self.renewed.notify_one();
            }
        }
    }

    /// UP-6, L3: Waits until no turn runs and the quiet hours are over. A request of the user
    /// meanwhile ends the wait for the quiet hours.
    async fn wait_until_it_may(&self, mut how: Renewal, errands: &mut mpsc::Receiver<Errand>) {
        while self.may(how).await.is_err() {
            tokio::select! {
                Some(Errand { reply, .. }) = errands.recv() => {
                    how = Renewal::Asked;
                    let text = "a new version is built. i restart as soon as nothing goes on.";
                    let _ = reply.send(Answer::Told(text.to_owned()));
                }
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }

    fn program(&self) -> Option<PathBuf> {
        program(&self.settings.places.upgrade).ok()
    }

    fn renewer(&self, program: &std::path::Path) -> Option<Renewer<'_>> {
        let checkout = Checkout::find(&self.settings.places.upgrade, program)?;
        Some(Renewer { settings: &self.settings, disk: &self.disk, checkout, program: program.to_owned() })
    }

    async fn may(&self, wanted: Renewal) -> Result<(), String> {
        let answer = self.desk.ask(Request::Tell(Question::MayRenew(wanted))).await;
        if let Answer::Refused(why) = answer { Err(why) } else { Ok(()) }
    }

    /// UP-7: Announces the update on the user's surfaces. If that fails, the new version reports it
    /// at its start.
    async fn announce(&self, text: String) {
        if let Answer::Refused(why) = self.desk.ask(Request::Announce(text)).await {
            tracing::warn!(why, "It could not be told that an update was made.");
        }
    }
}

/// SL-14, UP-9: Returns the answer to a restart request.
fn restarting(may: &Result<(), String>) -> Answer {
    match may {
        Ok(()) => Answer::Told("restarting. i am back in a few seconds.".to_owned()),
        Err(why) => Answer::Refused(format!("not now: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use engine::desk::Letter;
    use journal::disk::RealDisk;

    use super::*;
    use crate::clock::SystemClock;
    use crate::settings::Environment;

    fn attendant(desk: Desk) -> Attendant {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            "OLLIM_MODEL" => Some("offline".to_owned()),
            _ => None,
        };
        Attendant {
            desk,
            settings: Settings::read(&Environment::new(known)).unwrap(),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock::new(jiff::tz::TimeZone::UTC)),
            renewed: Arc::default(),
        }
    }

    /// L3: A scheduled update waits for its time, unless the user requests a restart.
    #[tokio::test(start_paused = true)]
    async fn what_it_made_by_itself_waits_until_somebody_asks() {
        let (desk, mut pile) = Desk::new();
        let (desk, mut errands) = desk.with_errands();
        let attendant = attendant(desk.clone());
        let mut asked = Vec::new();
        let answering = async {
            while let Some(Letter::Asked(Request::Tell(Question::MayRenew(wanted)), reply)) =
                pile.recv().await
            {
                asked.push(wanted);
                let quiet = Answer::Refused("it is quiet now.".to_owned());
                let _ = reply.send(if wanted == Renewal::Asked { Answer::Noted } else { quiet });
            }
        };
        let asking = async {
            tokio::time::sleep(AGAIN * 2).await;
            tokio::time::timeout(AGAIN, desk.renew(Renew::Restart)).await.expect("somebody who runs errands")
        };
        let waited = attendant.wait_until_it_may(Renewal::Made, &mut errands);
        let told = tokio::select! {
            ((), told) = async { tokio::join!(waited, asking) } => told,
            () = answering => panic!("nobody asks any more"),
        };
        assert!(matches!(&told, Answer::Told(text) if text.contains("a new version is built")), "{told:?}");
        let (last, before) = asked.split_last().unwrap();
        assert!(*last == Renewal::Asked && before.len() >= 2, "{asked:?}");
        assert!(before.iter().all(|wanted| *wanted == Renewal::Made), "{asked:?}");
    }

    /// SC-7: Every five minutes the handler asks whether a check is due, and does nothing else.
    #[tokio::test(start_paused = true)]
    async fn every_five_minutes_it_asks_whether_it_is_time() {
        let (desk, mut pile) = Desk::new();
        let (desk, errands) = desk.with_errands();
        let attendant = attendant(desk.clone());
        let began = tokio::time::Instant::now();
        let mut attending = tokio::task::JoinSet::new();
        attending.spawn(attend(attendant, errands));
        let mut asked = Vec::new();
        while asked.len() < 4 {
            let Some(Letter::Asked(Request::Tell(Question::MayRenew(Renewal::Look(None))), reply)) =
                pile.recv().await
            else {
                panic!("it asks for nothing else");
            };
            asked.push(began.elapsed().as_secs() / 60);
            let _ = reply.send(Answer::Refused("not wanted".to_owned()));
        }
        assert_eq!(asked, [5, 10, 15, 20]);
        attending.shutdown().await;
    }
}
