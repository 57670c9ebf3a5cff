//! Webhook deliveries without a model: their text goes to the user unchanged, as a ping.
//!
//! The delivery is stored as a run that pinged once, so that it is charged, recorded and replied to
//! like any run. A ping that may not be sent now is deferred to the digest, so that no delivery is
//! lost.

use std::sync::Arc;

use super::webhooks::webhook_label;
use super::{Assistant, Transaction, TurnEnding};
use crate::attention::DeferReason;
use crate::context::{PingRefusal, verbatim_note};
use crate::context_tool::Urgency;
use crate::conversation::{Block, Branch, Completeness, EntryContent, Json, UserInput};
use crate::delivery::Delivery;
use crate::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use crate::place::{BackgroundPlace, ChainPosition, ContextToolKind};
use crate::run::Job;
use crate::schedule::{Prompt, ReportMode, RunOptions, ToolRule};
use crate::tool::{Outcome, ShownContent, ToolCall, ToolResult};

/// The result of sending the text of a delivery.
enum PingResult {
    Sent,
    Deferred(DeferReason),
    Unsent,
}

impl Assistant {
    /// Sends or defers `content`, and ends the delivery.
    pub(super) fn ping_delivery(
        &mut self,
        occurrence: Occurrence,
        delivery: &Delivery,
        content: String,
        tx: &mut Transaction,
    ) {
        let source = delivery.source();
        let name = delivery.display_name();
        let voice = delivery.webhook.options.report_policy;
        let terms =
            RunOptions { report_policy: voice, tools: ToolRule::Only(Vec::new()), ..RunOptions::default() };
        let prompt = Prompt::new(&verbatim_note(delivery));
        let aside = BackgroundPlace::Isolated(ChainPosition::NotInChain);
        let job = Job { source: source.clone(), name: name.clone(), place: aside, terms, prompt };
        let (run, text) = self.create_run_branch(job, None, tx);
        let branch = run.branch.clone();
        let label = webhook_label();
        drop(run);
        self.set_stage(occurrence.clone(), OccurrenceState::Running(branch.clone()), tx);
        self.state.conversation.raise_label(&branch, label);
        self.append(&branch, EntryContent::User(UserInput::note(text)), tx);
        let result = self.check_delivery_ping(&branch, tx);
        match &result {
            PingResult::Sent => self.send_verbatim(&branch, &content, tx),
            PingResult::Deferred(why) => {
                self.defer_message((source.clone(), name), (content.clone(), label), *why, tx)
            }
            PingResult::Unsent => {}
        }
        // A deferred text is left as an update when its digest is shown.
        if voice.reporting != ReportMode::Blocked && !matches!(result, PingResult::Deferred(_)) {
            self.leave_update(&source.to_string(), label, content, tx);
        }
        self.clear_report_duty(&branch);
        self.finish_run(&branch, &TurnEnding::Finished, tx);
        let note = match result {
            PingResult::Sent => "its words went to you as they came".to_owned(),
            PingResult::Deferred(why) => format!("its words wait for the digest: {}", why.describe()),
            PingResult::Unsent => "it may not ping".to_owned(),
        };
        self.finish_occurrence(occurrence, OccurrenceEnd::Done(note), tx);
    }

    fn check_delivery_ping(&mut self, branch: &Branch, tx: &Transaction) -> PingResult {
        let now = tx.at.to_zoned(tx.zone.clone());
        let reserved = self.reserved_pings().0;
        if let Some(why) = self.deferral_reason(reserved, &now) {
            return PingResult::Deferred(why);
        }
        match self.ping_refusal(branch, Urgency::Normal, tx) {
            None => PingResult::Sent,
            Some(PingRefusal::MidConversation) => PingResult::Deferred(DeferReason::Talking),
            Some(PingRefusal::Disabled) => PingResult::Unsent,
            Some(
                PingRefusal::Exhausted
                | PingRefusal::AlreadySent
                | PingRefusal::CriticalSent
                | PingRefusal::CriticalExhausted,
            ) => PingResult::Deferred(DeferReason::DailyCap),
        }
    }

    /// Appends the ping in the form of a run's tool call.
    fn send_verbatim(&mut self, branch: &Branch, text: &str, tx: &mut Transaction) {
        let id = format!("delivery-{branch}");
        let name = ContextToolKind::Ping.name().to_owned();
        let call = ToolCall { id: id.clone(), name, input: Json("{}".to_owned()) };
        self.append(branch, EntryContent::Assistant(vec![Block::Call(call)], Completeness::Complete), tx);
        let outcome = Outcome::Shown(ShownContent::Text(text.to_owned()));
        let result = ToolResult { call: id, text: text.to_owned(), outcome, label: webhook_label() };
        self.append(branch, EntryContent::Tools(vec![result]), tx);
    }

    /// Clears the run's duty to report, because the update was left here.
    fn clear_report_duty(&mut self, branch: &Branch) {
        if let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) {
            run.progress.unreported = false;
        }
    }
}
