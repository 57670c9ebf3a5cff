//! Context tools: tool calls whose effect depends on where the turn runs.

use std::sync::Arc;

use jiff::Zoned;

use super::{ActiveTurn, Answer, Assistant, Effect, Transaction};
use crate::context_tool::ContextTool;
use crate::conversation::Branch;
use crate::cost::CostSource;
use crate::embed::{ButtonAction, Embed, Footer};
use crate::fork::ForkExit;
use crate::label::Label;
use crate::permission::{Authority, links_in};
use crate::place::{ContextToolKind, Place};
use crate::record::{Address, Record, SentChange, SurfaceName};
use crate::schedule::ToolRule;
use crate::sent_messages::{StoredPrompt, StoredPromptId};
use crate::tool::{ServerToolKinds, ShownContent};
use crate::turn::TurnId;

impl Assistant {
    /// TL-2: returns the place and permissions of `turn`, or `None` if it has ended.
    pub(super) fn authority(&self, turn: TurnId) -> Option<Authority> {
        let (branch, running) = self.find_turn(turn)?;
        let modes = self.state.choices.modes;
        let usual = ToolRule::SameAsMain;
        let (place, tools, mode) = match (&branch, self.state.turns.runs.get(&branch)) {
            (_, Some(run)) => (Place::Background(run.place), run.terms.tools.clone(), modes.main),
            (Branch::Main, None) => (Place::Main(self.follow_up_permission(turn)), usual, modes.main),
            (Branch::Fork(_), None) => (Place::Fork, usual, modes.fork.unwrap_or(modes.main)),
        };
        let knows = self.label(&branch);
        let links = self.known_links(&branch, &running);
        let request = self.user_request(&branch, &running);
        Some(Authority {
            place,
            tools,
            mode,
            label: knows,
            links,
            request,
            server_kinds: ServerToolKinds::new(),
            clock: None,
        })
    }

    /// Returns the addresses written by the user, in messages or in the file of the active job, and
    /// those seen in results.
    fn known_links(&self, branch: &Branch, running: &ActiveTurn) -> Vec<String> {
        let known = self.state.messages.links.iter().chain(self.state.messages.seen.iter()).cloned();
        let written = self.job_text(branch, running).map(|words| links_in(&words).collect::<Vec<_>>());
        known.chain(written.unwrap_or_default()).collect()
    }

    /// Returns the user's request in this turn: a message, or the text of the job's file.
    fn user_request(&self, branch: &Branch, running: &ActiveTurn) -> Option<String> {
        if let Some(written) = self.job_text(branch, running) {
            return Some(written);
        }
        let message = running.message()?;
        let by_user =
            message.surface != SurfaceName::Internal && !matches!(message.address, Address::Button(..));
        by_user.then(|| message.text.clone())
    }

    /// Returns the text that the user wrote into the file of the routine or reminder that runs on
    /// `branch`.
    fn job_text(&self, branch: &Branch, running: &ActiveTurn) -> Option<String> {
        let source = self.state.turns.runs.get(branch).map(|run| &run.source)?;
        if !matches!(source, CostSource::Routine(_) | CostSource::Reminder(_)) {
            return None;
        }
        // A model wrote it in a conversation with outside text, so it may not be the user's
        // request.
        if self.label_of_text(source).is_tainted() {
            return None;
        }
        // The prompt of the run may contain output of its skills' commands; the file does not.
        let planned = self.state.plans.agenda.get(source).map(|plan| plan.job.prompt().as_str().to_owned());
        planned.or_else(|| running.message().map(|message| message.text.clone()))
    }

