//! Attention policy: whether a ping may be sent now, and the user's quiet and focus commands.

use jiff::{SignedDuration, Zoned};

use super::forking::refused;
use super::{Answer, Assistant, Effect, Minutes};
use crate::attention::{
    Attention, AttentionChange, Disliked, Ease, Focus, Held, HeldFor, HeldId, Middle, Mood, PingLimits, Quiet,
};
use crate::cost::Source;
use crate::label::Label;
use crate::phrase::{When, tell};
use crate::ping_budget::PingBudget;
use crate::record::Record;
use crate::sent::{Found, SentId};
use crate::settings::{CalmSetting, Setting};

impl Assistant {
    /// Returns the current attention state for surfaces.
    pub(super) fn attention(&self, now: &Zoned) -> Attention {
        let calm = self.memory.chosen.settings.calm.clone();
        let attending = &self.memory.messages.attending;
        let disliked = attending.disliked.iter();
        let mut disliked: Vec<Disliked> =
            disliked.map(|(source, count)| Disliked { source: source.clone(), count: *count }).collect();
        disliked.sort_by_key(|disliked| std::cmp::Reverse(disliked.count));
        Attention {
            quiet_until: self.quiet_until(now),
            focus: self.focus(now).cloned(),
            next_digest: calm.digests.next(now),
            held: attending.held.to_vec(),
            pushes: attending.mood.pushes.on(now.date()),
            pings: self.memory.chosen.pings.unwrap_or_else(|| PingBudget::full(now)).at(now),
            disliked,
            calm,
        }
    }

    /// Returns the end of the current quiet time, from quiet hours or a command.
    pub(super) fn quiet_until(&self, now: &Zoned) -> Option<jiff::Timestamp> {
        let said = self.memory.messages.attending.mood.quiet_until.filter(|until| *until > now.timestamp());
        self.memory.chosen.settings.calm.quiet.until(now).max(said)
    }

    /// Returns the current focus.
    pub(super) fn focus(&self, now: &Zoned) -> Option<&Focus> {
        self.memory.messages.attending.mood.focus.as_ref().filter(|focus| focus.until > now.timestamp())
    }

    /// Returns the current limits on pings of background runs.
    pub(super) fn ping_limits(&self, now: &Zoned) -> PingLimits {
        let pushes = self.memory.messages.attending.mood.pushes.on(now.date());
        PingLimits {
            budget: self.memory.chosen.pings.unwrap_or_else(|| PingBudget::full(now)).at(now),
            set_aside: self.set_aside(),
            calm: self.memory.chosen.settings.calm.clone(),
            quiet_until: self.quiet_until(now),
            focus_until: self.focus(now).map(|focus| focus.until),
            rung_today: pushes.count,
            last: pushes.last,
        }
    }

    /// Returns the reason to defer a ping when this many pings are `reserved`, or `None` if it may
    /// be sent.
    pub(super) fn waits_for(&self, about_to: u32, now: &Zoned) -> Option<HeldFor> {
        let limits = self.ping_limits(now);
        PingLimits { set_aside: (about_to, limits.set_aside.1), ..limits }.holds(now.timestamp())
    }

    /// Defers a message to the digest.
    pub(super) fn keep_back(
        &mut self,
        (source, name): (Source, String),
        (words, label): (String, Label),
        why: HeldFor,
        minutes: &mut Minutes,
    ) {
        let attending = &mut self.memory.messages.attending;
        // Ids start at 1.
        let id = HeldId(attending.next.0.max(1));
        attending.next = HeldId(id.0 + 1);
        let held = Held { id, at: minutes.at, source, name, words, why, label };
        std::sync::Arc::make_mut(&mut attending.held).push(held.clone());
        minutes.records.push(Record::from(AttentionChange::Held(held)));
    }

    /// Counts pings of background runs sent now.
    pub(super) fn pushed(&mut self, count: u32, minutes: &mut Minutes) {
        let today = minutes.at.to_zoned(minutes.zone.clone()).date();
        let at = minutes.at;
        self.feels(minutes, |mood| {
            mood.pushes = mood.pushes.on(today);
            mood.pushes.count += count;
            mood.pushes.last = Some(at);
        });
    }

