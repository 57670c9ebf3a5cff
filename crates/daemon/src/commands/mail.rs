//! `ollim-bot mail`: what lies in the mailbox. It is only looked at: nothing there changes.

use std::process::ExitCode;
use std::sync::Arc;

use accounts::google::Connection;
use accounts::mail::{Heading, Label, Letter, Mailbox};
use jiff::tz::TimeZone;
use journal::disk::Disk;
use serde_json::json;

use super::answer;
use crate::cli::{MailAction, Most, Output};
use crate::exit::Failed;
use crate::google;
use crate::settings::{Environment, Settings, mail};

/// The mailbox that is set up.
pub async fn mailbox(
    settings: &Settings,
    environment: &Environment,
    disk: Arc<dyn Disk>,
) -> Result<Box<dyn Mailbox>, Failed> {
    if let Some(imap) = mail::imap(environment, &settings.paths)? {
        return Ok(Box::new(imap));
    }
    let account = google::account(settings, environment, disk)?;
    if account.connection()? == Connection::NoClient {
        let steps = account.not_connected();
        return Err(Failed::NotDone(format!(
            "no mailbox is set up. for one that speaks IMAP, set OLLIM_IMAP_URL (such as imaps://mail.example.org), \
             OLLIM_IMAP_USER and OLLIM_IMAP_PASSWORD_FILE. for gmail: {steps}"
        )));
    }
    google::ready(&account).await?;
    Ok(Box::new(account))
}

/// Shows what was asked for.
pub async fn show(
    action: MailAction,
    mailbox: &dyn Mailbox,
    zone: &TimeZone,
    output: Output,
) -> Result<ExitCode, Failed> {
    match action {
        MailAction::Unread { most: Most { max } } => {
            list(&mailbox.unread(usize::from(max)).await?, zone, output);
        }
        MailAction::Search { query, more, most: Most { max } } => {
            let query = [query].into_iter().chain(more).collect::<Vec<_>>().join(" ");
            list(&mailbox.search(&query, usize::from(max)).await?, zone, output);
        }
        MailAction::Read { id } => {
            let letter = mailbox.read(&id).await?;
            let Letter { from, to, date, subject, body } = &letter;
            let value =
                json!({ "id": id, "from": from, "to": to, "date": date, "subject": subject, "body": body });
            answer(output, &value, &opened(&letter));
        }
        MailAction::Labels => {
            let labels = mailbox.labels().await?;
            let value = |label: &Label| json!({ "id": label.id, "name": label.name });
            let value = json!({ "labels": labels.iter().map(value).collect::<Vec<_>>() });
            let lines: String =
                labels.iter().map(|label| format!("  {}  {}\n", label.id, label.name)).collect();
            answer(output, &value, if labels.is_empty() { "no labels" } else { &lines });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(headings: &[Heading], zone: &TimeZone, output: Output) {
    let value = |heading: &Heading| {
        let Heading { id, at, from, subject } = heading;
        json!({ "id": id, "at": at.map(|at| at.to_string()), "from": from, "subject": subject })
    };
    let value = json!({ "messages": headings.iter().map(value).collect::<Vec<_>>() });
    let lines: String = headings.iter().map(|heading| line(heading, zone)).collect();
    answer(output, &value, if headings.is_empty() { "no messages" } else { &lines });
}

fn line(heading: &Heading, zone: &TimeZone) -> String {
    let at = match heading.at {
        Some(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        None => format!("{:<13}", "(no date)"),
    };
    let subject = if heading.subject.is_empty() { "(no subject)" } else { &heading.subject };
    format!("  {}  {at}  {}  {subject}\n", heading.id, heading.from)
}

fn opened(letter: &Letter) -> String {
    let Letter { from, to, date, subject, body } = letter;
    let body = body.as_deref().unwrap_or("(no text body)");
    format!("from:    {from}\nto:      {to}\ndate:    {date}\nsubject: {subject}\n\n{body}")
}
