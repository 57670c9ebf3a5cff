//! Dispatches each event and request to the module that handles it.

use jiff::Zoned;

use super::{
    Answer, Assistant, Effect, Event, ForkCommand, HistoryCommand, InboxCommand, Query, Request,
    SettingCommand, Transaction, TurnCommand, TurnRequest, Update,
};
use crate::settings::Setting;
use crate::turn::TurnId;

impl Assistant {
    pub(super) fn dispatch_event(&mut self, event: Event, now: &Zoned) -> Vec<Effect> {
        match event {
            Event::Started => self.start_up(now),
            Event::TurnEnded(turn, ended) => self.on_turn_ended(turn, ended, now),
            Event::KeyRenewed => self.on_key_renewed(now),
            Event::Woke => self.on_woke(now),
            Event::FilesChanged(news, look) => self.on_files_changed(news, look, now),
            Event::PingNotDelivered(charge) => self.refund_ping(charge, now),
            Event::UserSeen(surface) => self.on_user_seen(surface, now),
            Event::Announced(text) => vec![Effect::Show(Update::Notice(text))],
            Event::CallCarriedOut(id, result) => self.on_carried_out(id, &result, now),
            Event::SkillsLoaded(key, loaded) => self.on_skills_loaded(&key, &loaded, now),
        }
    }

    pub(super) fn dispatch_request(&mut self, request: Request, now: &Zoned) -> (Answer, Vec<Effect>) {
        match request {
            Request::Say(saying) => self.receive_message(saying, now),
            Request::Control(TurnCommand::Stop) => self.stop_turn(now),
            Request::Control(TurnCommand::Retry) => self.retry_now(now),
            Request::History(HistoryCommand::Compact(instructions)) => self.compact(instructions, now),
            Request::History(HistoryCommand::Undo) => self.undo_main_change(now),
            Request::History(HistoryCommand::Clear) => self.clear(now),
            Request::Fork(ForkCommand::Enter(topic)) => self.request_fork(topic, now),
            Request::Fork(ForkCommand::Exit(way)) => self.exit_fork(way, now),
            Request::Turn(turn, progress) => self.on_turn_request(turn, progress, now),
            Request::Inbox(InboxCommand::Keep(text)) => self.keep_text(text, now),
            Request::Inbox(InboxCommand::Remove(id)) => self.remove_from_inbox(id, now),
            Request::Inbox(InboxCommand::DismissUpdate(id)) => self.dismiss_update(id, now),
            Request::Approve(reply) => self.approve(&reply, now),
            Request::Query(Query::Updates) => self.list_updates(now),
            Request::Query(Query::Inbox) => self.list_inbox(),
            Request::Query(Query::Status) => self.status(),
            Request::Query(Query::Numbers) => (Answer::Numbers(self.numbers(now)), Vec::new()),
            Request::Query(Query::Attention) => {
                (Answer::Attention(Box::new(self.attention(now))), Vec::new())
            }
            Request::Query(Query::Settings) => self.show_settings(),
            Request::Query(Query::Plans) => (Answer::Plans(Box::new(self.state.plans.clone())), Vec::new()),
            Request::Query(Query::Setting(setting)) => self.show_setting(setting),
            Request::Query(Query::MayRestart(wanted)) => self.may_restart(wanted, now),
            Request::Configure(SettingCommand::Model(name)) => self.set_model(&name, now),
            Request::Press(press) => self.press_button(press, now),
            Request::Schedule(planning) => self.handle_schedule(planning, now),
            Request::Announce(words) => (Answer::Done, vec![Effect::Show(Update::Notice(words))]),
            Request::StateFiles(edits) => self.on_state_files_changed(edits, now),
            Request::Configure(SettingCommand::Thinking(way)) => self.set_thinking(way),
            Request::Configure(SettingCommand::Effort(choice)) => self.set_effort(choice),
            Request::Configure(SettingCommand::Setting(Setting::Name, typed)) => {
                self.set_user_name(&typed, now)
            }
            Request::Configure(SettingCommand::Setting(setting, typed)) => {
                self.set_setting(setting, &typed, now)
            }
            Request::Configure(SettingCommand::PingPace(pace)) => self.set_ping_pace(pace, now),
            Request::Configure(SettingCommand::PermissionMode(mode)) => self.set_permission_mode(&mode, now),
            Request::Configure(SettingCommand::Revoke(which)) => self.revoke_standing(&which, now),
            Request::Configure(SettingCommand::Quiet(ease)) => self.handle_quiet(ease, now),
        }
    }

    fn on_turn_request(&mut self, turn: TurnId, progress: TurnRequest, now: &Zoned) -> (Answer, Vec<Effect>) {
        match progress {
            TurnRequest::MayRun { blocks, model_calls: spent, kinds, max_calls: most } => {
                self.may_run_calls(turn, blocks, spent, kinds, most, now)
            }
            TurnRequest::MayCallModel(spent, next) => self.may_call_model(turn, spent, next, now),
            TurnRequest::CallsMade(spent) => self.on_calls_made(turn, spent, now),
            TurnRequest::MaySearch(most) => self.may_search(turn, &most, now),
            TurnRequest::Searched { announced, model_calls: spent } => {
                self.on_search_done(turn, &announced, spent, now)
            }
            TurnRequest::CallsDone(results) => self.on_calls_done(turn, results, now),
            TurnRequest::MayRunProgram(words) => self.may_run_skill_program(turn, &words),
            TurnRequest::UseContextTool(wish) => self.use_context_tool(turn, wish, now),
        }
    }

    fn on_woke(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        self.expire_approvals(&mut tx);
        self.update_idle_fork(&mut tx);
        self.interrupt_overdue(&mut tx);
        self.retry_if_due(&mut tx);
        self.tick_schedule(&mut tx);
        self.update_attention(&mut tx);
        self.start_next_turn(&mut tx);
        tx.into_effects()
    }
}
