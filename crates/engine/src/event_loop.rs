//! The event loop: handles one input at a time, and performs its effects before it reads the next.
//!
//! If the records of an input cannot be written, the state is restored and the event is retried.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Assistant, Effect, Event, Request, State, Update};
use jiff::SignedDuration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::approved_calls::ApprovedCalls;
use crate::driver::Services;
use crate::handle::{AssistantHandle, Input};
use crate::ports::{Clock, WriteError};
use crate::retry_queue::RetryQueue;
use crate::skill_loads::SkillLoads;
use crate::turns::RunningTurns;

/// The delay before events that could not be written are retried.
pub(crate) const RETRY_DELAY: Duration = Duration::from_secs(5);

/// How often to check whether a refused key was replaced.
const KEY_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The longest time between checks of the clock: timers stop while the machine sleeps, and this
/// bounds the delay after it wakes.
const MAX_SLEEP: Duration = Duration::from_secs(5);

/// The assistant with its input queue, clock and background tasks.
pub struct EventLoop {
    assistant: Assistant,
    clock: Arc<dyn Clock>,
    inputs: mpsc::Receiver<Input>,
    turns: RunningTurns,
    background: BackgroundTasks,
    services: Services,
    /// The events that could not be written yet, oldest first.
    retry_queue: RetryQueue,
    /// When those events are retried.
    next_try: Instant,
    /// When the key is checked again, if all turns wait for it.
    next_key_check: Instant,
    /// Whether the user was notified that writing fails.
    write_notice: WriteNotice,
}

/// The tasks that run beside the turns.
struct BackgroundTasks {
    approved_calls: ApprovedCalls,
    /// The skill loads of jobs that are about to start.
    skill_loads: SkillLoads,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteNotice {
    NotShown,
    Shown,
}

impl EventLoop {
    /// Creates the loop of `assistant`, with its handle and the receiver of its inputs.
    pub fn new(
        assistant: Assistant,
        services: Services,
        clock: Arc<dyn Clock>,
        (handle, inputs): (AssistantHandle, mpsc::Receiver<Input>),
    ) -> Self {
        let approved_calls = ApprovedCalls::new(Arc::clone(&services.tools), handle.clone());
        let skill_loads = SkillLoads::new(Arc::clone(&services.tools));
        let turns = RunningTurns::new(services.clone(), handle);
        Self {
            assistant,
            clock,
            inputs,
            turns,
            background: BackgroundTasks { approved_calls, skill_loads },
            services,
            retry_queue: RetryQueue::default(),
            next_try: Instant::now(),
            next_key_check: Instant::now(),
            write_notice: WriteNotice::NotShown,
        }
    }

