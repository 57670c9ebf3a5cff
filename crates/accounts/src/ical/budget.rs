//! Limits the work of a query, whatever the calendar contains.

/// Steps for one rule: enough for a daily rule over a century.
const STEPS_PER_RULE: u32 = 100_000;

/// Steps for all rules of one query.
const STEPS_PER_QUERY: u32 = 4_000_000;

/// The remaining steps.
#[derive(Debug)]
pub(crate) struct Budget {
    rule_steps: u32,
    total_steps: u32,
}

/// The exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetExceeded {
    Rule,
    Total,
}

impl Budget {
    /// The budget of one query.
    pub(crate) fn new() -> Self {
        Self::with_steps(STEPS_PER_QUERY)
    }

    /// A budget of `all` steps.
    pub(crate) fn with_steps(all: u32) -> Self {
        Self { rule_steps: STEPS_PER_RULE, total_steps: all }
    }

    /// Resets the steps for the next rule.
    pub(crate) fn next_rule(&mut self) {
        self.rule_steps = STEPS_PER_RULE;
    }

    /// Takes `steps` from the budget.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), BudgetExceeded> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.total_steps = self.total_steps.checked_sub(steps).ok_or(BudgetExceeded::Total)?;
        self.rule_steps = self.rule_steps.checked_sub(steps).ok_or(BudgetExceeded::Rule)?;
        Ok(())
    }
}
