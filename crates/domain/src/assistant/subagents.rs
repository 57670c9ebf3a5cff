//! Subagents: an agent works on its own branch on behalf of a turn.
//!
//! It uses the same driver as every turn. The requesting turn waits for the result, which carries
//! the label of the subagent's branch.

use std::sync::Arc;

use super::{Assistant, Effect, Transaction, TurnEnding, TurnOutcome, TurnOutput};
use crate::context;
use crate::conversation::{Branch, EntryContent, Text};
use crate::cost::CostSource;
use crate::label::Label;
use crate::place::{BackgroundPlace, ChainPosition};
use crate::run::{Job, Requester, Run};
use crate::schedule::{Prompt, RunOptions, ToolRule};
use crate::tool::{Outcome, ToolCall, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    /// SA-5: starts the subagent for `call` with no more permissions than the requester has.
    /// Returns an error text if it cannot.
    pub(super) fn delegate(
        &mut self,
        call: &ToolCall,
        turn: TurnId,
        branch: &Branch,
        tx: &mut Transaction,
    ) -> Result<(), String> {
        let given = |key: &str| call.input.text(key).map(|text| text.trim().to_owned()).unwrap_or_default();
        let name = given("subagent_type");
        let task = given("prompt");
        let agents = Arc::clone(&self.state.choices.agents);
        let Some(agent) = agents.iter().find(|agent| agent.name == name) else {
            let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
            return Err(context::unknown_agent(&name, &names));
        };
        if task.is_empty() {
            return Err("Error: `prompt` is blank. say what they should do.".to_owned());
        }
        let prompt = Prompt::new(&context::agent_task(agent, &task));
        let own = ToolRule::Only(agent.tools.clone());
        let tools = match self.state.turns.runs.get(branch) {
            Some(run) => ToolRule::Intersection(Box::new(run.terms.tools.clone()), Box::new(own)),
            None => own,
        };
        let terms = RunOptions { model: agent.model.clone(), tools, ..RunOptions::default() };
        let source = CostSource::Agent(agent.name.clone());
        let job = Job {
            source,
            name: name.clone(),
            place: BackgroundPlace::Isolated(ChainPosition::NotInChain),
            terms,
            prompt,
        };
        let requester = Requester { turn, call: call.id.clone() };
        self.start_subagent(job, requester, self.label(branch), tx);
        Ok(())
    }

    fn start_subagent(&mut self, job: Job, requester: Requester, label: Label, tx: &mut Transaction) {
        let (mut run, text) = self.create_run_branch(job, None, tx);
        let branch = run.branch.clone();
        self.state.conversation.raise_label(&branch, label);
        Arc::make_mut(&mut run).progress.requester = Some(requester);
        self.state.turns.runs.insert(branch.clone(), run);
        self.begin_run(branch, text, tx);
    }

    /// Returns the subagent's answer or failure to the requesting turn.
    pub(super) fn answer_requester(&mut self, run: &Run, ended: &TurnOutcome, tx: &mut Transaction) {
        let Some(Requester { turn, call }) = run.progress.requester.clone() else { return };
        if let Some(run) = self.state.turns.runs.get_mut(&run.branch) {
            Arc::make_mut(run).progress.requester = None;
        }
        if self.find_turn(turn).is_none() {
            return;
        }
        let label = self.label(&run.branch);
        let text = match (&ended.ending, last_answer(ended)) {
            (TurnEnding::Finished, words) if !words.trim().is_empty() => words,
            (ending, _) if ending.is_at_limit() => {
                return tx.results.push((turn, failed_result(call, context::agent_over_limit(&run.name))));
            }
            // The reason may repeat outside text, so it is not passed on.
            (TurnEnding::Failed(_) | TurnEnding::Finished | TurnEnding::Interrupted, _) => {
                return tx.results.push((turn, failed_result(call, context::agent_failed(&run.name))));
            }
        };
        tx.results.push((turn, ToolResult { call, text, outcome: Outcome::Done, label }));
    }

    /// Returns true if a turn waits for the run on `branch`: such a run does not wait for an
    /// unreachable model.
    pub(super) fn has_requester(&self, branch: &Branch) -> bool {
        self.state.turns.runs.get(branch).is_some_and(|run| run.progress.requester.is_some())
    }

    /// Returns a failure to the requester of a run that ended without an answer.
    pub(super) fn fail_requester(&mut self, run: &Run, tx: &mut Transaction) {
        if let Some(Requester { turn, call }) = run.progress.requester.clone() {
            tx.results.push((turn, failed_result(call, context::agent_failed(&run.name))));
        }
    }

    /// Interrupts all subagents of the turn `requester`, which no longer needs them.
    pub(super) fn stop_subagents(&mut self, requester: TurnId, tx: &mut Transaction) {
        let asks = |run: &Run| run.progress.requester.as_ref().is_some_and(|asker| asker.turn == requester);
        let runs = self.state.turns.runs.values().filter(|run| asks(run));
        let turns = runs.filter_map(|run| self.active_turns.get(&run.branch)).map(|running| running.turn);
        tx.turn_commands.extend(turns.map(Effect::Interrupt));
    }
}

/// Returns the text of the last answer in `ended`.
pub(super) fn last_answer(ended: &TurnOutcome) -> String {
    let TurnOutput::Contents(said) = &ended.output else { return String::new() };
    let last = said.iter().rev().find_map(|said| match said {
        EntryContent::Assistant(blocks, _) => Some(blocks.text()),
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => None,
    });
    last.unwrap_or_default()
}

fn failed_result(call: String, text: String) -> ToolResult {
    ToolResult { call, text, outcome: Outcome::Failed, label: Label::PLAIN }
}
