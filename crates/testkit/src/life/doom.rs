//! What goes wrong with writing: it fails once, or it is the last thing that the program does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::record::Record;
use engine::played::Watching;
use engine::ports::Unwritten;

/// What goes wrong, at the n-th writing from when it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing is written, once.
    Fails,
    /// The program dies before anything is written.
    DiesBefore,
    /// The program dies when all is written, before anybody knows.
    DiesAfter,
}

/// What is going to go wrong.
#[derive(Debug, Default)]
pub struct Doom(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    coming: Option<(u64, Trouble)>,
    dead: bool,
}

impl Doom {
    /// Lets `trouble` happen at the n-th writing from now.
    pub fn plan(&self, nth: u64, trouble: Trouble) {
        self.state().coming = Some((nth.max(1), trouble));
    }

    /// Whether the program should be dead: nothing that it does is written any more.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// A new life without troubles.
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
