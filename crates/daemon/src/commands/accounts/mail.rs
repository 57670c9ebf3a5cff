//! The `mail` commands. They never change the mailbox.

use accounts::AccountError;
use accounts::mail::{MailMessage, MailboxLabel, MessageSummary};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{CommandOutput, MailCommands};
use crate::cli::{MailAction, ResultLimit};

impl MailCommands<'_> {
    pub(super) async fn run(&self, action: MailAction) -> Result<CommandOutput, AccountError> {
        let zone = self.clock.now().time_zone().clone();
        match action {
            MailAction::Unread { most: ResultLimit { max } } => {
                Ok(list(&self.mailbox.unread(usize::from(max)).await?, &zone))
            }
            MailAction::Search { query, more, most: ResultLimit { max } } => {
                let query = [query].into_iter().chain(more).collect::<Vec<_>>().join(" ");
                Ok(list(&self.mailbox.search(&query, usize::from(max)).await?, &zone))
            }
            MailAction::Read { id } => {
                let letter = self.mailbox.read(&id).await?;
                Ok(CommandOutput::new(message_text(&letter), value(&id, &letter)))
            }
            MailAction::Labels => Ok(labels(&self.mailbox.labels().await?)),
        }
    }
}

fn list(headings: &[MessageSummary], zone: &TimeZone) -> CommandOutput {
    let value = |heading: &MessageSummary| {
        let MessageSummary { id, at, from, subject } = heading;
        json!({ "id": id, "at": at.map(|at| at.to_string()), "from": from, "subject": subject })
    };
    let value = json!({ "messages": headings.iter().map(value).collect::<Vec<_>>() });
    let lines = headings.iter().map(|heading| line(heading, zone)).collect::<Vec<_>>();
    CommandOutput::new(if lines.is_empty() { "no messages".to_owned() } else { lines.join("\n") }, value)
}

fn line(heading: &MessageSummary, zone: &TimeZone) -> String {
    let at = match heading.at {
        Some(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        None => format!("{:<13}", "(no date)"),
    };
    let subject = if heading.subject.is_empty() { "(no subject)" } else { &heading.subject };
    format!("  {}  {at}  {}  {subject}", heading.id, heading.from)
}

fn message_text(letter: &MailMessage) -> String {
    let MailMessage { from, to, date, subject, body } = letter;
    let body = body.as_deref().unwrap_or("(no text body)");
    format!("from:    {from}\nto:      {to}\ndate:    {date}\nsubject: {subject}\n\n{body}")
}

fn value(id: &str, letter: &MailMessage) -> Value {
    let MailMessage { from, to, date, subject, body } = letter;
    json!({ "id": id, "from": from, "to": to, "date": date, "subject": subject, "body": body })
}

fn labels(labels: &[MailboxLabel]) -> CommandOutput {
    let value = |label: &MailboxLabel| json!({ "id": label.id, "name": label.name });
    let value = json!({ "labels": labels.iter().map(value).collect::<Vec<_>>() });
    let lines: Vec<String> = labels.iter().map(|label| format!("  {}  {}", label.id, label.name)).collect();
    CommandOutput::new(if lines.is_empty() { "no labels".to_owned() } else { lines.join("\n") }, value)
}
