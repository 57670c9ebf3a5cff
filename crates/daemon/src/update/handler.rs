//! Handles `/update` and `/restart`, and looks for updates on schedule.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Event, Query, Request};
use domain::maintenance::{MaintenanceQuestion, MaintenanceRequest};
use engine::handle::{AssistantHandle, UpdateRequest};
use engine::ports::Clock;
use jiff::Timestamp;
use journal::disk::Disk;
use tokio::sync::{Notify, mpsc};

use super::checkout::{AvailableUpdate, Checkout};
use super::{UNAVAILABLE, UpdateTrigger, Updater, program};
use crate::settings::Settings;

/// SC-7, UP-3: Interval at which the handler asks whether a check is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(300);

/// Interval at which the handler asks whether a restart is possible.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Handles update and restart requests.
pub struct UpdateHandler {
    /// The handle of the event loop.
    pub assistant: AssistantHandle,
    pub settings: Settings,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    /// Notified when the process should restart.
    pub restart_requested: Arc<Notify>,
}

/// Handles requests and scheduled checks until the channel is closed.
pub async fn run_update_handler(handler: UpdateHandler, mut requests: mpsc::Receiver<UpdateRequest>) {
    let mut last = None;
    loop {
        tokio::select! {
            errand = requests.recv() => match errand {
                Some(UpdateRequest { action: MaintenanceRequest::Restart, reply }) => {
                    let may = handler.check_permission(MaintenanceQuestion::RestartOnRequest).await;
                    let _ = reply.send(restart_answer(&may));
                    if may.is_ok() {
                        handler.restart_requested.notify_one();
                    }
                }
                Some(UpdateRequest { action: MaintenanceRequest::Update, reply }) => handler.update(reply, &mut requests).await,
                None => return,
            },
            () = tokio::time::sleep(CHECK_INTERVAL) => handler.update_on_schedule(&mut last, &mut requests).await,
        }
    }
}

impl UpdateHandler {
    /// UP-8: Updates immediately, at any hour. A running answer is completed before the restart.
    async fn update(
        &self,
        reply: tokio::sync::oneshot::Sender<Answer>,
        errands: &mut mpsc::Receiver<UpdateRequest>,
    ) {
        let Some(program) = self.program() else {
            let _ = reply.send(Answer::Refused(UNAVAILABLE.to_owned()));
            return;
        };
        let renewer = self.updater(&program);
        let Some(renewer) = renewer else {
            let _ = reply.send(Answer::Refused(UNAVAILABLE.to_owned()));
            return;
        };
        match renewer.find_update(UpdateTrigger::User).await {
            Ok(None) => drop(reply.send(Answer::Text("already up to date.".to_owned()))),
            Err(trouble) => drop(reply.send(Answer::Refused(format!("i could not look: {trouble}.")))),
            Ok(Some(news)) => {
                let text = format!(
                    "updating. i build it, look it over, and restart when nothing goes on.{}",
                    news.summary()
                );
                let _ = reply.send(Answer::Text(text));
                self.apply_and_restart(&renewer, news, MaintenanceQuestion::RestartOnRequest, errands).await;
            }
        }
    }

    /// UP-3, UP-4: Checks for an update if that is due, and installs it in the configured hours.
    async fn update_on_schedule(
        &self,
        last: &mut Option<Timestamp>,
        errands: &mut mpsc::Receiver<UpdateRequest>,
    ) {
        if self.check_permission(MaintenanceQuestion::CheckForUpdate(*last)).await.is_err() {
            return;
        }
        *last = Some(self.clock.now().timestamp());
        let Some(program) = self.program() else { return };
        let Some(renewer) = self.updater(&program) else { return };
        match renewer.find_update(UpdateTrigger::Schedule).await {
            Ok(Some(news)) if self.check_permission(MaintenanceQuestion::InstallUpdate).await.is_ok() => {
                self.apply_and_restart(&renewer, news, MaintenanceQuestion::RestartIntoUpdate, errands).await;
            }
            Ok(_) => {}
            Err(trouble) => tracing::warn!(%trouble, "It could not be looked for a newer version."),
        }
    }

    async fn apply_and_restart(
        &self,
        renewer: &Updater<'_>,
        news: AvailableUpdate,
        how: MaintenanceQuestion,
        errands: &mut mpsc::Receiver<UpdateRequest>,
    ) {
        match renewer.apply(news).await {
            Err(trouble) => {
                tracing::error!(%trouble, "The update failed.");
                // UP-7: The notice is delivered once it can be written.
                self.assistant
                    .send_event(Event::Announced(format!("the update failed: {trouble}. i go on as i am.")))
                    .await;
            }
            Ok(applied) => {
                self.wait_until_permitted(how, errands).await;
                self.announce(format!("updated; i restart.{}", applied.update.summary())).await;
                self.restart_requested.notify_one();
            }
        }
    }

