//! Formats a job as a line, as details and as JSON.

use domain::effort::Effort;
use domain::schedule::{
    Beat, Charter, IfMissed, Knowing, ModelName, Moment, Pings, Planned, Reminder, Rest, Rhythm, Standing,
    Thinking, What,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Row, times};

/// The least width of the schedule column.
const WIDE: usize = 24;

/// The prefix of the next due time.
const NEXT: &str = "next ";

/// The number of due times in the details.
const SHOWN: usize = 3;

impl Row {
    /// CL-8: Formats the line of a list.
    pub fn line(&self, now: Timestamp, zone: &TimeZone) -> String {
        match &self.job {
            Ok(planned) => {
                let schedule = schedule(planned, zone);
                let when = self.when(now, zone);
                // The schedule of a reminder already shows its due time.
                let when = match &planned.what {
                    What::Reminder(_) if when.starts_with(NEXT) => String::new(),
                    What::Reminder(_) | What::Routine(_) => format!("  ({when})"),
                };
                format!("  {}  {schedule:<WIDE$}  {}{when}", planned.id(), planned.name())
            }
            Err(bad) => format!("  ! {}: {bad}", self.file),
        }
    }

    /// Returns the sort key in lists: reminders by due time, those that wait for a cue last;
    /// routines stay sorted by name.
    pub fn comes(&self) -> Timestamp {
        match self.job.as_ref().map(|planned| &planned.what) {
            Ok(What::Reminder(Reminder { cue: Some(_), .. })) => Timestamp::MAX,
            Ok(What::Reminder(reminder)) => reminder.run_at.at,
            Ok(What::Routine(_)) | Err(_) => Timestamp::MIN,
        }
    }

    /// CL-7: Formats a newly created job.
    pub fn scheduled(&self, zone: &TimeZone) -> String {
        match &self.job {
            Ok(planned) => format!("{} -- {}", schedule(planned, zone), planned.name()),
            Err(bad) => bad.to_string(),
        }
    }

    /// Formats the header above the text of its file.
    pub fn head(&self, now: Timestamp, zone: &TimeZone) -> String {
        let planned = match &self.job {
            Ok(planned) => planned,
            Err(bad) => return format!("{}  {}\ninvalid: {bad}", self.name(), self.file),
        };
        let fires = times::fires(&planned.what, self.pause, now, zone).take(SHOWN);
        let fires: Vec<String> = fires.map(|fire| times::day_and_time(fire, now, zone)).collect();
        let next = if fires.is_empty() {
            times::never(planned, self.pause)
        } else {
            format!("{NEXT}{}", fires.join(", "))
        };
        let paused = times::paused(self.pause, now, zone).filter(|_| !fires.is_empty());
        let next = paused.map_or_else(|| next.clone(), |paused| format!("{paused} · {next}"));
        let recurs = match &planned.what {
            What::Routine(routine) => format!("{} · ", routine.rhythm.tell()),
            What::Reminder(_) => String::new(),
        };
        format!("{}  {}\n{recurs}{next}", planned.id(), self.file)
    }

