//! Handles the frames of the program.

use std::sync::Arc;

use domain::conversation::Usage;
use domain::failure::Failure;

use super::super::assembly::Assembly;
use super::super::company::{Boundary, Notice, Trigger};
use super::super::plan::Plan;
use super::super::refusal;
use super::super::wire::{Asked, Ended, Frame, Metadata};
use super::{Client, News, Next, Outcome, Phase, Progress, Speech, Wanted};

impl Client {
    pub(super) async fn told(&mut self, frame: Frame) -> Next {
        if let Phase::Speaking(speech) = &mut self.phase
            && speech.progress == Progress::Sent
        {
            speech.progress = Progress::Heard;
        }
        match frame {
            Frame::Began(session) => self.program.session = session,
            Frame::Compacting => self.notice(Notice::Compacting),
            Frame::Boundary(metadata) => self.compacted(&metadata),
            Frame::Told(event) => {
                let Phase::Speaking(speech) = &mut self.phase else { return Next::Go };
                let before = speech.assembly.usage();
                let words = speech.assembly.told(event);
                speech.count(before).await;
                speech.say(words).await;
            }
            Frame::Spoke(message) => {
                let Phase::Speaking(speech) = &mut self.phase else { return Next::Go };
                let words = speech.assembly.spoke(message);
                speech.say(words).await;
            }
            Frame::Ended(ended) => return self.ended(&ended).await,
            Frame::Asked(id, Asked::Tools { message }) => {
                let answer = self.program.tools.asked(id, message);
                self.answer(answer.into_iter().collect()).await;
            }
            Frame::Asked(id, asked) => self.question(id, asked).await,
            Frame::Withdrawn(id) => self.program.tools.withdrawn(&id),
            Frame::Answered(..) | Frame::Other => return self.perhaps_ready().await,
        }
        if self.all_calls() { self.hand_over_calls().await } else { Next::Go }
    }

    /// Returns whether there are calls that can be returned as soon as no more are expected.
    pub(super) fn some_calls(&self) -> bool {
        let Phase::Speaking(speech) = &self.phase else { return false };
        !speech.assembly.is_streaming() && !self.program.tools.new_ids().is_empty()
    }

    fn all_calls(&self) -> bool {
        let Phase::Speaking(speech) = &self.phase else { return false };
        self.some_calls() && speech.assembly.has_all(&self.program.tools.new_ids())
    }

