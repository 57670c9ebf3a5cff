//! Attention policy: whether a ping may be sent now, and the user's quiet and focus commands.

use jiff::{SignedDuration, Zoned};

use super::forks::refusal_reply;
use super::{Answer, Assistant, Effect, Transaction};
use crate::attention::{
    Attention, AttentionChange, AttentionState, DeferReason, Deferred, DeferredId, DislikeCount, Focus,
    MidpointNotice, PingLimits, QuietCommand, QuietHours,
};
use crate::cost::CostSource;
use crate::label::Label;
use crate::phrase::{Timing, describe};
use crate::ping_budget::PingBudget;
use crate::record::Record;
use crate::sent_messages::{OriginLookup, SentId};
use crate::settings::{NotificationSetting, Setting};

impl Assistant {
    /// Returns the current attention state for surfaces.
    pub(super) fn attention(&self, now: &Zoned) -> Attention {
        let calm = self.state.choices.settings.notifications.clone();
        let attending = &self.state.messages.attention;
        let disliked = attending.disliked.iter();
        let mut disliked: Vec<DislikeCount> =
            disliked.map(|(source, count)| DislikeCount { source: source.clone(), count: *count }).collect();
        disliked.sort_by_key(|disliked| std::cmp::Reverse(disliked.count));
        Attention {
            quiet_until: self.quiet_until(now),
            focus: self.current_focus(now).cloned(),
            next_digest: calm.digests.next(now),
            deferred: attending.deferred.to_vec(),
            push_count: attending.state.push_count.for_day(now.date()),
            pings: self.state.choices.ping_budget.unwrap_or_else(|| PingBudget::full(now)).refilled(now),
            disliked,
            settings: calm,
        }
    }

    /// Returns the end of the current quiet time, from quiet hours or a command.
    pub(super) fn quiet_until(&self, now: &Zoned) -> Option<jiff::Timestamp> {
        let commanded =
            self.state.messages.attention.state.quiet_until.filter(|until| *until > now.timestamp());
        self.state.choices.settings.notifications.quiet_hours.until(now).max(commanded)
    }

    /// Returns the current focus.
    pub(super) fn current_focus(&self, now: &Zoned) -> Option<&Focus> {
        self.state.messages.attention.state.focus.as_ref().filter(|focus| focus.until > now.timestamp())
    }

    /// Returns the current limits on pings of background runs.
    pub(super) fn ping_limits(&self, now: &Zoned) -> PingLimits {
        let pushes = self.state.messages.attention.state.push_count.for_day(now.date());
        PingLimits {
            budget: self.state.choices.ping_budget.unwrap_or_else(|| PingBudget::full(now)).refilled(now),
            reserved: self.reserved_pings(),
            settings: self.state.choices.settings.notifications.clone(),
            quiet_until: self.quiet_until(now),
            focus_until: self.current_focus(now).map(|focus| focus.until),
            rung_today: pushes.count,
            last_rung: pushes.last,
        }
    }

    /// Returns the reason to defer a ping when this many pings are `reserved`, or `None` if it may
    /// be sent.
    pub(super) fn deferral_reason(&self, reserved: u32, now: &Zoned) -> Option<DeferReason> {
        let limits = self.ping_limits(now);
        PingLimits { reserved: (reserved, limits.reserved.1), ..limits }.defer_reason(now.timestamp())
    }

    /// Defers a message to the digest.
    pub(super) fn defer_message(
        &mut self,
        (source, name): (CostSource, String),
        (words, label): (String, Label),
        why: DeferReason,
        tx: &mut Transaction,
    ) {
        let attending = &mut self.state.messages.attention;
        // Ids start at 1.
        let id = DeferredId(attending.next_id.0.max(1));
        attending.next_id = DeferredId(id.0 + 1);
        let deferred = Deferred { id, at: tx.at, source, name, text: words, reason: why, label };
        std::sync::Arc::make_mut(&mut attending.deferred).push(deferred.clone());
        tx.records.push(Record::from(AttentionChange::Deferred(deferred)));
    }

    /// Counts pings of background runs sent now.
    pub(super) fn count_pings(&mut self, count: u32, tx: &mut Transaction) {
        let today = tx.at.to_zoned(tx.zone.clone()).date();
        let at = tx.at;
        self.update_attention_state(tx, |mood| {
            mood.push_count = mood.push_count.for_day(today);
            mood.push_count.count += count;
            mood.push_count.last = Some(at);
        });
    }

