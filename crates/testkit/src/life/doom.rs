//! Faults of journal writes: a single failure, or a crash before or after a write.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::record::Record;
use engine::played::Watching;
use engine::ports::Unwritten;

/// A fault at the n-th write after it was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The write fails once.
    Fails,
    /// The program crashes before the write.
    DiesBefore,
    /// The program crashes after the write, before it is acknowledged.
    DiesAfter,
}

/// The planned fault and the crash state.
#[derive(Debug, Default)]
pub struct Doom(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    coming: Option<(u64, Trouble)>,
    dead: bool,
}

impl Doom {
    /// Plans `fault` for the n-th write from now.
    pub fn plan(&self, nth: u64, trouble: Trouble) {
        self.state().coming = Some((nth.max(1), trouble));
    }

    /// Returns true after a simulated crash: nothing is written any more.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Removes all faults, for a restart.
    pub fn end(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watching for Doom {
    fn writes(&self, _records: &[Record]) -> Result<(), Unwritten> {
        let mut state = self.state();
        let state = &mut *state;
        if let Some((left, trouble)) = &mut state.coming {
            *left = left.saturating_sub(1);
            match (*left, *trouble) {
                (0, Trouble::DiesBefore) => state.dead = true,
                (0, Trouble::Fails) => {
                    state.coming = None;
                    return Err(Unwritten("the disk is full.".to_owned()));
                }
                (_, _) => {}
            }
        }
        if state.dead { Err(Unwritten("the program is dead.".to_owned())) } else { Ok(()) }
    }

    fn wrote(&self, _records: &[Record]) {
        let mut state = self.state();
        if state.coming == Some((0, Trouble::DiesAfter)) {
            state.dead = true;
        }
    }
}