    /// Runs until `stop`. A turn that is running then stays open in the journal and is resumed at
    /// the next start.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let sleep = self.sleep_time();
            let next_key_check = self.next_key_check;
            let next_try = self.next_try;
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                input = self.next_input() => {
                    self.handle_any(input).await;
                    // A constant stream of inputs must not delay due work.
                    if self.until_next_wake() == Some(Duration::ZERO) {
                        self.handle_event(Event::Woke).await;
                    }
                }
                () = tokio::time::sleep_until(next_key_check), if self.assistant.is_blocked() => {
                    self.check_key().await;
                }
                () = tokio::time::sleep_until(next_try), if self.has_retries() => self.retry().await,
                () = tokio::time::sleep(sleep.unwrap_or_default()), if sleep.is_some() => {
                    self.handle_event(Event::Woke).await;
                }
            }
        }
        self.shut_down().await;
    }

    /// Aborts all tasks. A running turn stays open in the journal.
    pub async fn shut_down(mut self) {
        self.turns.abort_all().await;
        self.background.approved_calls.abort_all().await;
        self.background.skill_loads.abort_all().await;
    }

    /// Waits for the next input: results of own tasks first, then the queue. Returns `None` if a
    /// task panicked or the queue is closed.
    pub(crate) async fn next_input(&mut self) -> Option<Input> {
        let BackgroundTasks { approved_calls, skill_loads } = &mut self.background;
        let event = tokio::select! {
            biased;
            ended = self.turns.next_ended(), if self.turns.is_running() => ended.map(|(turn, ended)| Event::TurnEnded(turn, ended)),
            carried = approved_calls.next_result(), if approved_calls.is_running() => carried.map(|(id, result)| Event::CallCarriedOut(id, result)),
            loaded = skill_loads.next_result(), if skill_loads.is_running() => loaded.map(|(key, loaded)| Event::SkillsLoaded(key, loaded)),
            input = self.inputs.recv() => return input,
        };
        event.map(Input::Event)
    }

    /// Returns the number of running tasks.
    pub(crate) fn running_tasks(&self) -> usize {
        self.turns.count() + self.background.approved_calls.count() + self.background.skill_loads.count()
    }

    /// Returns the state of the assistant.
    pub fn state(&self) -> &State {
        self.assistant.state()
    }

    /// Returns the time until the next check of the clock. It is bounded, because timers stop while
    /// the machine sleeps.
    fn sleep_time(&self) -> Option<Duration> {
        self.until_next_wake().map(|time| time.min(MAX_SLEEP))
    }

    /// Returns the time until the assistant's next wake-up. `None` while events wait to be retried.
    pub(crate) fn until_next_wake(&self) -> Option<Duration> {
        let now = self.clock.now().timestamp();
        let wakes = self.assistant.next_wake(now).filter(|_| !self.has_retries())?;
        Some(wakes.duration_since(now).max(SignedDuration::ZERO).unsigned_abs())
    }

    /// Returns whether events could not be written yet.
    pub(crate) fn has_retries(&self) -> bool {
        !self.retry_queue.is_empty()
    }

    /// Handles the input, if there is one.
    pub(crate) async fn handle_any(&mut self, input: Option<Input>) {
        if let Some(input) = input {
            self.handle(input).await;
        }
    }

    /// Handles one input and performs its effects.
    pub async fn handle(&mut self, input: Input) {
        if let Some(abilities) = self.services.model.take_learned_abilities() {
            self.assistant.set_model_abilities(abilities);
        }
        match input {
            Input::Event(event) => self.handle_event(event).await,
            Input::Request(request, reply) => self.handle_request(request, reply).await,
        }
    }

    async fn handle_request(&mut self, request: Request, reply: oneshot::Sender<Answer>) {
        // Earlier events are decided before a newer request.
        if self.has_retries() {
            self.retry().await;
        }
        let before = self.assistant.clone();
        let (answer, effects) = self.assistant.handle(request, &self.clock.now());
        let answer = match self.perform(effects).await {
            Ok(()) => answer,
            Err(error) => {
                self.assistant = before;
                Answer::Refused(format!("i can't write that down: {error}"))
            }
        };
        // The sender may have dropped its receiver; the decision stands.
        let _ = reply.send(answer);
    }

    pub(crate) async fn handle_event(&mut self, event: Event) {
        if self.has_retries() {
            return self.retry_queue.add(event);
        }
        let before = self.assistant.clone();
        let effects = self.assistant.on_event(event.clone(), &self.clock.now());
        if let Err(error) = self.perform(effects).await {
            self.assistant = before;
            self.retry_queue.add(event);
            self.next_try = Instant::now() + RETRY_DELAY;
            self.show_write_error_once(&error);
        }
    }

    async fn check_key(&mut self) {
        self.next_key_check = Instant::now() + KEY_CHECK_INTERVAL;
        if self.services.model.has_new_key() {
            self.handle_event(Event::KeyRenewed).await;
        }
    }

    /// Decides the events again that could not be written, in order.
    pub(crate) async fn retry(&mut self) {
        self.next_try = Instant::now() + RETRY_DELAY;
        for event in self.retry_queue.take_all() {
            self.handle_event(event).await;
        }
        if !self.has_retries() {
            self.write_notice = WriteNotice::NotShown;
        }
    }

    fn show_write_error_once(&mut self, error: &WriteError) {
        if self.write_notice == WriteNotice::Shown {
            return;
        }
        self.write_notice = WriteNotice::Shown;
        tracing::error!(%error, "The journal cannot be written; what happens is kept in memory until it can.");
        let text = format!("i can't write things down right now: {error} i keep trying.");
        self.services.surface.show(&Update::Notice(text));
    }

    /// Performs the effects in order. Stops at the first failed write.
    async fn perform(&mut self, effects: Vec<Effect>) -> Result<(), WriteError> {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.services.journal.write(records).await?,
                Effect::StartTurn(start) => self.turns.start(start),
                Effect::Decide(turn, id, decision) => self.turns.decide(turn, id, decision),
                Effect::ReturnResult(turn, result) => self.turns.answer(turn, result),
                Effect::CarryOut(approval) => self.background.approved_calls.start(approval),
                Effect::LoadSkills(key, wanted) => self.background.skill_loads.start(key, wanted),
                Effect::Interrupt(turn) => self.turns.interrupt(turn),
                Effect::Prioritize(turn) => self.turns.hurry(turn),
                Effect::Show(shown) => self.services.surface.show(&shown),
            }
        }
        Ok(())
    }
}
