//! The event loop: handles one input at a time, and performs its effects before it reads the next.
//!
//! If the records of an input cannot be written, the state is restored and the event is retried.

use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Answer, Assistant, Effect, Event, Memory, Request, Shown};
use jiff::SignedDuration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::carrying::Carrying;
use crate::desk::{Desk, Letter};
use crate::drive::World;
use crate::loading::Loading;
use crate::owed::Owed;
use crate::ports::{Clock, Unwritten};
use crate::turns::Turns;

/// The delay before events that could not be written are retried.
pub(crate) const TRY_AGAIN: Duration = Duration::from_secs(5);

/// How often to check whether a refused key was replaced.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The longest time between checks of the clock: timers stop while the machine sleeps, and this
/// bounds the delay after it wakes.
const LONGEST_NAP: Duration = Duration::from_secs(5);

/// The assistant with its input queue, clock and background tasks.
pub struct House {
    assistant: Assistant,
    clock: Arc<dyn Clock>,
    pile: mpsc::Receiver<Letter>,
    turns: Turns,
    beside: Beside,
    world: World,
    /// The events that could not be written yet, oldest first.
    owed: Owed,
    /// When those events are retried.
    next_try: Instant,
    /// When the key is checked again, if all turns wait for it.
    next_look: Instant,
    /// Whether the user was notified that writing fails.
    told: Told,
}

/// The tasks that run beside the turns.
struct Beside {
    carrying: Carrying,
    /// The skill loads of jobs that are about to start.
    loading: Loading,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Unwritten,
}

impl House {
    /// Creates the loop of `assistant`, with its handle and the receiver of its inputs.
    pub fn new(
        assistant: Assistant,
        world: World,
        clock: Arc<dyn Clock>,
        (desk, pile): (Desk, mpsc::Receiver<Letter>),
    ) -> Self {
        let carrying = Carrying::new(Arc::clone(&world.hands), desk.clone());
        let loading = Loading::new(Arc::clone(&world.hands));
        let turns = Turns::new(world.clone(), desk);
        Self {
            assistant,
            clock,
            pile,
            turns,
            beside: Beside { carrying, loading },
            world,
            owed: Owed::default(),
            next_try: Instant::now(),
            next_look: Instant::now(),
            told: Told::Nothing,
        }
    }

