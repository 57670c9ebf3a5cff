//! Context tools: tool calls whose effect depends on where the turn runs.

use std::sync::Arc;

use jiff::Zoned;

use super::{Answer, Assistant, Effect, Minutes, Running};
use crate::conversation::Branch;
use crate::cost::Source;
use crate::embed::{Action, Embed, Footer};
use crate::fork::Exit;
use crate::label::Label;
use crate::permission::{Authority, links};
use crate::place::{Place, PlacedTool};
use crate::record::{Address, Record, SentChange, SurfaceName};
use crate::schedule::ToolRule;
use crate::sent::{Inquiry, InquiryId};
use crate::tool::{ServerKinds, Showing};
use crate::turn::TurnId;
use crate::wish::Wish;

impl Assistant {
    /// TL-2: returns the place and permissions of `turn`, or `None` if it has ended.
    pub(super) fn authority(&self, turn: TurnId) -> Option<Authority> {
        let (branch, running) = self.run_of(turn)?;
        let modes = self.memory.chosen.modes;
        let usual = ToolRule::Usual;
        let (place, tools, mode) = match (&branch, self.memory.turns.runs.get(&branch)) {
            (_, Some(run)) => (Place::Background(run.aside), run.terms.tools.clone(), modes.main),
            (Branch::Main, None) => (Place::Main(self.follows(turn)), usual, modes.main),
            (Branch::Fork(_), None) => (Place::Fork, usual, modes.fork.unwrap_or(modes.main)),
        };
        let knows = self.label_of(&branch);
        let links = self.links_for(&branch, &running);
        let request = self.request_of(&branch, &running);
        Some(Authority { place, tools, mode, knows, links, request, kinds: ServerKinds::new(), clock: None })
    }

    /// Returns the addresses written by the user, in messages or in the file of the active job, and
    /// those seen in results.
    fn links_for(&self, branch: &Branch, running: &Running) -> Vec<String> {
        let known = self.memory.messages.links.iter().chain(self.memory.messages.seen.iter()).cloned();
        let written = self.written_for(branch, running).map(|words| links(&words).collect::<Vec<_>>());
        known.chain(written.unwrap_or_default()).collect()
    }

    /// Returns the user's request in this turn: a message, or the text of the job's file.
    fn request_of(&self, branch: &Branch, running: &Running) -> Option<String> {
        if let Some(written) = self.written_for(branch, running) {
            return Some(written);
        }
        let message = running.message()?;
        let by_user = message.surface != SurfaceName::House && !matches!(message.to, Address::Button(..));
        by_user.then(|| message.text.clone())
    }

    /// Returns the text that the user wrote into the file of the routine or reminder that runs on
    /// `branch`.
    fn written_for(&self, branch: &Branch, running: &Running) -> Option<String> {
        let source = self.memory.turns.runs.get(branch).map(|run| &run.source)?;
        if !matches!(source, Source::Routine(_) | Source::Reminder(_)) {
            return None;
        }
        // A model wrote it in a conversation with outside text, so it may not be the user's
        // request.
        if self.label_of_words(source).is_tainted() {
            return None;
        }
        // The prompt of the run may contain output of its skills' commands; the file does not.
        let planned =
            self.memory.plans.agenda.get(source).map(|plan| plan.planned.message().as_str().to_owned());
        planned.or_else(|| running.message().map(|message| message.text.clone()))
    }

