//! Limits the work of a query, whatever the calendar contains.

/// Steps for one rule: enough for a daily rule over a century.
const FOR_ONE: u32 = 100_000;

/// Steps for all rules of one query.
const FOR_ALL: u32 = 4_000_000;

/// The remaining steps.
#[derive(Debug)]
pub(crate) struct Budget {
    one: u32,
    all: u32,
}

/// The exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    One,
    All,
}

impl Budget {
    /// The budget of one query.
    pub(crate) fn new() -> Self {
        Self::of(FOR_ALL)
    }

    /// A budget of `all` steps.
    pub(crate) fn of(all: u32) -> Self {
        Self { one: FOR_ONE, all }
    }

    /// Resets the steps for the next rule.
    pub(crate) fn next_rule(&mut self) {
        self.one = FOR_ONE;
    }

    /// Takes `steps` from the budget.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Spent> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.all = self.all.checked_sub(steps).ok_or(Spent::All)?;
        self.one = self.one.checked_sub(steps).ok_or(Spent::One)?;
        Ok(())
    }
}