    /// Runs until `stop`. A turn that is running then stays open in the journal and is resumed at
    /// the next start.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let nap = self.nap();
            let next_look = self.next_look;
            let next_try = self.next_try;
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                letter = self.next_letter() => {
                    self.open_any(letter).await;
                    // A constant stream of inputs must not delay due work.
                    if self.until_woken() == Some(Duration::ZERO) {
                        self.happened(Event::Woke).await;
                    }
                }
                () = tokio::time::sleep_until(next_look), if self.assistant.waits_for_key() => {
                    self.look_for_key().await;
                }
                () = tokio::time::sleep_until(next_try), if self.owes() => self.try_again().await,
                () = tokio::time::sleep(nap.unwrap_or_default()), if nap.is_some() => {
                    self.happened(Event::Woke).await;
                }
            }
        }
        self.leave().await;
    }

    /// Aborts all tasks. A running turn stays open in the journal.
    pub async fn leave(mut self) {
        self.turns.end().await;
        self.beside.carrying.end().await;
        self.beside.loading.end().await;
    }

    /// Waits for the next input: results of own tasks first, then the queue. Returns `None` if a
    /// task panicked or the queue is closed.
    pub(crate) async fn next_letter(&mut self) -> Option<Letter> {
        let Beside { carrying, loading } = &mut self.beside;
        let event = tokio::select! {
            biased;
            ended = self.turns.next(), if self.turns.any() => ended.map(|(turn, ended)| Event::TurnEnded(turn, ended)),
            carried = carrying.next(), if carrying.any() => carried.map(|(id, result)| Event::Carried(id, result)),
            loaded = loading.next(), if loading.any() => loaded.map(|(key, loaded)| Event::SkillsLoaded(key, loaded)),
            letter = self.pile.recv() => return letter,
        };
        event.map(Letter::Happened)
    }

    /// Returns the number of running tasks.
    pub(crate) fn goes_on(&self) -> usize {
        self.turns.count() + self.beside.carrying.count() + self.beside.loading.count()
    }

    /// Returns the state of the assistant.
    pub fn knows(&self) -> &Memory {
        self.assistant.memory()
    }

    /// Returns the time until the next check of the clock. It is bounded, because timers stop while
    /// the machine sleeps.
    fn nap(&self) -> Option<Duration> {
        self.until_woken().map(|time| time.min(LONGEST_NAP))
    }

    /// Returns the time until the assistant's next wake-up. `None` while events wait to be retried.
    pub(crate) fn until_woken(&self) -> Option<Duration> {
        let now = self.clock.now().timestamp();
        let wakes = self.assistant.wakes(now).filter(|_| !self.owes())?;
        Some(wakes.duration_since(now).max(SignedDuration::ZERO).unsigned_abs())
    }

    /// Returns whether events could not be written yet.
    pub(crate) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Handles the input, if there is one.
    pub(crate) async fn open_any(&mut self, letter: Option<Letter>) {
        if let Some(letter) = letter {
            self.open(letter).await;
        }
    }

    /// Handles one input and performs its effects.
    pub async fn open(&mut self, letter: Letter) {
        if let Some(abilities) = self.world.model.learned() {
            self.assistant.learn_models(abilities);
        }
        match letter {
            Letter::Happened(event) => self.happened(event).await,
            Letter::Asked(request, reply) => self.asked(request, reply).await,
        }
    }

    async fn asked(&mut self, request: Request, reply: oneshot::Sender<Answer>) {
        // Earlier events are decided before a newer request.
        if self.owes() {
            self.try_again().await;
        }
        let before = self.assistant.clone();
        let (answer, effects) = self.assistant.asked(request, &self.clock.now());
        let answer = match self.perform(effects).await {
            Ok(()) => answer,
            Err(unwritten) => {
                self.assistant = before;
                Answer::Refused(format!("i can't write that down: {unwritten}"))
            }
        };
        // The sender may have dropped its receiver; the decision stands.
        let _ = reply.send(answer);
    }

    pub(crate) async fn happened(&mut self, event: Event) {
        if self.owes() {
            return self.owed.add(event);
        }
        let before = self.assistant.clone();
        let effects = self.assistant.on(event.clone(), &self.clock.now());
        if let Err(unwritten) = self.perform(effects).await {
            self.assistant = before;
            self.owed.add(event);
            self.next_try = Instant::now() + TRY_AGAIN;
            self.tell_once(&unwritten);
        }
    }

    async fn look_for_key(&mut self) {
        self.next_look = Instant::now() + LOOK_AGAIN;
        if self.world.model.renewed() {
            self.happened(Event::KeyRenewed).await;
        }
    }

    /// Decides the events again that could not be written, in order.
    pub(crate) async fn try_again(&mut self) {
        self.next_try = Instant::now() + TRY_AGAIN;
        for event in self.owed.take() {
            self.happened(event).await;
        }
        if !self.owes() {
            self.told = Told::Nothing;
        }
    }

    fn tell_once(&mut self, unwritten: &Unwritten) {
        if self.told == Told::Unwritten {
            return;
        }
        self.told = Told::Unwritten;
        tracing::error!(%unwritten, "The journal cannot be written; what happens is kept in memory until it can.");
        let text = format!("i can't write things down right now: {unwritten} i keep trying.");
        self.world.surface.show(&Shown::Notice(text));
    }

    /// Performs the effects in order. Stops at the first failed write.
    async fn perform(&mut self, effects: Vec<Effect>) -> Result<(), Unwritten> {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.world.journal.write(records).await?,
                Effect::StartTurn(start) => self.turns.start(start),
                Effect::Decide(turn, id, decision) => self.turns.decide(turn, id, decision),
                Effect::Answer(turn, result) => self.turns.answer(turn, result),
                Effect::Carry(approval) => self.beside.carrying.start(approval),
                Effect::LoadSkills(key, wanted) => self.beside.loading.start(key, wanted),
                Effect::Interrupt(turn) => self.turns.interrupt(turn),
                Effect::Hurry(turn) => self.turns.hurry(turn),
                Effect::Show(shown) => self.world.surface.show(&shown),
            }
        }
        Ok(())
    }
}