    /// Changes and records the attention state.
    pub(super) fn feels(&mut self, minutes: &mut Minutes, change: impl FnOnce(&mut Mood)) {
        let mood = &mut self.memory.messages.attending.mood;
        change(mood);
        minutes.records.push(Record::from(AttentionChange::Mood(Box::new(mood.clone()))));
    }

    /// Records that the user disliked a message, for the job it came from.
    pub(super) fn disliked(&mut self, on: SentId, now: &Zoned) -> (Answer, Vec<Effect>) {
        let goes_on = self.memory.turns.runs.values().find(|run| run.sent.contains(&on));
        let source = match (goes_on, self.memory.messages.sent.origin(on, now.timestamp())) {
            (Some(run), _) => run.source.clone(),
            (None, Found::Live(_, end)) => end.source.clone(),
            (None, Found::Expired(_) | Found::Unknown) => {
                return refused("that came from none of my runs, or is too long ago.");
            }
        };
        let count = self.memory.messages.attending.disliked.entry(source.clone()).or_default();
        *count += 1;
        let disliked = Record::from(AttentionChange::Disliked(source, *count));
        (Answer::Noted, vec![Effect::Write(vec![disliked])])
    }

    /// Handles a quiet, focus or lighten command.
    pub(super) fn ease(&mut self, ease: Ease, now: &Zoned) -> (Answer, Vec<Effect>) {
        match ease {
            Ease::Tell => (Answer::Told(self.tell_quiet(now)), Vec::new()),
            Ease::Hours(Quiet::Never) if self.memory.messages.attending.mood.quiet_until.is_some() => {
                let mut minutes = Minutes::at(now);
                self.feels(&mut minutes, |mood| mood.quiet_until = None);
                (Answer::Told(format!("that quiet is over. {}", self.tell_quiet(now))), minutes.effects())
            }
            Ease::Hours(quiet) => {
                let (_, effects) = self.set(Setting::Calm(CalmSetting::Quiet), &quiet.to_string(), now);
                (Answer::Told(self.tell_quiet(now)), effects)
            }
            Ease::QuietFor(length) => {
                let until = now.timestamp().checked_add(length).unwrap_or(now.timestamp());
                let mut minutes = Minutes::at(now);
                self.feels(&mut minutes, |mood| mood.quiet_until = Some(until));
                (Answer::Told(self.tell_quiet(now)), minutes.effects())
            }
            Ease::Focus(minutes, on) => self.begin_focus(minutes, on, now),
            Ease::Unfocus => self.end_focus(now),
            Ease::Lighter => self.lighter(now),
            Ease::Held => self.tell_held(now),
        }
    }

    /// Returns a text about the current quiet times.
    fn tell_quiet(&self, now: &Zoned) -> String {
        let hours = match self.memory.chosen.settings.calm.quiet {
            Quiet::Never => "there are no quiet hours.".to_owned(),
            hours @ Quiet::Between(..) => format!("quiet hours are {hours}."),
        };
        let until = self.quiet_until(now).map(|until| until.to_zoned(now.time_zone().clone()));
        let until = until.map(|until| format!(" it is quiet until {}.", tell(&When::Once(until), now, &[])));
        format!("{hours}{} what you set for a time still rings.", until.unwrap_or_default())
    }

    fn begin_focus(&mut self, length: u32, on: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let since = now.timestamp();
        let until = since + SignedDuration::from_mins(i64::from(length));
        let about = if on.is_empty() { String::new() } else { format!(" on {on}") };
        self.feels(&mut minutes, |mood| mood.focus = Some(Focus { since, until, on, middle: Middle::Ahead }));
        let end = until.to_zoned(now.time_zone().clone());
        let text = format!(
            "{length} min{about}, until {}. i keep everything of mine until then. `/focus off` ends it.",
            end.strftime("%H:%M")
        );
        (Answer::Told(text), minutes.effects())
    }

    fn end_focus(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.focus(now).is_none() {
            return refused("there is no focus to end. `/focus 25` begins one.");
        }
        let mut minutes = Minutes::at(now);
        self.feels(&mut minutes, |mood| mood.focus = None);
        (Answer::Told("that is enough, then.".to_owned()), minutes.effects())
    }
}
