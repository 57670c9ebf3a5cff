//! Subagents: an agent works on its own branch on behalf of a turn.
//!
//! It uses the same driver as every turn. The requesting turn waits for the result, which carries
//! the label of the subagent's branch.

use std::sync::Arc;

use super::{Assistant, Effect, Ended, Ending, Left, Minutes};
use crate::context;
use crate::conversation::{Branch, Said, Text};
use crate::cost::Source;
use crate::label::Label;
use crate::place::{Aside, Follow};
use crate::run::{Asker, Job, Run};
use crate::schedule::{Prompt, Terms, ToolRule};
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
        minutes: &mut Minutes,
    ) -> Result<(), String> {
        let given = |key: &str| call.input.text(key).map(|text| text.trim().to_owned()).unwrap_or_default();
        let name = given("subagent_type");
        let task = given("prompt");
        let agents = Arc::clone(&self.memory.chosen.agents);
        let Some(agent) = agents.iter().find(|agent| agent.name == name) else {
            let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
            return Err(context::no_such_agent(&name, &names));
        };
        if task.is_empty() {
            return Err("Error: `prompt` is blank. say what they should do.".to_owned());
        }
        let prompt = Prompt::new(&context::agent_task(agent, &task));
        let own = ToolRule::Only(agent.tools.clone());
        let tools = match self.memory.turns.runs.get(branch) {
            Some(run) => ToolRule::Within(Box::new(run.terms.tools.clone()), Box::new(own)),
            None => own,
        };
        let terms = Terms { model: agent.model.clone(), tools, ..Terms::default() };
        let source = Source::Agent(agent.name.clone());
        let job = Job { source, name: name.clone(), aside: Aside::Isolated(Follow::Alone), terms, prompt };
        let asker = Asker { turn, call: call.id.clone() };
        self.set_off_for(job, asker, self.label_of(branch), minutes);
        Ok(())
    }

    fn set_off_for(&mut self, job: Job, asker: Asker, label: Label, minutes: &mut Minutes) {
        let (mut run, text) = self.branch_off(job, None, minutes);
        let branch = run.branch.clone();
        self.memory.conversation.know(&branch, label);
        Arc::make_mut(&mut run).doings.asker = Some(asker);
        self.memory.turns.runs.insert(branch.clone(), run);
        self.say_first(branch, text, minutes);
    }

    /// Returns the subagent's answer or failure to the requesting turn.
    pub(super) fn tell_asker(&mut self, run: &Run, ended: &Ended, minutes: &mut Minutes) {
        let Some(Asker { turn, call }) = run.doings.asker.clone() else { return };
        if let Some(run) = self.memory.turns.runs.get_mut(&run.branch) {
            Arc::make_mut(run).doings.asker = None;
        }
        if self.run_of(turn).is_none() {
            return;
        }
        let label = self.label_of(&run.branch);
        let said = match (&ended.ending, words(ended)) {
            (Ending::Finished, words) if !words.trim().is_empty() => words,
            (ending, _) if ending.is_at_limit() => {
                return minutes.results.push((turn, failed(call, context::agent_unpaid(&run.name))));
            }
            // The reason may repeat outside text, so it is not passed on.
            (Ending::Failed(_) | Ending::Finished | Ending::Interrupted, _) => {
                return minutes.results.push((turn, failed(call, context::agent_failed(&run.name))));
            }
        };
        minutes.results.push((turn, ToolResult { call, text: said, outcome: Outcome::Done, label }));
    }

    /// Returns true if a turn waits for the run on `branch`: such a run does not wait for an
    /// unreachable model.
    pub(super) fn is_asked_for(&self, branch: &Branch) -> bool {
        self.memory.turns.runs.get(branch).is_some_and(|run| run.doings.asker.is_some())
    }

    /// Returns a failure to the requester of a run that ended without an answer.
    pub(super) fn tell_asker_nothing(&mut self, run: &Run, minutes: &mut Minutes) {
        if let Some(Asker { turn, call }) = run.doings.asker.clone() {
            minutes.results.push((turn, failed(call, context::agent_failed(&run.name))));
        }
    }

    /// Interrupts all subagents of the turn `requester`, which no longer needs them.
    pub(super) fn dismiss(&mut self, asked: TurnId, minutes: &mut Minutes) {
        let asks = |run: &Run| run.doings.asker.as_ref().is_some_and(|asker| asker.turn == asked);
        let idle = self.memory.turns.runs.values().filter(|run| asks(run));
        let turns = idle.filter_map(|run| self.running.get(&run.branch)).map(|running| running.turn);
        minutes.reins.extend(turns.map(Effect::Interrupt));
    }
}

/// Returns the text of the last answer in `ended`.
pub(super) fn words(ended: &Ended) -> String {
    let Left::Said(said) = &ended.left else { return String::new() };
    let last = said.iter().rev().find_map(|said| match said {
        Said::Assistant(blocks, _) => Some(blocks.text()),
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
    });
    last.unwrap_or_default()
}

fn failed(call: String, text: String) -> ToolResult {
    ToolResult { call, text, outcome: Outcome::Failed, label: Label::PLAIN }
}