    /// Changes and records the attention state.
    pub(super) fn update_attention_state(
        &mut self,
        tx: &mut Transaction,
        change: impl FnOnce(&mut AttentionState),
    ) {
        let mood = &mut self.state.messages.attention.state;
        change(mood);
        tx.records.push(Record::from(AttentionChange::State(Box::new(mood.clone()))));
    }

    /// Records that the user disliked a message, for the job it came from.
    pub(super) fn dislike(&mut self, on: SentId, now: &Zoned) -> (Answer, Vec<Effect>) {
        let active_run = self.state.turns.runs.values().find(|run| run.sent_messages.contains(&on));
        let source = match (active_run, self.state.messages.sent.origin(on, now.timestamp())) {
            (Some(run), _) => run.source.clone(),
            (None, OriginLookup::Live(_, end)) => end.source.clone(),
            (None, OriginLookup::Expired(_) | OriginLookup::Unknown) => {
                return refusal_reply("that came from none of my runs, or is too long ago.");
            }
        };
        let count = self.state.messages.attention.disliked.entry(source.clone()).or_default();
        *count += 1;
        let disliked = Record::from(AttentionChange::Disliked(source, *count));
        (Answer::Done, vec![Effect::Write(vec![disliked])])
    }

    /// Handles a quiet, focus or lighten command.
    pub(super) fn handle_quiet(&mut self, command: QuietCommand, now: &Zoned) -> (Answer, Vec<Effect>) {
        match command {
            QuietCommand::Show => (Answer::Text(self.quiet_summary(now)), Vec::new()),
            QuietCommand::Hours(QuietHours::Never)
                if self.state.messages.attention.state.quiet_until.is_some() =>
            {
                let mut minutes = Transaction::at(now);
                self.update_attention_state(&mut minutes, |mood| mood.quiet_until = None);
                (
                    Answer::Text(format!("that quiet is over. {}", self.quiet_summary(now))),
                    minutes.into_effects(),
                )
            }
            QuietCommand::Hours(quiet) => {
                let (_, effects) = self.set_setting(
                    Setting::Notification(NotificationSetting::Quiet),
                    &quiet.to_string(),
                    now,
                );
                (Answer::Text(self.quiet_summary(now)), effects)
            }
            QuietCommand::QuietFor(length) => {
                let until = now.timestamp().checked_add(length).unwrap_or(now.timestamp());
                let mut minutes = Transaction::at(now);
                self.update_attention_state(&mut minutes, |mood| mood.quiet_until = Some(until));
                (Answer::Text(self.quiet_summary(now)), minutes.into_effects())
            }
            QuietCommand::Focus(minutes, on) => self.start_focus(minutes, on, now),
            QuietCommand::Unfocus => self.end_focus(now),
            QuietCommand::Lighter => self.lighten_day(now),
            QuietCommand::Held => self.list_deferred(now),
        }
    }

    /// Returns a text about the current quiet times.
    fn quiet_summary(&self, now: &Zoned) -> String {
        let hours = match self.state.choices.settings.notifications.quiet_hours {
            QuietHours::Never => "there are no quiet hours.".to_owned(),
            hours @ QuietHours::Between(..) => format!("quiet hours are {hours}."),
        };
        let until = self.quiet_until(now).map(|until| until.to_zoned(now.time_zone().clone()));
        let until =
            until.map(|until| format!(" it is quiet until {}.", describe(&Timing::Once(until), now, &[])));
        format!("{hours}{} what you set for a time still rings.", until.unwrap_or_default())
    }

    fn start_focus(&mut self, length: u32, on: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let since = now.timestamp();
        let until = since + SignedDuration::from_mins(i64::from(length));
        let about = if on.is_empty() { String::new() } else { format!(" on {on}") };
        self.update_attention_state(&mut tx, |mood| {
            mood.focus = Some(Focus { since, until, topic: on, midpoint: MidpointNotice::Pending })
        });
        let end = until.to_zoned(now.time_zone().clone());
        let text = format!(
            "{length} min{about}, until {}. i keep everything of mine until then. `/focus off` ends it.",
            end.strftime("%H:%M")
        );
        (Answer::Text(text), tx.into_effects())
    }

    fn end_focus(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.current_focus(now).is_none() {
            return refusal_reply("there is no focus to end. `/focus 25` begins one.");
        }
        let mut tx = Transaction::at(now);
        self.update_attention_state(&mut tx, |mood| mood.focus = None);
        (Answer::Text("that is enough, then.".to_owned()), tx.into_effects())
    }
}
