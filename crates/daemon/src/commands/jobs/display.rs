//! Formats a job as a line, as details and as JSON.

use domain::effort::Effort;
use domain::schedule::{
    InitialContext, JobSpec, JobTarget, MissedPolicy, ModelName, Moment, PauseState, PingPermission,
    Placement, PlannedJob, Recurrence, RecurrenceRule, Reminder, ThinkingOverride,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{JobRow, times};

/// The least width of the schedule column.
const SCHEDULE_WIDTH: usize = 24;

/// The prefix of the next due time.
const NEXT_PREFIX: &str = "next ";

/// The number of due times in the details.
const SHOWN_TIMES: usize = 3;

impl JobRow {
    /// CL-8: Formats the line of a list.
    pub fn line(&self, now: Timestamp, zone: &TimeZone) -> String {
        match &self.job {
            Ok(planned) => {
                let schedule = schedule_text(planned, zone);
                let when = self.next_text(now, zone);
                // The schedule of a reminder already shows its due time.
                let when = match &planned.spec {
                    JobSpec::Reminder(_) if when.starts_with(NEXT_PREFIX) => String::new(),
                    JobSpec::Reminder(_) | JobSpec::Routine(_) => format!("  ({when})"),
                };
                format!("  {}  {schedule:<SCHEDULE_WIDTH$}  {}{when}", planned.id(), planned.display_name())
            }
            Err(bad) => format!("  ! {}: {bad}", self.file),
        }
    }

    /// Returns the sort key in lists: reminders by due time, those that wait for a cue last;
    /// routines stay sorted by name.
    pub fn sort_key(&self) -> Timestamp {
        match self.job.as_ref().map(|planned| &planned.spec) {
            Ok(JobSpec::Reminder(Reminder { cue: Some(_), .. })) => Timestamp::MAX,
            Ok(JobSpec::Reminder(reminder)) => reminder.run_at.at,
            Ok(JobSpec::Routine(_)) | Err(_) => Timestamp::MIN,
        }
    }

    /// CL-7: Formats a newly created job.
    pub fn created_text(&self, zone: &TimeZone) -> String {
        match &self.job {
            Ok(planned) => format!("{} -- {}", schedule_text(planned, zone), planned.display_name()),
            Err(bad) => bad.to_string(),
        }
    }

    /// Formats the header above the text of its file.
    pub fn header(&self, now: Timestamp, zone: &TimeZone) -> String {
        let planned = match &self.job {
            Ok(planned) => planned,
            Err(bad) => return format!("{}  {}\ninvalid: {bad}", self.name(), self.file),
        };
        let fires = times::due_times(&planned.spec, self.pause, now, zone).take(SHOWN_TIMES);
        let fires: Vec<String> = fires.map(|fire| times::format_time(fire, now, zone)).collect();
        let next = if fires.is_empty() {
            times::never_text(planned, self.pause)
        } else {
            format!("{NEXT_PREFIX}{}", fires.join(", "))
        };
        let paused = times::paused_text(self.pause, now, zone).filter(|_| !fires.is_empty());
        let next = paused.map_or_else(|| next.clone(), |paused| format!("{paused} · {next}"));
        let recurs = match &planned.spec {
            JobSpec::Routine(routine) => format!("{} · ", routine.recurrence.describe()),
            JobSpec::Reminder(_) => String::new(),
        };
        format!("{}  {}\n{recurs}{next}", planned.id(), self.file)
    }

    /// Describes the next due time.
    pub fn next_text(&self, now: Timestamp, zone: &TimeZone) -> String {
        let Ok(planned) = &self.job else { return "invalid".to_owned() };
        let next = times::due_times(&planned.spec, self.pause, now, zone).next();
        let next = next.map(|next| format!("{NEXT_PREFIX}{}", times::format_time(next, now, zone)));
        let rest = times::paused_text(planned.firing_policy().pause, now, zone);
        match (rest.or_else(|| times::paused_text(self.pause, now, zone)), next, &planned.spec) {
            (Some(paused), Some(next), JobSpec::Routine(_)) => format!("{paused}, {next}"),
            (Some(paused), _, _) => paused,
            (None, Some(next), _) => next,
            (None, None, _) if planned.cue().is_some() => "waits".to_owned(),
            (None, None, JobSpec::Reminder(_)) => times::DUE_TEXT.to_owned(),
            (None, None, JobSpec::Routine(_)) => "never again".to_owned(),
        }
    }

    pub fn to_json(&self, now: Timestamp, zone: &TimeZone) -> Value {
        let planned = match &self.job {
            Ok(planned) => planned,
            Err(bad) => {
                return json!({
                    "file": self.file, "id": self.id, "line": bad.line, "field": bad.field, "reason": bad.reason,
                });
            }
        };
        let next = times::due_times(&planned.spec, self.pause, now, zone).next();
        let next = next.map(|next| Moment::of(&next.to_zoned(zone.clone())).to_string());
        let mut value = json!({
            "id": planned.id().as_str(),
            "file": self.file,
            "schedule": schedule_text(planned, zone),
            "summary": planned.display_name(),
            "next": next,
            "description": planned.description(),
            "message": planned.prompt().as_str(),
        });
        let facts = [schedule_facts(&planned.spec), run_facts(planned.target()), policy_facts(planned)];
        for (key, fact) in facts.into_iter().flatten() {
            value[key] = fact;
        }
        value
    }
}

type Facts = Vec<(&'static str, Value)>;

fn schedule_facts(what: &JobSpec) -> Facts {
    match what {
        JobSpec::Routine(routine) => {
            let Recurrence { rule: beat, until, zone } = &routine.recurrence;
            let (cron, every, from) = match beat {
                RecurrenceRule::Cron(cron) => (json!(cron.as_str()), Value::Null, Value::Null),
                RecurrenceRule::Days { every, from } => (Value::Null, json!(every), json!(from.to_string())),
                RecurrenceRule::Monthly { .. } => (Value::Null, Value::Null, Value::Null),
            };
            let until = until.map(|until| until.to_string());
            let zone = zone.as_ref().map(|zone| zone.name().to_owned());
            let tell = routine.recurrence.describe();
            vec![
                ("cron", cron),
                ("every_days", every),
                ("from", from),
                ("until", json!(until)),
                ("timezone", json!(zone)),
                ("recurs", json!(tell)),
                ("skills", json!(routine.skills)),
            ]
        }
        JobSpec::Reminder(Reminder { run_at, cue, chain, skills, .. }) => vec![
            ("run_at", json!(run_at.to_string())),
            ("cue", json!(cue.as_ref().map(ToString::to_string))),
            ("chain_depth", json!(chain.depth)),
            ("max_chain", json!(chain.max)),
            ("chain_parent", json!(chain.parent)),
            ("skills", json!(skills)),
        ],
    }
}

fn run_facts(charter: &JobTarget) -> Facts {
    let terms = charter.written_options();
    let session = matches!(charter, JobTarget::Persistent(_)).then_some("persistent");
    vec![
        ("background", json!(charter.placement() == Placement::Background)),
        ("isolated", json!(charter.context() == InitialContext::PromptOnly)),
        ("session", json!(session)),
        ("model", json!(terms.model.as_ref().map(ModelName::as_str))),
        ("thinking", json!(terms.thinking.key())),
        ("effort", json!(terms.effort.map(Effort::as_str))),
        ("update_main_session", json!(terms.report_policy.reporting.as_str())),
        ("allow_ping", json!(terms.report_policy.pings == PingPermission::Allowed)),
        ("allowed_tools", json!(terms.tools.allowed())),
        ("disallowed_tools", json!(terms.tools.denied())),
    ]
}

fn policy_facts(planned: &PlannedJob) -> Facts {
    let manner = planned.firing_policy();
    let paused = match manner.pause {
        PauseState::Active => json!(false),
        PauseState::Indefinite => json!(true),
        PauseState::Until(until) => json!(until.to_string()),
    };
    vec![
        ("if_missed", json!(manner.if_missed.as_ref().map(MissedPolicy::to_string))),
        ("overlap", json!(manner.overlap.as_str())),
        ("paused", paused),
    ]
}

/// CL-12: Formats the schedule and run mode in the terms of the file.
fn schedule_text(planned: &PlannedJob, zone: &TimeZone) -> String {
    let charter = planned.target();
    let aside = match charter {
        JobTarget::Main(_) => "",
        JobTarget::Fork(_) => "[bg] ",
        JobTarget::Isolated(_) => "[bg,isolated] ",
        JobTarget::Persistent(_) => "[bg,persistent] ",
    };
    let (when, chain) = match &planned.spec {
        JobSpec::Routine(routine) => (rhythm_text(&routine.recurrence), String::new()),
        JobSpec::Reminder(reminder) => (due_text(reminder, zone), chain_text(reminder)),
    };
    let terms = charter.written_options();
    let model = terms.model.as_ref().map(|model| format!("  (model: {})", model.as_str()));
    let thinking = match terms.thinking {
        ThinkingOverride::Inherit => "",
        ThinkingOverride::On => "  (thinking)",
        ThinkingOverride::Off => "  (no-thinking)",
    };
    let effort = terms.effort.map(|effort| format!("  (effort: {effort})")).unwrap_or_default();
    format!("{aside}{when}{}{thinking}{effort}{chain}", model.unwrap_or_default())
}

/// Formats the cue, or the due time in the user's time zone, even if the file uses another zone.
fn due_text(reminder: &Reminder, zone: &TimeZone) -> String {
    if let Some(cue) = &reminder.cue {
        return cue.to_string();
    }
    format!("at {}", reminder.run_at.at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M"))
}

fn chain_text(reminder: &Reminder) -> String {
    match reminder.chain.max {
        0 => String::new(),
        max => format!("  (chain {}/{max})", reminder.chain.depth),
    }
}

fn rhythm_text(rhythm: &Recurrence) -> String {
    let beat = match &rhythm.rule {
        RecurrenceRule::Cron(cron) => format!("cron '{}'", cron.as_str()),
        RecurrenceRule::Days { every, from } => {
            let days = if *every == 1 { "day" } else { "days" };
            format!("every {every} {days} from {}", from.strftime("%Y-%m-%dT%H:%M"))
        }
        RecurrenceRule::Monthly { day, at } => format!("every {}", day.format_with_time(*at)),
    };
    let until = rhythm.until.map(|until| format!(" until {until}")).unwrap_or_default();
    let zone = rhythm.zone.as_ref().map(|zone| format!(" in {}", zone.name())).unwrap_or_default();
    format!("{beat}{until}{zone}")
}
