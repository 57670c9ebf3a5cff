//! Faults of journal writes: a single failure, or a crash before or after a write.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::record::Record;
use engine::ports::WriteError;
use engine::simulation::JournalObserver;

/// A fault at the n-th write after it was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The write fails once.
    Fail,
    /// The program crashes before the write.
    CrashBefore,
    /// The program crashes after the write, before it is acknowledged.
    CrashAfter,
}

/// The planned fault and the crash state.
#[derive(Debug, Default)]
pub struct WriteFaults(Mutex<FaultState>);

#[derive(Debug, Default)]
struct FaultState {
    planned: Option<(u64, WriteFault)>,
    crashed: bool,
}

impl WriteFaults {
    /// Plans `fault` for the n-th write from now.
    pub fn plan(&self, nth: u64, fault: WriteFault) {
        self.state().planned = Some((nth.max(1), fault));
    }

    /// Returns true after a simulated crash: nothing is written any more.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed
    }

    /// Removes all faults, for a restart.
    pub fn reset(&self) {
        *self.state() = FaultState::default();
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalObserver for WriteFaults {
    fn before_write(&self, _records: &[Record]) -> Result<(), WriteError> {
        let mut state = self.state();
        let state = &mut *state;
        if let Some((left, fault)) = &mut state.planned {
            *left = left.saturating_sub(1);
            match (*left, *fault) {
                (0, WriteFault::CrashBefore) => state.crashed = true,
                (0, WriteFault::Fail) => {
                    state.planned = None;
                    return Err(WriteError("the disk is full.".to_owned()));
                }
                (_, _) => {}
            }
        }
        if state.crashed { Err(WriteError("the program is dead.".to_owned())) } else { Ok(()) }
    }

    fn after_write(&self, _records: &[Record]) {
        let mut state = self.state();
        if state.planned == Some((0, WriteFault::CrashAfter)) {
            state.crashed = true;
        }
    }
}
