//! Handles the frames of the program.

use std::sync::Arc;

use domain::conversation::Usage;
use domain::failure::Failure;

use super::super::assembly::TurnAssembler;
use super::super::callbacks::{CompactionBoundary, CompactionTrigger, Notice};
use super::super::protocol::{CompactMetadata, Frame, ProgramRequest, TurnResult};
use super::super::refusal;
use super::super::start_plan::StartPlan;
use super::{ActiveTurn, Client, Flow, Phase, TurnGoal, TurnOutput, TurnProgress, TurnUpdate};

impl Client {
    pub(super) async fn handle_frame(&mut self, frame: Frame) -> Flow {
        if let Phase::Replying(speech) = &mut self.phase
            && speech.progress == TurnProgress::Sent
        {
            speech.progress = TurnProgress::Acknowledged;
        }
        match frame {
            Frame::SessionStarted(session) => self.program.session = session,
            Frame::Compacting => self.send_notice(Notice::Compacting),
            Frame::Compacted(metadata) => self.on_compaction(&metadata),
            Frame::Stream(event) => {
                let Phase::Replying(speech) = &mut self.phase else { return Flow::Continue };
                let before = speech.assembler.usage();
                let text = speech.assembler.add_event(event);
                speech.send_usage(before).await;
                speech.send_text(text).await;
            }
            Frame::Message(message) => {
                let Phase::Replying(speech) = &mut self.phase else { return Flow::Continue };
                let text = speech.assembler.add_message(message);
                speech.send_text(text).await;
            }
            Frame::TurnEnded(ended) => return self.on_turn_end(&ended).await,
            Frame::Request(id, ProgramRequest::McpMessage { message }) => {
                let answer = self.program.tool_server.handle_request(id, message);
                self.send_answers(answer.into_iter().collect()).await;
            }
            Frame::Request(id, asked) => self.handle_question(id, asked).await,
            Frame::RequestCancelled(id) => self.program.tool_server.cancel(&id),
            Frame::Response(..) | Frame::Other => return self.check_ready().await,
        }
        if self.has_all_calls() { self.return_calls().await } else { Flow::Continue }
    }

    /// Returns whether there are calls that can be returned as soon as no more are expected.
    pub(super) fn has_new_calls(&self) -> bool {
        let Phase::Replying(speech) = &self.phase else { return false };
        !speech.assembler.is_streaming() && !self.program.tool_server.new_call_ids().is_empty()
    }

    fn has_all_calls(&self) -> bool {
        let Phase::Replying(speech) = &self.phase else { return false };
        self.has_new_calls() && speech.assembler.contains_all_calls(&self.program.tool_server.new_call_ids())
    }