    /// UP-6, L3: Waits until no turn runs and the quiet hours are over. A request of the user
    /// meanwhile ends the wait for the quiet hours.
    async fn wait_until_permitted(
        &self,
        mut how: MaintenanceQuestion,
        errands: &mut mpsc::Receiver<UpdateRequest>,
    ) {
        while self.check_permission(how).await.is_err() {
            tokio::select! {
                Some(UpdateRequest { reply, .. }) = errands.recv() => {
                    how = MaintenanceQuestion::RestartOnRequest;
                    let text = "a new version is built. i restart as soon as nothing goes on.";
                    let _ = reply.send(Answer::Text(text.to_owned()));
                }
                () = tokio::time::sleep(RETRY_INTERVAL) => {}
            }
        }
    }

    fn program(&self) -> Option<PathBuf> {
        program(&self.settings.integrations.upgrade).ok()
    }

    fn updater(&self, program: &std::path::Path) -> Option<Updater<'_>> {
        let checkout = Checkout::find(&self.settings.integrations.upgrade, program)?;
        Some(Updater { settings: &self.settings, disk: &self.disk, checkout, program: program.to_owned() })
    }

    async fn check_permission(&self, wanted: MaintenanceQuestion) -> Result<(), String> {
        let answer = self.assistant.ask(Request::Query(Query::MayRestart(wanted))).await;
        if let Answer::Refused(why) = answer { Err(why) } else { Ok(()) }
    }

    /// UP-7: Announces the update on the user's surfaces. If that fails, the new version reports it
    /// at its start.
    async fn announce(&self, text: String) {
        if let Answer::Refused(why) = self.assistant.ask(Request::Announce(text)).await {
            tracing::warn!(why, "It could not be told that an update was made.");
        }
    }
}

/// SL-14, UP-9: Returns the answer to a restart request.
fn restart_answer(may: &Result<(), String>) -> Answer {
    match may {
        Ok(()) => Answer::Text("restarting. i am back in a few seconds.".to_owned()),
        Err(why) => Answer::Refused(format!("not now: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use engine::handle::Input;
    use journal::disk::RealDisk;

    use super::*;
    use crate::clock::SystemClock;
    use crate::settings::Environment;

    fn handler(desk: AssistantHandle) -> UpdateHandler {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            "OLLIM_MODEL" => Some("offline".to_owned()),
            _ => None,
        };
        UpdateHandler {
            assistant: desk,
            settings: Settings::read(&Environment::new(known)).unwrap(),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock::new(jiff::tz::TimeZone::UTC)),
            restart_requested: Arc::default(),
        }
    }

    /// L3: A scheduled update waits for its time, unless the user requests a restart.
    #[tokio::test(start_paused = true)]
    async fn scheduled_update_waits_until_the_user_asks() {
        let (desk, mut pile) = AssistantHandle::new();
        let (desk, mut errands) = desk.with_update_requests();
        let attendant = handler(desk.clone());
        let mut asked = Vec::new();
        let answering = async {
            while let Some(Input::Request(Request::Query(Query::MayRestart(wanted)), reply)) =
                pile.recv().await
            {
                asked.push(wanted);
                let quiet = Answer::Refused("it is quiet now.".to_owned());
                let _ = reply.send(if wanted == MaintenanceQuestion::RestartOnRequest {
                    Answer::Done
                } else {
                    quiet
                });
            }
        };
        let asking = async {
            tokio::time::sleep(RETRY_INTERVAL * 2).await;
            tokio::time::timeout(RETRY_INTERVAL, desk.request_update(MaintenanceRequest::Restart))
                .await
                .expect("somebody who runs errands")
        };
        let waited = attendant.wait_until_permitted(MaintenanceQuestion::RestartIntoUpdate, &mut errands);
        let told = tokio::select! {
            ((), told) = async { tokio::join!(waited, asking) } => told,
            () = answering => panic!("nobody asks any more"),
        };
        assert!(matches!(&told, Answer::Text(text) if text.contains("a new version is built")), "{told:?}");
        let (last, before) = asked.split_last().unwrap();
        assert!(*last == MaintenanceQuestion::RestartOnRequest && before.len() >= 2, "{asked:?}");
        assert!(before.iter().all(|wanted| *wanted == MaintenanceQuestion::RestartIntoUpdate), "{asked:?}");
    }

    /// SC-7: Every five minutes the handler asks whether a check is due, and does nothing else.
    #[tokio::test(start_paused = true)]
    async fn handler_asks_every_five_minutes() {
        let (desk, mut pile) = AssistantHandle::new();
        let (desk, errands) = desk.with_update_requests();
        let attendant = handler(desk.clone());
        let began = tokio::time::Instant::now();
        let mut attending = tokio::task::JoinSet::new();
        attending.spawn(run_update_handler(attendant, errands));
        let mut asked = Vec::new();
        while asked.len() < 4 {
            let Some(Input::Request(
                Request::Query(Query::MayRestart(MaintenanceQuestion::CheckForUpdate(None))),
                reply,
            )) = pile.recv().await
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
