//! Work for somebody else: an agent that a turn asks, and the reader who reads words from outside in main's stead.
//!
//! Both run on lone branches by the same driver as every turn. Who asked waits for what comes of it, and whatever that
//! is carries the label of the branch it was made on. Main stays clean: what comes from outside is shown to the human,
//! and main only hears that it was. A reply to it goes on where it was read.

use std::sync::Arc;

use super::{Assistant, Effect, Ended, Ending, Left, Minutes, Spot};
use crate::context;
use crate::conversation::{Branch, Said, Text};
use crate::cost::Source;
use crate::effort::Effort;
use crate::label::Label;
use crate::place::{Aside, Follow};
use crate::record::{Record, SentChange};
use crate::run::{Asker, Job, Run};
use crate::schedule::{Prompt, Terms, Thinking, ToolRule};
use crate::sent::{End, Origin, SentId};
use crate::tool::{Outcome, Showing, ToolCall, ToolResult};
use crate::turn::TurnId;

/// Words from outside that were shown to the human beside main: where they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    call: String,
    origin: Origin,
}

impl Assistant {
    /// SA-5: an agent works on `call` aside, with no more authority than who asks; or why nobody does.
    pub(super) fn delegate(
        &mut self,
        call: &ToolCall,
        (turn, branch): (TurnId, &Branch),
        minutes: &mut Minutes,
    ) -> Result<(), String> {
        let given = |key: &str| call.input.text(key).map(|text| text.trim().to_owned()).unwrap_or_default();
        let (name, task) = (given("subagent_type"), given("prompt"));
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
        self.set_off_for(job, (asker, self.label_of(branch)), minutes);
        Ok(())
    }

    /// Whether words from outside came back to a main that has none: those calls are read by somebody else.
    pub(super) fn reads_aside(&self, branch: &Branch, results: &[ToolResult]) -> bool {
        *branch == Branch::Main
            && !self.label_of(branch).is_tainted()
            && results.iter().any(|result| result.label.is_tainted())
    }

    /// A reader without tools reads each of `results` that is from outside. Gives the calls that it works on.
    pub(super) fn read_aside(
        &mut self,
        turn: TurnId,
        (calls, results): (&[ToolCall], &[ToolResult]),
        minutes: &mut Minutes,
    ) -> Vec<String> {
        let mut asked = Vec::new();
        for result in results.iter().filter(|result| result.label.is_tainted()) {
            let call = calls.iter().find(|call| call.id == result.call);
            let question = call.and_then(|call| call.input.text("prompt")).unwrap_or_default();
            let prompt = Prompt::new(&context::to_be_read(&question, &result.text));
            let terms = Terms {
                thinking: Thinking::Off,
                effort: Some(Effort::Low),
                tools: ToolRule::Only(Vec::new()),
                ..Terms::default()
            };
            let (source, aside) = (Source::Reader, Aside::Isolated(Follow::Alone));
            let job = Job { source, name: "reader".to_owned(), aside, terms, prompt };
            let asker = Asker { turn, call: result.call.clone() };
            self.set_off_for(job, (asker, result.label), minutes);
            asked.push(result.call.clone());
        }
        asked
    }

    fn set_off_for(&mut self, job: Job, (asker, label): (Asker, Label), minutes: &mut Minutes) {
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
        let Some((branch, _)) = self.run_of(turn) else { return };
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
        let stays_clean =
            branch == Branch::Main && !self.label_of(&branch).is_tainted() && label.is_tainted();
        if !stays_clean {
            let result = ToolResult { call, text: said, outcome: Outcome::Done, label };
            return minutes.results.push((turn, result));
        }
        let text = context::SHOWN_TO_THE_HUMAN.to_owned();
        let outcome = Outcome::Shown(Showing::Words(context::from_outside(&said, label)));
        if let (Some(origin), Some(running)) = (self.origin_of(run, minutes), self.running.get_mut(&branch)) {
            running.readings.push(Reading { call: call.clone(), origin });
        }
        minutes.results.push((turn, ToolResult { call, text, outcome, label: Label::PLAIN }));
    }

    fn origin_of(&self, run: &Run, minutes: &Minutes) -> Option<Origin> {
        let head = self.memory.conversation.head(&run.branch)?;
        let Spot { entry, label } = Spot::of(head)?;
        let end = End { source: run.source.clone(), root: None, entry, label };
        let (session, parent) = (head.session.clone(), None);
        Some(Origin { id: SentId(0), session, parent, at: minutes.at, end: Some(end) })
    }

    /// What was read aside is shown in `entry`: a reply to that goes on where it was read.
    pub(super) fn keep_readings(&mut self, readings: Vec<Reading>, entry: SentId, minutes: &mut Minutes) {
        let Some(newest) = readings.into_iter().next_back() else { return };
        let origins = vec![Origin { id: entry, ..newest.origin }];
        Arc::make_mut(&mut self.memory.messages.sent).keep(&origins, minutes.at);
        minutes.records.push(Record::from(SentChange::Kept(origins)));
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
