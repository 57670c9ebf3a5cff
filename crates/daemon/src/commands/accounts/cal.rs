//! The `cal` commands and the format of events.

use accounts::AccountError;
use accounts::calendar::{Event, EventChange, EventTime};
use jiff::{ToSpan, Zoned};
use serde_json::{Value, json};

use super::{CalendarCommands, CommandOutput, single_line, times};
use crate::cli::CalAction;

impl CalendarCommands<'_> {
    pub(super) async fn run(&self, action: CalAction) -> Result<CommandOutput, AccountError> {
        match action {
            CalAction::Today => self.list(1).await,
            CalAction::Upcoming { days } => self.list(days).await,
            CalAction::Show { id } => {
                let event = self.calendar.get(&id).await?;
                Ok(CommandOutput::new(event_details(&event), json!({ "event": value(&event) })))
            }
            CalAction::Add { summary, start, end, description } => {
                let summary = summary.join(" ");
                if summary.trim().is_empty() {
                    return Err(AccountError::InvalidRequest("say what it is.".to_owned()));
                }
                let change = self.change(Some(summary), description, Some(start), Some(end))?;
                let event = self.calendar.add(change).await?;
                let text = format!("created {}: {}", event.id, title(&event));
                Ok(CommandOutput::new(text, json!({ "event": value(&event) })))
            }
            CalAction::Update { summary: None, start: None, end: None, description: None, .. } => {
                Err(AccountError::NotFound(
                    "nothing to change: say --summary, --start, --end or --description.".to_owned(),
                ))
            }
            CalAction::Update { id, summary, start, end, description } => {
                let change = self.change(summary, description, start, end)?;
                Ok(changed("updated", &self.calendar.update(&id, change).await?))
            }
            CalAction::Delete { id } => Ok(changed("deleted", &self.calendar.delete(&id).await?)),
        }
    }

    /// Lists the events of the given number of days, from today's midnight.
    async fn list(&self, days: u16) -> Result<CommandOutput, AccountError> {
        let now = self.clock.now();
        let beyond = |_| AccountError::InvalidRequest("that is beyond all calendars.".to_owned());
        let from = now.start_of_day().map_err(beyond)?;
        let until = now.date().checked_add(i64::from(days).days()).map_err(beyond)?;
        let until = until.to_zoned(now.time_zone().clone()).map_err(beyond)?;
        let look = self.calendar.query(from, until).await?;
        let text = match look.events.as_slice() {
            [] => "no events".to_owned(),
            events => events.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        let events: Vec<_> = look.events.iter().map(value).collect();
        let value = json!({ "events": events, "left_out": look.problems });
        Ok(CommandOutput { text, value, notes: look.problems })
    }

    fn change(
        &self,
        summary: Option<String>,
        description: Option<String>,
        start: Option<String>,
        end: Option<String>,
    ) -> Result<EventChange, AccountError> {
        let now = self.clock.now();
        let time =
            |said: Option<String>| said.map(|said| times::parse_time(&said, &now, &self.habits)).transpose();
        Ok(EventChange { summary, description, start: time(start)?, end: time(end)? })
    }
}

fn changed(what: &str, event: &Event) -> CommandOutput {
    CommandOutput::new(format!("{what} {}", event.id), json!({ "event": value(event) }))
}

fn title(event: &Event) -> String {
    Some(single_line(&event.summary))
        .filter(|title| !title.is_empty())
        .unwrap_or_else(|| "(no title)".to_owned())
}

fn line(event: &Event) -> String {
    let when = match &event.when {
        EventTime::Timed(start, end) => {
            format!("{}-{}", start.strftime("%Y-%m-%d  %H:%M"), end.strftime("%H:%M"))
        }
        EventTime::Days(first, _) => format!("{first}  (all-day)   "),
    };
    format!("  {}  {when}  {}", event.id, title(event))
}

/// Formats the time of an event with its end, also if that is on another day.
fn when(event: &Event) -> String {
    match &event.when {
        EventTime::Timed(start, end) if start.date() == end.date() => {
            format!("{}-{}", start.strftime("%Y-%m-%d  %H:%M"), end.strftime("%H:%M"))
        }
        EventTime::Timed(start, end) => {
            format!("{} to {}", start.strftime("%Y-%m-%d  %H:%M"), end.strftime("%Y-%m-%d  %H:%M"))
        }
        EventTime::Days(first, after) => match after.yesterday().ok().filter(|last| last > first) {
            Some(last) => format!("{first} to {last}  (all-day)"),
            None => format!("{first}  (all-day)"),
        },
    }
}

fn event_details(event: &Event) -> String {
    let details = &event.details;
    let attendees = Some(details.attendees.join(", ")).filter(|all| !all.is_empty());
    let status = details.status.clone().unwrap_or_else(|| "confirmed".to_owned());
    let lines = [
        ("title:", Some(title(event))),
        ("when:", Some(when(event))),
        ("location:", details.location.clone()),
        ("description:", details.description.clone()),
        ("link:", details.link.clone()),
        ("attendees:", attendees),
        ("status:", Some(status)),
        ("id:", Some(event.id.clone())),
    ];
    let line = |(label, value): (&str, Option<String>)| {
        Some(format!("{label:<13}{}", value?.trim().replace('\n', &format!("\n{:13}", ""))))
    };
    lines.into_iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

fn value(event: &Event) -> Value {
    let stamp = |time: &Zoned| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let (start, end, all_day) = match &event.when {
        EventTime::Timed(start, end) => (stamp(start), stamp(end), false),
        EventTime::Days(first, after) => (first.to_string(), after.to_string(), true),
    };
    let details = &event.details;
    json!({
        "id": event.id,
        "summary": event.summary,
        "start": start,
        "end": end,
        "all_day": all_day,
        "location": details.location,
        "description": details.description,
        "link": details.link,
        "attendees": details.attendees,
        "status": details.status.as_deref().unwrap_or("confirmed"),
    })
}