    /// Returns the new calls as a reply; the program waits for their results.
    pub(super) async fn return_calls(&mut self) -> Flow {
        let Phase::Replying(mut speech) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Flow::Continue;
        };
        self.phase = Phase::WaitingForTools(speech.known_entries);
        let reply = speech.assembler.finish_with_calls(self.program.tool_server.take_new_calls());
        self.save_position(&speech.request, speech.known_entries, speech.known_entries).await;
        let outcome = TurnOutput { reply, compaction: speech.compaction };
        // The requester may have left. Then the results never arrive, and the next request
        // interrupts the program.
        let _ = speech.request.updates.send(TurnUpdate::Done(Ok(outcome))).await;
        Flow::Continue
    }

    async fn check_ready(&mut self) -> Flow {
        let Phase::Starting(ready, _) = &mut self.phase else { return Flow::Continue };
        match ready.try_recv() {
            Ok(Ok(_)) => {
                self.unready = 0;
                self.on_ready().await
            }
            Ok(Err(why)) if why.contains("Control request timeout") => self.unready().await,
            Ok(Err(why)) => {
                let why = self.shared.settings.environment.redact(&why);
                self.end_with(Failure::Rejected(why)).await
            }
            Err(_) => Flow::Continue,
        }
    }

    /// Starts the pending request, which may differ from the one that the program was started for.
    async fn on_ready(&mut self) -> Flow {
        let started = std::mem::replace(&mut self.phase, Phase::Idle);
        let (Phase::Starting(_, started), Some(request)) = (started, self.pending.take()) else {
            return Flow::Continue;
        };
        let plan = self.shared.plan_start(&request);
        if plan == started {
            self.apply_settings_and_send(request, plan).await
        } else {
            self.restart(plan, request).await
        }
    }

    async fn on_turn_end(&mut self, ended: &TurnResult) -> Flow {
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Starting(_, plan) => self.on_start_failure(plan, ended).await,
            Phase::Replying(speech) => {
                self.reset_after_turn(ended);
                self.finish_turn(*speech, ended).await
            }
            Phase::Draining(speech) => {
                self.reset_after_turn(ended);
                if let Some(speech) = speech {
                    self.save_position(&speech.request, speech.known_entries, speech.known_entries).await;
                }
                self.start_pending().await
            }
            Phase::WaitingForTools(_) => {
                self.reset_after_turn(ended);
                Flow::Continue
            }
            // The end of an unsolicited turn.
            Phase::Idle => Flow::Continue,
        }
    }

    async fn on_start_failure(&mut self, plan: StartPlan, ended: &TurnResult) -> Flow {
        if !refusal::is_lost_session(ended) {
            let failure = self.turn_failure(ended);
            return self.end_with(failure).await;
        }
        self.send_notice(Notice::SessionLost(ended.errors.join("; ")));
        let sessions = &self.shared.callbacks.sessions;
        for (branch, place) in sessions.all() {
            if plan.start.session() == Some(&place.session) {
                sessions.remove(&branch).await;
            }
        }
        self.restart_for_pending().await
    }

    fn reset_after_turn(&mut self, ended: &TurnResult) {
        if !ended.session_id.is_empty() {
            self.program.session.clone_from(&ended.session_id);
        }
        self.program.tool_server.clear();
        self.questions.clear();
    }

    async fn finish_turn(&mut self, mut speech: ActiveTurn, ended: &TurnResult) -> Flow {
        self.save_position(&speech.request, speech.known_entries, speech.known_entries).await;
        let unanswered = speech.assembler.is_empty() && speech.compaction.boundaries > 0;
        if unanswered && !ended.is_error && speech.can_resend() {
            return self.resend_message(speech).await;
        }
        speech.compaction.turns = ended.num_turns;
        let done = if ended.is_error {
            Err(cut_off(self.turn_failure(ended), &speech.assembler))
        } else {
            if speech.request.goal == TurnGoal::Reply {
                let text = speech.assembler.use_result_text(&ended.result);
                speech.send_text(text).await;
            }
            let reply = speech.assembler.finish(ended.stop_reason.as_deref());
            Ok(TurnOutput { reply, compaction: speech.compaction })
        };
        let is_bad_key = matches!(done, Err(Failure::BadKey(_)));
        // The requester may have left.
        let _ = speech.request.updates.send(TurnUpdate::Done(done)).await;
        // A program keeps its credentials; a new one reads the current ones.
        if is_bad_key { Flow::End } else { self.start_pending().await }
    }

    /// CP-6, CP-9: sends the message again, once and only without an answer.
    async fn resend_message(&mut self, mut speech: ActiveTurn) -> Flow {
        if let Some(message) = &speech.message {
            // A failed write means that the program has ended, which reading detects.
            let _ = self.program.control.send_message(message).await;
        }
        speech.progress = TurnProgress::Resent;
        self.phase = Phase::Replying(Box::new(speech));
        Flow::Continue
    }

    fn turn_failure(&self, ended: &TurnResult) -> Failure {
        refusal::failure(ended, &self.shared.settings.environment)
    }

    fn on_compaction(&mut self, metadata: &CompactMetadata) {
        let trigger =
            if metadata.trigger == "manual" { CompactionTrigger::Manual } else { CompactionTrigger::Auto };
        let CompactMetadata { pre_tokens, post_tokens, .. } = *metadata;
        if let Phase::Replying(speech) = &mut self.phase {
            speech.compaction.boundaries += 1;
            speech.compaction.pre_tokens = pre_tokens;
            speech.compaction.post_tokens = post_tokens;
        }
        self.send_notice(Notice::Compacted(CompactionBoundary { trigger, pre_tokens, post_tokens }));
    }

    fn send_notice(&self, notice: Notice) {
        Arc::clone(&self.shared.callbacks.notices).notice(&self.branch, notice);
    }
}

impl ActiveTurn {
    async fn send_text(&self, text: Option<String>) {
        if let Some(text) = text {
            // A closed channel is detected in the main loop.
            let _ = self.request.updates.send(TurnUpdate::Text(text)).await;
        }
    }

    /// Reports the usage as soon as it differs from `before`, because the reply may be cut off.
    async fn send_usage(&self, before: Usage) {
        let usage = self.assembler.usage();
        if usage != before {
            // The requester may have left.
            let model = self.assembler.model().to_owned();
            let _ = self.request.updates.send(TurnUpdate::Usage(usage, model)).await;
        }
    }

    fn can_resend(&self) -> bool {
        self.progress != TurnProgress::Resent
            && self.message.is_some()
            && self.request.goal == TurnGoal::Reply
    }
}

/// Turns a lost connection into a cut-off reply if text was streamed.
fn cut_off(failure: Failure, assembler: &TurnAssembler) -> Failure {
    if assembler.has_streamed() && matches!(failure, Failure::Unreachable(_)) {
        return Failure::CutOff("the connection was lost".to_owned());
    }
    failure
}
