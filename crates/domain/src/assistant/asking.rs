//! Dispatches each event and request to the module that handles it.

use jiff::Zoned;

use super::{
    Answer, Assistant, Choice, Effect, Event, Minutes, Progress, Question, Rein, Request, Reshape, Shelf,
    Shown, Step,
};
use crate::settings::Setting;
use crate::turn::TurnId;

impl Assistant {
    pub(super) fn decide(&mut self, event: Event, now: &Zoned) -> Vec<Effect> {
        match event {
            Event::Started => self.started(now),
            Event::TurnEnded(turn, ended) => self.turn_ended(turn, ended, now),
            Event::KeyRenewed => self.key_renewed(now),
            Event::Woke => self.woke(now),
            Event::Files(news, look) => self.files_changed(news, look, now),
            Event::Undelivered(charge) => self.refund(charge, now),
            Event::Seen(surface) => self.seen_on(surface, now),
            Event::Told(text) => vec![Effect::Show(Shown::Notice(text))],
            Event::Carried(id, result) => self.carried(id, &result, now),
            Event::SkillsLoaded(key, loaded) => self.skills_loaded(&key, &loaded, now),
        }
    }

    pub(super) fn answer(&mut self, request: Request, now: &Zoned) -> (Answer, Vec<Effect>) {
        match request {
            Request::Say(saying) => self.say(saying, now),
            Request::Rein(Rein::Stop) => self.stop(now),
            Request::Rein(Rein::Retry) => self.retry(now),
            Request::Reshape(Reshape::Compact(instructions)) => self.compact(instructions, now),
            Request::Reshape(Reshape::Undo) => self.undo(now),
            Request::Reshape(Reshape::Clear) => self.clear(now),
            Request::Step(Step::Aside(topic)) => self.fork(topic, now),
            Request::Step(Step::Back(way)) => self.leave_asked(way, now),
            Request::Turn(turn, progress) => self.got_on(turn, progress, now),
            Request::Inbox(Shelf::Keep(text)) => self.keep(text, now),
            Request::Inbox(Shelf::Remove(id)) => self.remove(id, now),
            Request::Inbox(Shelf::Read(id)) => self.human_read(id, now),
            Request::Approve(reply) => self.approve(&reply, now),
            Request::Tell(Question::Reports) => self.read_reports(now),
            Request::Tell(Question::Inbox) => self.read_inbox(),
            Request::Tell(Question::Status) => self.status(),
            Request::Tell(Question::Numbers) => (Answer::Numbers(self.numbers(now)), Vec::new()),
            Request::Tell(Question::Attention) => {
                (Answer::Attention(Box::new(self.attention(now))), Vec::new())
            }
            Request::Tell(Question::Settings) => self.tell_settings(),
            Request::Tell(Question::Plans) => {
                (Answer::Plans(Box::new(self.memory.plans.clone())), Vec::new())
            }
            Request::Tell(Question::Setting(setting)) => self.tell_setting(setting),
            Request::Tell(Question::MayRenew(wanted)) => self.may_renew(wanted, now),
            Request::Choose(Choice::Model(name)) => self.choose_model(&name, now),
            Request::Press(press) => self.press(press, now),
            Request::Plan(planning) => self.plan(planning, now),
            Request::Announce(words) => (Answer::Noted, vec![Effect::Show(Shown::Notice(words))]),
            Request::StateFiles(edits) => self.state_files_changed(edits, now),
            Request::Choose(Choice::Thinking(way)) => self.choose_thinking(way),
            Request::Choose(Choice::Effort(choice)) => self.choose_effort(choice),
            Request::Choose(Choice::Setting(Setting::Name, typed)) => self.choose_name(&typed, now),
            Request::Choose(Choice::Setting(setting, typed)) => self.set(setting, &typed, now),
            Request::Choose(Choice::Pings(pace)) => self.choose_pace(pace, now),
            Request::Choose(Choice::Permissions(mode)) => self.choose_mode(&mode, now),
            Request::Choose(Choice::Revoke(which)) => self.revoke(&which, now),
            Request::Choose(Choice::Ease(ease)) => self.ease(ease, now),
        }
    }

    fn got_on(&mut self, turn: TurnId, progress: Progress, now: &Zoned) -> (Answer, Vec<Effect>) {
        match progress {
            Progress::MayRun { blocks, spent, kinds, most } => {
                self.may_run(turn, blocks, spent, kinds, most, now)
            }
            Progress::MaySpend(spent, next) => self.may_spend(turn, spent, next, now),
            Progress::Spent(spent) => self.has_spent(turn, spent, now),
            Progress::MaySearch(most) => self.may_search(turn, &most, now),
            Progress::Searched { announced, spent } => self.has_searched(turn, &announced, spent, now),
            Progress::Ran(results) => self.ran(turn, results, now),
            Progress::MayRunProgram(words) => self.may_run_program(turn, &words),
            Progress::Wishes(wish) => self.wished(turn, wish, now),
        }
    }

    fn woke(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        self.tend_approvals(&mut minutes);
        self.tend_fork(&mut minutes);
        self.tend_deadlines(&mut minutes);
        self.tend_away(&mut minutes);
        self.tend_plans(&mut minutes);
        self.tend_attention(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }
}
