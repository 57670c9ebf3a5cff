//! How much work a reading may be, whoever wrote the calendar.

/// Steps for one rule: a daily one is followed for a century and more.
const FOR_ONE: u32 = 100_000;

/// Steps for all rules of one reading.
const FOR_ALL: u32 = 4_000_000;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct Budget {
    one: u32,
    all: u32,
}

/// Whose steps are spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// Those of one rule.
    One,
    /// All.
    All,
}

impl Budget {
    /// The steps of one reading.
    pub(crate) fn new() -> Self {
        Self::of(FOR_ALL)
    }

    /// So many steps.
    pub(crate) fn of(all: u32) -> Self {
        Self { one: FOR_ONE, all }
    }

    /// The next rule begins.
    pub(crate) fn next_rule(&mut self) {
        self.one = FOR_ONE;
    }

    /// Spends `steps`, or says that they are not there.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Spent> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.all = self.all.checked_sub(steps).ok_or(Spent::All)?;
        self.one = self.one.checked_sub(steps).ok_or(Spent::One)?;
        Ok(())
    }
}