    /// Returns the new calls as a reply; the program waits for their results.
    pub(super) async fn hand_over_calls(&mut self) -> Next {
        let Phase::Speaking(mut speech) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Next::Go;
        };
        self.phase = Phase::Calling(speech.heard);
        let reply = speech.assembly.calling(self.program.tools.take_new());
        self.keep(&speech.ask, speech.heard, speech.heard).await;
        let outcome = Outcome { reply, compaction: speech.compaction };
        // The requester may have left. Then the results never arrive, and the next request
        // interrupts the program.
        let _ = speech.ask.news.send(News::Done(Ok(outcome))).await;
        Next::Go
    }

    async fn perhaps_ready(&mut self) -> Next {
        let Phase::Starting(ready, _) = &mut self.phase else { return Next::Go };
        match ready.try_recv() {
            Ok(Ok(_)) => {
                self.unready = 0;
                self.ready().await
            }
            Ok(Err(why)) if why.contains("Control request timeout") => self.unready().await,
            Ok(Err(why)) => {
                let why = self.shared.settings.environment.hide(&why);
                self.over(Failure::Rejected(why)).await
            }
            Err(_) => Next::Go,
        }
    }

    /// Starts the pending request, which may differ from the one that the program was started for.
    async fn ready(&mut self) -> Next {
        let started = std::mem::replace(&mut self.phase, Phase::Idle);
        let (Phase::Starting(_, started), Some(ask)) = (started, self.waiting.take()) else {
            return Next::Go;
        };
        let plan = self.shared.plan(&ask);
        if plan == started { self.speak(ask, plan).await } else { self.restart(plan, ask).await }
    }

    async fn ended(&mut self, ended: &Ended) -> Next {
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Starting(_, plan) => self.unstarted(plan, ended).await,
            Phase::Speaking(speech) => {
                self.over_with(ended);
                self.finish(*speech, ended).await
            }
            Phase::Draining(speech) => {
                self.over_with(ended);
                if let Some(speech) = speech {
                    self.keep(&speech.ask, speech.heard, speech.heard).await;
                }
                self.next().await
            }
            Phase::Calling(_) => {
                self.over_with(ended);
                Next::Go
            }
            // The end of an unsolicited turn.
            Phase::Idle => Next::Go,
        }
    }

    async fn unstarted(&mut self, plan: Plan, ended: &Ended) -> Next {
        if !refusal::lost_session(ended) {
            let failure = self.failure(ended);
            return self.over(failure).await;
        }
        self.notice(Notice::SessionLost(ended.errors.join("; ")));
        let sessions = &self.shared.company.sessions;
        for (branch, place) in sessions.all() {
            if plan.start.session() == Some(&place.session) {
                sessions.forget(&branch).await;
            }
        }
        self.begin_again().await
    }

    fn over_with(&mut self, ended: &Ended) {
        if !ended.session_id.is_empty() {
            self.program.session.clone_from(&ended.session_id);
        }
        self.program.tools.clear();
        self.questions.clear();
    }

    async fn finish(&mut self, mut speech: Speech, ended: &Ended) -> Next {
        self.keep(&speech.ask, speech.heard, speech.heard).await;
        let unanswered = speech.assembly.is_silent() && speech.compaction.boundaries > 0;
        if unanswered && !ended.is_error && speech.may_ask_again() {
            return self.ask_again(speech).await;
        }
        speech.compaction.turns = ended.num_turns;
        let done = if ended.is_error {
            Err(cut_off(self.failure(ended), &speech.assembly))
        } else {
            if speech.ask.wanted == Wanted::Reply {
                let words = speech.assembly.fall_back_on(&ended.result);
                speech.say(words).await;
            }
            let reply = speech.assembly.finish(ended.stop_reason.as_deref());
            Ok(Outcome { reply, compaction: speech.compaction })
        };
        let refused = matches!(done, Err(Failure::BadKey(_)));
        // The requester may have left.
        let _ = speech.ask.news.send(News::Done(done)).await;
        // A program keeps its credentials; a new one reads the current ones.
        if refused { Next::Over } else { self.next().await }
    }

    /// CP-6, CP-9: sends the message again, once and only without an answer.
    async fn ask_again(&mut self, mut speech: Speech) -> Next {
        if let Some(message) = &speech.message {
            // A failed write means that the program has ended, which reading detects.
            let _ = self.program.control.say(message).await;
        }
        speech.progress = Progress::AskedAgain;
        self.phase = Phase::Speaking(Box::new(speech));
        Next::Go
    }

    fn failure(&self, ended: &Ended) -> Failure {
        refusal::failure(ended, &self.shared.settings.environment)
    }

    fn compacted(&mut self, metadata: &Metadata) {
        let trigger = if metadata.trigger == "manual" { Trigger::Manual } else { Trigger::Auto };
        let Metadata { pre_tokens, post_tokens, .. } = *metadata;
        if let Phase::Speaking(speech) = &mut self.phase {
            speech.compaction.boundaries += 1;
            speech.compaction.pre_tokens = pre_tokens;
            speech.compaction.post_tokens = post_tokens;
        }
        self.notice(Notice::Compacted(Boundary { trigger, pre_tokens, post_tokens }));
    }

    fn notice(&self, notice: Notice) {
        Arc::clone(&self.shared.company.notices).notice(&self.branch, notice);
    }
}

impl Speech {
    async fn say(&self, words: Option<String>) {
        if let Some(words) = words {
            // A closed channel is detected in the main loop.
            let _ = self.ask.news.send(News::Words(words)).await;
        }
    }

    /// Reports the usage as soon as it differs from `before`, because the reply may be cut off.
    async fn count(&self, before: Usage) {
        let usage = self.assembly.usage();
        if usage != before {
            // The requester may have left.
            let model = self.assembly.model().to_owned();
            let _ = self.ask.news.send(News::Used(usage, model)).await;
        }
    }

    fn may_ask_again(&self) -> bool {
        self.progress != Progress::AskedAgain && self.message.is_some() && self.ask.wanted == Wanted::Reply
    }
}

/// Turns a lost connection into a cut-off reply if text was streamed.
fn cut_off(failure: Failure, heard: &Assembly) -> Failure {
    if heard.was_heard() && matches!(failure, Failure::Unreachable(_)) {
        return Failure::CutOff("the connection was lost".to_owned());
    }
    failure
}
