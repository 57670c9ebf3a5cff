//! Delegating: an agent works aside for a turn.
//!
//! It runs on a lone branch by the same driver as every turn. The turn that asked waits for its answer, which carries
//! the label of the branch it was made on.

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
    /// SA-5: an agent works on `call` aside, with no more authority than who asks; or why nobody does.
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

    /// Somebody has done what they were asked, or could not: who asked hears it.
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
            // Why may be what words from outside wanted.
            (Ending::Failed(_) | Ending::Finished | Ending::Interrupted, _) => {
                return minutes.results.push((turn, failed(call, context::agent_failed(&run.name))));
            }
        };
        minutes.results.push((turn, ToolResult { call, text: said, outcome: Outcome::Done, label }));
    }

    /// Whether a turn waits for what is done on `branch`: then that does not wait for a model that is away.
    pub(super) fn is_asked_for(&self, branch: &Branch) -> bool {
        self.memory.turns.runs.get(branch).is_some_and(|run| run.doings.asker.is_some())
    }

    /// Somebody ended without a word: who asked does not wait for ever.
    pub(super) fn tell_asker_nothing(&mut self, run: &Run, minutes: &mut Minutes) {
        if let Some(Asker { turn, call }) = run.doings.asker.clone() {
            minutes.results.push((turn, failed(call, context::agent_failed(&run.name))));
        }
    }

    /// Nobody waits any more for what the turn `asked` asked of somebody.
    pub(super) fn dismiss(&mut self, asked: TurnId, minutes: &mut Minutes) {
        let asks = |run: &Run| run.doings.asker.as_ref().is_some_and(|asker| asker.turn == asked);
        let idle = self.memory.turns.runs.values().filter(|run| asks(run));
        let turns = idle.filter_map(|run| self.running.get(&run.branch)).map(|running| running.turn);
        minutes.reins.extend(turns.map(Effect::Interrupt));
    }
}

/// What somebody said last.
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