    pub(super) fn use_context_tool(
        &mut self,
        turn: TurnId,
        tool_call: ContextTool,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some(Authority { place, label, .. }) = self.authority(turn) else {
            return super::turn_requests::turn_ended_refusal();
        };
        if let Err(sentence) = place.check_tool(tool_call.kind()) {
            return (Answer::Refused(sentence.to_owned()), Vec::new());
        }
        let tool = tool_call.kind().name();
        match (tool_call, place) {
            (ContextTool::Show(embed, _), Place::Main(_)) => self.show_embed(embed, Footer::None, label, now),
            (ContextTool::Show(embed, _), Place::Fork) => self.show_embed(embed, Footer::Fork, label, now),
            (ContextTool::FollowUp(wait), Place::Background(_) | Place::Main(_)) => {
                self.schedule_check(turn, wait, now)
            }
            (tool_call, Place::Background(_)) => self.use_context_tool_in_run(turn, tool_call, now),
            // MC-20: main may be active while a fork is open; forks are never nested.
            (ContextTool::EnterFork(_), Place::Main(_)) if self.state.fork.is_some() => (
                Answer::Refused(
                    Place::Fork.check_tool(ContextToolKind::EnterFork).err().unwrap_or_default().to_owned(),
                ),
                Vec::new(),
            ),
            (ContextTool::EnterFork(asked), Place::Main(_)) => text_reply(
                "Entering fork: this turn is being interrupted, and goes on there.",
                self.request_fork_by_model(asked, now),
            ),
            (ContextTool::Save, Place::Fork) => text_reply(
                "the fork will be promoted to the main conversation after your response.",
                self.save_exit(ForkExit::Save, now),
            ),
            (ContextTool::Report(text), Place::Fork) => text_reply(
                "the summary is queued for main, and the fork is discarded after your response. more tool calls \
                 only delay that.",
                self.save_exit(ForkExit::Report(text), now),
            ),
            (ContextTool::ExitFork, Place::Fork) => text_reply(
                "the fork will be discarded after your response.",
                self.save_exit(ForkExit::Discard, now),
            ),
            (
                ContextTool::Ping(..)
                | ContextTool::FollowUp(_)
                | ContextTool::Save
                | ContextTool::Report(_)
                | ContextTool::EnterFork(_)
                | ContextTool::ExitFork
                | ContextTool::Compact(_),
                _,
            ) => unavailable(tool),
        }
    }

    /// Shows an embed, as part of the tool's result, which is recorded before it is shown. XB-6:
    /// registers the questions of its buttons, each under its own id.
    fn show_embed(
        &mut self,
        embed: Embed,
        footer: Footer,
        label: Label,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let mut embed = Embed { footer, ..embed }.fitted();
        for button in &mut embed.buttons {
            if let ButtonAction::Ask(prompt) = &button.action {
                let id = StoredPromptId(self.rng.short_id());
                let prompt = prompt.clone();
                let inquiry = StoredPrompt { id: id.clone(), prompt, at: tx.at, label };
                Arc::make_mut(&mut self.state.messages.sent).register_prompt(inquiry.clone());
                tx.records.push(Record::from(SentChange::ButtonRegistered(inquiry)));
                button.action = ButtonAction::AskStored(id);
            }
        }
        (Answer::Shown(ShownContent::Embed(embed)), tx.into_effects())
    }

    /// Shows the ping of a background run.
    pub(super) fn show_ping(
        &mut self,
        showing: ShownContent,
        label: Label,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        match showing {
            ShownContent::Embed(embed) => self.show_embed(embed, Footer::Background, label, now),
            ShownContent::Text(_) => (Answer::Shown(showing), Vec::new()),
        }
    }

    /// Carries out a context tool of a background run.
    fn use_context_tool_in_run(
        &mut self,
        turn: TurnId,
        tool_call: ContextTool,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, _)) = self.find_turn(turn) else {
            return super::turn_requests::turn_ended_refusal();
        };
        let tx = Transaction::at(now);
        let tool = tool_call.kind().name();
        match tool_call {
            ContextTool::Show(embed, urgency) => self.ping(&branch, urgency, ShownContent::Embed(embed), now),
            ContextTool::Ping(text, urgency) => self.ping(&branch, urgency, ShownContent::Text(text), now),
            ContextTool::Report(text) => self.leave_run_update(&branch, text, tx),
            ContextTool::Compact(words) => self.request_session_compaction(&branch, words, tx),
            ContextTool::FollowUp(wait) => self.schedule_check(turn, wait, now),
            ContextTool::Save | ContextTool::EnterFork(_) | ContextTool::ExitFork => unavailable(tool),
        }
    }
}

fn unavailable(tool: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(format!("Error: `{tool}` is not available here. go on without it.")), Vec::new())
}

fn text_reply(text: &str, effects: Vec<Effect>) -> (Answer, Vec<Effect>) {
    (Answer::Text(text.to_owned()), effects)
}