    pub(super) fn wished(&mut self, turn: TurnId, wish: Wish, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(Authority { place, knows: label, .. }) = self.authority(turn) else {
            return super::progressing::gone();
        };
        if let Err(sentence) = place.admits(wish.tool()) {
            return (Answer::Refused(sentence.to_owned()), Vec::new());
        }
        let tool = wish.tool().name();
        match (wish, place) {
            (Wish::Show(embed, _), Place::Main(_)) => self.show(embed, Footer::None, label, now),
            (Wish::Show(embed, _), Place::Fork) => self.show(embed, Footer::Fork, label, now),
            (Wish::FollowUp(wait), Place::Background(_) | Place::Main(_)) => self.follow_up(turn, wait, now),
            (wish, Place::Background(_)) => self.wished_aside(turn, wish, now),
            // MC-20: main may be active while a fork is open; forks are never nested.
            (Wish::EnterFork(_), Place::Main(_)) if self.memory.fork.is_some() => (
                Answer::Refused(
                    Place::Fork.admits(PlacedTool::EnterFork).err().unwrap_or_default().to_owned(),
                ),
                Vec::new(),
            ),
            (Wish::EnterFork(asked), Place::Main(_)) => told(
                "Entering fork: this turn is being interrupted, and goes on there.",
                self.enter_asked(asked, now),
            ),
            (Wish::Save, Place::Fork) => told(
                "the fork will be promoted to the main conversation after your response.",
                self.will_leave(Exit::Save, now),
            ),
            (Wish::Report(text), Place::Fork) => told(
                "the summary is queued for main, and the fork is discarded after your response. more tool calls \
                 only delay that.",
                self.will_leave(Exit::Report(text), now),
            ),
            (Wish::ExitFork, Place::Fork) => {
                told("the fork will be discarded after your response.", self.will_leave(Exit::Drop, now))
            }
            (
                Wish::Ping(..)
                | Wish::FollowUp(_)
                | Wish::Save
                | Wish::Report(_)
                | Wish::EnterFork(_)
                | Wish::ExitFork
                | Wish::Compact(_),
                _,
            ) => unavailable(tool),
        }
    }

    /// Shows an embed, as part of the tool's result, which is recorded before it is shown. XB-6:
    /// registers the questions of its buttons, each under its own id.
    fn show(&mut self, embed: Embed, footer: Footer, label: Label, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let mut embed = Embed { footer, ..embed }.fitted();
        for button in &mut embed.buttons {
            if let Action::Ask(prompt) = &button.action {
                let id = InquiryId(self.dice.id8());
                let prompt = prompt.clone();
                let inquiry = Inquiry { id: id.clone(), prompt, at: minutes.at, label };
                Arc::make_mut(&mut self.memory.messages.sent).register(inquiry.clone());
                minutes.records.push(Record::from(SentChange::Asks(inquiry)));
                button.action = Action::Inquire(id);
            }
        }
        (Answer::Shown(Showing::Embed(embed)), minutes.effects())
    }

    /// Shows the ping of a background run.
    pub(super) fn show_aside(
        &mut self,
        showing: Showing,
        label: Label,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        match showing {
            Showing::Embed(embed) => self.show(embed, Footer::Background, label, now),
            Showing::Words(_) => (Answer::Shown(showing), Vec::new()),
        }
    }

    /// Carries out a context tool of a background run.
    fn wished_aside(&mut self, turn: TurnId, wish: Wish, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some((branch, _)) = self.run_of(turn) else { return super::progressing::gone() };
        let minutes = Minutes::at(now);
        let tool = wish.tool().name();
        match wish {
            Wish::Show(embed, urgency) => self.reach_out(&branch, urgency, Showing::Embed(embed), now),
            Wish::Ping(text, urgency) => self.reach_out(&branch, urgency, Showing::Words(text), now),
            Wish::Report(text) => self.report_from(&branch, text, minutes),
            Wish::Compact(words) => self.compact_later(&branch, words, minutes),
            Wish::FollowUp(wait) => self.follow_up(turn, wait, now),
            Wish::Save | Wish::EnterFork(_) | Wish::ExitFork => unavailable(tool),
        }
    }
}

fn unavailable(tool: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(format!("Error: `{tool}` is not available here. go on without it.")), Vec::new())
}

fn told(text: &str, effects: Vec<Effect>) -> (Answer, Vec<Effect>) {
    (Answer::Told(text.to_owned()), effects)
}
