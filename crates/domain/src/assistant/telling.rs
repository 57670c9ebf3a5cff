//! Telling: what a webhook brings goes to the human as it is, with no model, as a ping like any other.
//!
//! It stands in the tree as the run of a job that pinged once, so that it is charged, tracked and answered like one. What
//! may not ring now is held for the digest: nothing that was taken in is lost.

use std::sync::Arc;

use super::delivering::from_a_webhook;
use super::{Assistant, Ending, Minutes};
use crate::attention::HeldFor;
use crate::context::{NoPing, shown_as_it_came};
use crate::conversation::{Block, Branch, Heard, Json, Reach, Said};
use crate::delivery::Delivery;
use crate::occurrence::{End, Occurrence, Stage};
use crate::place::{Aside, Follow, PlacedTool};
use crate::run::Job;
use crate::schedule::{Prompt, Reporting, Terms, ToolRule};
use crate::tool::{Outcome, Showing, ToolCall, ToolResult};
use crate::wish::Urgency;

/// What became of words for the human.
enum Told {
    Rang,
    Held(HeldFor),
    Kept,
}

impl Assistant {
    /// The human gets `words`, now or when there is a good moment, and the delivery has ended.
    pub(super) fn tell_delivery(
        &mut self,
        occurrence: Occurrence,
        delivery: &Delivery,
        words: String,
        minutes: &mut Minutes,
    ) {
        let source = delivery.source();
        let name = delivery.name();
        let voice = delivery.hook.terms.voice;
        let terms = Terms { voice, tools: ToolRule::Only(Vec::new()), ..Terms::default() };
        let prompt = Prompt::new(&shown_as_it_came(delivery));
        let aside = Aside::Isolated(Follow::Alone);
        let job = Job { source: source.clone(), name: name.clone(), aside, terms, prompt };
        let (run, text) = self.branch_off(job, None, minutes);
        let branch = run.branch.clone();
        let label = from_a_webhook();
        drop(run);
        self.stands(occurrence.clone(), Stage::Running(branch.clone()), minutes);
        self.memory.conversation.know(&branch, label);
        self.say_on(&branch, Said::Human(Heard::note(text)), minutes);
        let told = self.how_to_tell(&branch, minutes);
        match &told {
            Told::Rang => self.ring_with(&branch, &words, minutes),
            Told::Held(why) => self.keep_back((source.clone(), name), (words.clone(), label), *why, minutes),
            Told::Kept => {}
        }
        // What is held is reported when it is told.
        if voice.reporting != Reporting::Blocked && !matches!(told, Told::Held(_)) {
            self.report(&source.to_string(), label, words, minutes);
        }
        self.forgive_report(&branch);
        self.run_ended(&branch, &Ending::Finished, minutes);
        let note = match told {
            Told::Rang => "its words went to you as they came".to_owned(),
            Told::Held(why) => format!("its words wait for the digest: {}", why.tell()),
            Told::Kept => "it may not ping".to_owned(),
        };
        self.settle(occurrence, End::Done(note), minutes);
    }

    fn how_to_tell(&mut self, branch: &Branch, minutes: &Minutes) -> Told {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let about_to = self.set_aside().0;
        if let Some(why) = self.waits_for(about_to, &now) {
            return Told::Held(why);
        }
        match self.refuses_ping(branch, Urgency::Normal, minutes) {
            None => Told::Rang,
            Some(NoPing::MidConversation) => Told::Held(HeldFor::Talking),
            Some(NoPing::Disabled) => Told::Kept,
            Some(
                NoPing::Exhausted | NoPing::AlreadySent | NoPing::CriticalSent | NoPing::CriticalExhausted,
            ) => Told::Held(HeldFor::Enough),
        }
    }

    /// The ping, as a run would have asked for it.
    fn ring_with(&mut self, branch: &Branch, words: &str, minutes: &mut Minutes) {
        let id = format!("delivery-{branch}");
        let name = PlacedTool::Ping.name().to_owned();
        let call = ToolCall { id: id.clone(), name, input: Json("{}".to_owned()) };
        self.say_on(branch, Said::Assistant(vec![Block::Call(call)], Reach::Whole), minutes);
        let outcome = Outcome::Shown(Showing::Words(words.to_owned()));
        let result = ToolResult { call: id, text: words.to_owned(), outcome, label: from_a_webhook() };
        self.say_on(branch, Said::Tools(vec![result]), minutes);
    }

    /// What it owed main was left by us.
    fn forgive_report(&mut self, branch: &Branch) {
        if let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) {
            run.doings.untold = false;
        }
    }
}
