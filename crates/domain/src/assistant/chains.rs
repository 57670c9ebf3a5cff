//! Check chains: a reminder that schedules its own follow-up check.

use std::sync::Arc;

use jiff::Zoned;

use super::occurrences::follow_up_of;
use super::{Answer, Assistant, Effect, Transaction};
use crate::cost::CostSource;
use crate::place::ChainPosition;
use crate::record::{JobFileEdit, PlanChange};
use crate::schedule::{Chain, ItemId, JobSpec, Moment, PlannedJob, Reminder, slug};
use crate::turn::TurnId;

impl Assistant {
    /// CH-3: returns whether `turn` answers a reminder on main that may schedule a follow-up check.
    pub(super) fn follow_up_permission(&self, turn: TurnId) -> ChainPosition {
        self.reminder_of_turn(turn).map_or(ChainPosition::NotInChain, |planned| follow_up_of(&planned))
    }

    /// CH-7, TL-9: schedules the next check `wait` minutes from now. A second call moves it, so
    /// there is at most one.
    pub(super) fn schedule_check(&mut self, turn: TurnId, wait: u32, now: &Zoned) -> (Answer, Vec<Effect>) {
        let refused = |text: String| (Answer::Refused(format!("Error: {text}")), Vec::new());
        if wait == 0 {
            return refused("`minutes_from_now` must be 1 or more.".to_owned());
        }
        let Some(parent) = self.reminder_of_turn(turn) else {
            return refused("there is no active reminder context any more; its file is gone.".to_owned());
        };
        let child = Moment::minutes_after(now, wait).and_then(|at| next_check(&parent, at));
        let child = match child {
            Ok(child) => child,
            Err(invalid) => return refused(invalid.to_string()),
        };
        let mut tx = Transaction::at(now);
        let file = format!("reminders/{}.md", slug(child.prompt.as_str()));
        let what = JobSpec::Reminder(child);
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::Write(Box::new(what.clone())))));
        self.add_plan(Arc::new(PlannedJob { spec: what, file }), &mut tx);
        let reply =
            format!("one more check comes in {wait} minutes. it starts fresh: its words are all it gets.");
        (Answer::Text(reply), tx.into_effects())
    }

    /// CH-7: returns true if the check before `planned` in its chain will be retried: it may still
    /// move this one.
    pub(super) fn waits_for_previous_check(&self, planned: &PlannedJob) -> bool {
        let before = match &planned.spec {
            JobSpec::Reminder(reminder) => previous_check_id(&reminder.chain),
            JobSpec::Routine(_) => None,
        };
        let plans = &self.state.plans;
        let open = before.and_then(|id| plans.busy_with(&CostSource::Reminder(id)));
        open.is_some_and(|open| !plans.is_unread(open))
    }

    /// Returns the reminder whose job `turn` runs.
    fn reminder_of_turn(&self, turn: TurnId) -> Option<Arc<PlannedJob>> {
        let (branch, running) = self.find_turn(turn)?;
        let source = match self.state.turns.runs.get(&branch) {
            Some(run) => run.source.clone(),
            None => self.state.plans.asked_with(running.answers()?)?.key.source.clone(),
        };
        let plan = self.state.plans.agenda.get(&source)?;
        matches!(source, CostSource::Reminder(_)).then(|| Arc::clone(&plan.job))
    }
}

/// Returns the check after `parent`, with the same text and terms. Its id derives from the chain
/// and the depth, so creating it twice gives one reminder.
fn next_check(parent: &PlannedJob, at: Moment) -> Result<Reminder, crate::schedule::InvalidField> {
    let JobSpec::Reminder(reminder) = &parent.spec else {
        return Err(crate::schedule::InvalidField::new(
            "chain-depth",
            "only reminders are followed by a check",
        ));
    };
    let root = reminder.chain.parent.clone().unwrap_or_else(|| reminder.id.to_string());
    let chain =
        Chain { depth: reminder.chain.depth + 1, max: reminder.chain.max, parent: Some(root.clone()) };
    let id = ItemId::parse(&check_id(&root, chain.depth))?;
    let mut next = reminder.clone();
    (next.id, next.run_at, next.chain) = (id, at, chain);
    Ok(next)
}

/// Returns the id of the check at `depth` in the chain of `root`.
fn check_id(root: &str, depth: u32) -> String {
    match depth {
        0 => root.to_owned(),
        depth => hash8(&format!("{root} {depth}")),
    }
}

/// Returns the id of the preceding check in the chain, or `None` for the first.
fn previous_check_id(chain: &Chain) -> Option<String> {
    let root = chain.parent.as_deref()?;
    chain.depth.checked_sub(1).map(|depth| check_id(root, depth))
}

/// Returns eight hexadecimal digits derived from `text` (FNV-1a).
fn hash8(text: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{JobTarget, Prompt};

    /// CH-7, A11: the next check has its parent's text and terms, and an id derived from the chain.
    #[test]
    fn next_check_has_a_stable_id() {
        let at = |text: &str| Moment::parse(text, &jiff::tz::TimeZone::UTC).unwrap();
        let id = ItemId::parse("c4f5e6a7").unwrap();
        let due = at("2026-11-16T09:00Z");
        let mut first = Reminder::new(id, due, JobTarget::main(), Prompt::new("was it sent?")).unwrap();
        first.chain = Chain { depth: 0, max: 2, parent: Some("c4f5e6a7".to_owned()) };
        first.description = "the report".to_owned();
        let planned = |reminder| PlannedJob { spec: JobSpec::Reminder(reminder), file: String::new() };
        let second = next_check(&planned(first.clone()), at("2026-11-16T09:20Z")).unwrap();
        let again = next_check(&planned(first.clone()), at("2026-11-16T10:00Z")).unwrap();
        assert_eq!(second.id, again.id);
        assert_eq!((second.chain.depth, second.chain.max), (1, 2));
        assert_eq!(second.chain.parent.as_deref(), Some("c4f5e6a7"));
        assert_eq!((&second.description, &second.prompt), (&first.description, &first.prompt));
        let third = next_check(&planned(second.clone()), at("2026-11-16T11:00Z")).unwrap();
        assert_ne!(third.id, second.id);
        assert_eq!(third.chain.parent.as_deref(), Some("c4f5e6a7"));
    }

    #[test]
    fn next_check_keeps_tools_withheld_from_its_parent() {
        use crate::schedule::{RunOptions, ToolRule};
        let at = |text: &str| Moment::parse(text, &jiff::tz::TimeZone::UTC).unwrap();
        let id = ItemId::parse("c4f5e6a7").unwrap();
        let due = at("2026-11-16T09:00Z");
        let tools = ToolRule::Only(vec!["WebFetch".to_owned()]);
        let charter = JobTarget::Fork(RunOptions { tools: tools.clone(), ..RunOptions::default() });
        let mut first = Reminder::new(id, due, charter, Prompt::new("was it sent?")).unwrap();
        first.chain = Chain { depth: 0, max: 2, parent: Some("c4f5e6a7".to_owned()) };
        let held = JobSpec::Reminder(first).without(&["\"WebFetch\"".to_owned()]);
        let second =
            next_check(&PlannedJob { spec: held, file: String::new() }, at("2026-11-16T09:20Z")).unwrap();
        assert_eq!(
            second.target().written_options().tools,
            ToolRule::Only(Vec::new()),
            "it is held back there too"
        );
        assert_eq!(second.written_lists().tools, tools);
    }
}
