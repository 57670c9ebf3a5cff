//! Webhook deliveries without a model: their text goes to the user unchanged, as a ping.
//!
//! The delivery is stored as a run that pinged once, so that it is charged, recorded and replied to
//! like any run. A ping that may not be sent now is deferred to the digest, so that no delivery is
//! lost.

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

/// How the text of a delivery was handled.
enum Told {
    Rang,
    Held(HeldFor),
    Kept,
}

impl Assistant {
    /// Sends or defers `content`, and ends the delivery.
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
        // A deferred text is left as an update when its digest is shown.
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

    /// Appends the ping in the form of a run's tool call.
    fn ring_with(&mut self, branch: &Branch, words: &str, minutes: &mut Minutes) {
        let id = format!("delivery-{branch}");
        let name = PlacedTool::Ping.name().to_owned();
        let call = ToolCall { id: id.clone(), name, input: Json("{}".to_owned()) };
        self.say_on(branch, Said::Assistant(vec![Block::Call(call)], Reach::Whole), minutes);
        let outcome = Outcome::Shown(Showing::Words(words.to_owned()));
        let result = ToolResult { call: id, text: words.to_owned(), outcome, label: from_a_webhook() };
        self.say_on(branch, Said::Tools(vec![result]), minutes);
    }

    /// Clears the run's duty to report, because the update was left here.
    fn forgive_report(&mut self, branch: &Branch) {
        if let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) {
            run.doings.untold = false;
        }
    }
}