    /// Describes the next due time.
    pub fn when(&self, now: Timestamp, zone: &TimeZone) -> String {
        let Ok(planned) = &self.job else { return "invalid".to_owned() };
        let next = times::fires(&planned.what, self.pause, now, zone).next();
        let next = next.map(|next| format!("{NEXT}{}", times::day_and_time(next, now, zone)));
        let rest = times::paused(planned.manner().rest, now, zone);
        match (rest.or_else(|| times::paused(self.pause, now, zone)), next, &planned.what) {
            (Some(paused), Some(next), What::Routine(_)) => format!("{paused}, {next}"),
            (Some(paused), _, _) => paused,
            (None, Some(next), _) => next,
            (None, None, _) if planned.cue().is_some() => "waits".to_owned(),
            (None, None, What::Reminder(_)) => times::DUE.to_owned(),
            (None, None, What::Routine(_)) => "never again".to_owned(),
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
        let next = times::fires(&planned.what, self.pause, now, zone).next();
        let next = next.map(|next| Moment::of(&next.to_zoned(zone.clone())).to_string());
        let mut value = json!({
            "id": planned.id().as_str(),
            "file": self.file,
            "schedule": schedule(planned, zone),
            "summary": planned.name(),
            "next": next,
            "description": planned.description(),
            "message": planned.message().as_str(),
        });
        let facts = [when(&planned.what), charter(planned.charter()), manner(planned)];
        for (key, fact) in facts.into_iter().flatten() {
            value[key] = fact;
        }
        value
    }
}

type Facts = Vec<(&'static str, Value)>;

fn when(what: &What) -> Facts {
    match what {
        What::Routine(routine) => {
            let Rhythm { beat, until, zone } = &routine.rhythm;
            let (cron, every, from) = match beat {
                Beat::Cron(cron) => (json!(cron.as_str()), Value::Null, Value::Null),
                Beat::Days { every, from } => (Value::Null, json!(every), json!(from.to_string())),
                Beat::Monthly { .. } => (Value::Null, Value::Null, Value::Null),
            };
            let until = until.map(|until| until.to_string());
            let zone = zone.as_ref().map(|zone| zone.name().to_owned());
            let tell = routine.rhythm.tell();
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
        What::Reminder(Reminder { run_at, cue, chain, skills, .. }) => vec![
            ("run_at", json!(run_at.to_string())),
            ("cue", json!(cue.as_ref().map(ToString::to_string))),
            ("chain_depth", json!(chain.depth)),
            ("max_chain", json!(chain.max)),
            ("chain_parent", json!(chain.parent)),
            ("skills", json!(skills)),
        ],
    }
}

fn charter(charter: &Charter) -> Facts {
    let terms = charter.written_terms();
    let session = matches!(charter, Charter::Persistent(_)).then_some("persistent");
    vec![
        ("background", json!(charter.standing() == Standing::Background)),
        ("isolated", json!(charter.knowing() == Knowing::Itself)),
        ("session", json!(session)),
        ("model", json!(terms.model.as_ref().map(ModelName::as_str))),
        ("thinking", json!(terms.thinking.key())),
        ("effort", json!(terms.effort.map(Effort::as_str))),
        ("update_main_session", json!(terms.voice.reporting.as_str())),
        ("allow_ping", json!(terms.voice.pings == Pings::Allowed)),
        ("allowed_tools", json!(terms.tools.allowed())),
        ("disallowed_tools", json!(terms.tools.denied())),
    ]
}

fn manner(planned: &Planned) -> Facts {
    let manner = planned.manner();
    let paused = match manner.rest {
        Rest::Never => json!(false),
        Rest::ForNow => json!(true),
        Rest::Until(until) => json!(until.to_string()),
    };
    vec![
        ("if_missed", json!(manner.if_missed.as_ref().map(IfMissed::to_string))),
        ("overlap", json!(manner.overlap.as_str())),
        ("paused", paused),
    ]
}

/// CL-12: Formats the schedule and run mode in the terms of the file.
fn schedule(planned: &Planned, zone: &TimeZone) -> String {
    let charter = planned.charter();
    let aside = match charter {
        Charter::Main(_) => "",
        Charter::Fork(_) => "[bg] ",
        Charter::Alone(_) => "[bg,isolated] ",
        Charter::Persistent(_) => "[bg,persistent] ",
    };
    let (when, chain) = match &planned.what {
        What::Routine(routine) => (rhythm(&routine.rhythm), String::new()),
        What::Reminder(reminder) => (at(reminder, zone), links(reminder)),
    };
    let terms = charter.written_terms();
    let model = terms.model.as_ref().map(|model| format!("  (model: {})", model.as_str()));
    let thinking = match terms.thinking {
        Thinking::Inherit => "",
        Thinking::On => "  (thinking)",
        Thinking::Off => "  (no-thinking)",
    };
    let effort = terms.effort.map(|effort| format!("  (effort: {effort})")).unwrap_or_default();
    format!("{aside}{when}{}{thinking}{effort}{chain}", model.unwrap_or_default())
}

/// In the user's time zone, whatever zone the file uses.
fn at(reminder: &Reminder, zone: &TimeZone) -> String {
    if let Some(cue) = &reminder.cue {
        return cue.to_string();
    }
    format!("at {}", reminder.run_at.at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M"))
}

fn links(reminder: &Reminder) -> String {
    match reminder.chain.max {
        0 => String::new(),
        max => format!("  (chain {}/{max})", reminder.chain.depth),
    }
}

fn rhythm(rhythm: &Rhythm) -> String {
    let beat = match &rhythm.beat {
        Beat::Cron(cron) => format!("cron '{}'", cron.as_str()),
        Beat::Days { every, from } => {
            let days = if *every == 1 { "day" } else { "days" };
            format!("every {every} {days} from {}", from.strftime("%Y-%m-%dT%H:%M"))
        }
        Beat::Monthly { day, at } => format!("every {}", day.spell(*at)),
    };
    let until = rhythm.until.map(|until| format!(" until {until}")).unwrap_or_default();
    let zone = rhythm.zone.as_ref().map(|zone| format!(" in {}", zone.name())).unwrap_or_default();
    format!("{beat}{until}{zone}")
}
