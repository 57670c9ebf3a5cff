//! A line-based console for a fake Discord, for people at a terminal and for test runners in other
//! languages.

use std::time::Duration;

use serde_json::Value;

use super::fake_user::{ActionError, FakeUser};
use super::faults::{DiscordFault, GatewayFault, RequestFault, RequestFilter, Resumable};
use super::views::InteractionView;
use super::{FakeDiscord, Id, InteractionId, LimitScope, MessageId};
use crate::TEST_TIMEOUT;

/// The help text.
pub const CONSOLE_HELP: &str = "\
The owner:
  type TEXT                  send a message
  reply MESSAGE TEXT         answer one; MESSAGE is an id, or `last` for the bot's last
  edit MESSAGE TEXT          change their own
  delete MESSAGE             take back their own
  react MESSAGE EMOJI        and `unreact`
  click MESSAGE BUTTON       by its label or custom id
  choose MESSAGE MENU VALUE  by the menu's custom id
  run /COMMAND NAME=VALUE …  with its options
  complete /COMMAND NAME TEXT
  submit INTERACTION NAME=VALUE …
  answer INTERACTION         what they see after it, within three seconds
  transcript                 what they see
  wait TEXT                  until the transcript has it
The world:
  drop, zombie, reconnect, invalid, close CODE
  limit SECONDS              the next message is answered 429
  fail STATUS                the next message is answered so
  lose                       the next message's answer is lost
  down SECONDS               nobody gets through
  ledger                     what the bot has done";

/// Executes one command line at a time.
#[derive(Clone, Debug)]
pub struct Console {
    discord: FakeDiscord,
}

/// Splits a line into its first word and the rest.
fn split_first_word(line: &str) -> (&str, &str) {
    line.trim()
        .split_once(char::is_whitespace)
        .map_or((line.trim(), ""), |(first, rest)| (first, rest.trim()))
}

fn parse_number<T: std::str::FromStr>(text: &str) -> Result<T, ActionError> {
    text.parse().map_err(|_| ActionError(format!("`{text}` is no number")))
}

/// Parses `NAME=VALUE` pairs; a value extends to the next name.
fn parse_pairs(rest: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in rest.split_whitespace() {
        match (word.split_once('='), pairs.last_mut()) {
            (Some((name, value)), _) => pairs.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value = format!("{value} {word}"),
            (None, None) => {}
        }
    }
    pairs
}

impl Console {
    pub fn new(discord: FakeDiscord) -> Self {
        Self { discord }
    }

    /// Executes `line` and returns its output.
    pub async fn execute(&self, line: &str) -> Result<String, ActionError> {
        let (command, rest) = split_first_word(line);
        match command {
            "complete" => self.complete(rest).await,
            "wait" => self.wait(rest).await,
            "help" | "" => Ok(CONSOLE_HELP.to_owned()),
            "transcript" => Ok(self.discord.transcript()),
            "answer" => Ok(describe_view(&self.discord.wait_for_answer(Id(parse_number(rest)?)).await)),
            "ledger" => Ok(self.log_summary()),
            _ => match parse_fault(command, rest)? {
                Some(fault) => {
                    self.discord.inject_fault(fault);
                    Ok("so be it".into())
                }
                None => self.execute_user_action(&self.discord.owner(), command, rest),
            },
        }
    }

    fn execute_user_action(
        &self,
        owner: &FakeUser,
        command: &str,
        rest: &str,
    ) -> Result<String, ActionError> {
        let (first, more) = split_first_word(rest);
        let done = |id: Id| Ok(id.to_string());
        match command {
            "type" => done(owner.send_text(rest)),
            "reply" => done(owner.reply(self.find_message(first)?, more)),
            "edit" => owner.edit(self.find_message(first)?, more).map(|()| "edited".into()),
            "delete" => owner.delete(self.find_message(first)?).map(|()| "deleted".into()),
            "react" => owner.add_reaction(self.find_message(first)?, more).map(|()| "reacted".into()),
            "unreact" => owner.remove_reaction(self.find_message(first)?, more).map(|()| "taken away".into()),
            "click" => done(owner.click(self.find_message(first)?, more)?),
            "choose" => {
                let (menu, values) = split_first_word(more);
                let values: Vec<_> = values.split_whitespace().collect();
                done(owner.choose(self.find_message(first)?, menu, &values)?)
            }
            "run" => done(self.run_command(owner, first, more)?),
            "submit" => {
                let values = parse_pairs(more);
                let values: Vec<_> =
                    values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                done(owner.submit_modal(Id(parse_number(first)?), &values)?)
            }
            _ => Err(ActionError(format!("`{command}` is nothing that can be done; `help` says what can"))),
        }
    }

    fn find_message(&self, text: &str) -> Result<MessageId, ActionError> {
        if text != "last" {
            return parse_number(text).map(Id);
        }
        let bot = self.discord.with_state(|state| state.setup.bot.clone());
        let last = self.discord.visible().into_iter().rfind(|seen| seen.author == bot);
        last.map(|seen| seen.id).ok_or_else(|| ActionError("the bot has said nothing yet".into()))
    }

    fn run_command(&self, owner: &FakeUser, command: &str, rest: &str) -> Result<InteractionId, ActionError> {
        let parse_value =
            |value: &str| serde_json::from_str(value).ok().filter(|value: &Value| !value.is_object());
        let options = parse_pairs(rest);
        let options = options.iter().map(|(name, value)| {
            (name.as_str(), parse_value(value).unwrap_or_else(|| Value::from(value.as_str())))
        });
        owner.run_command(command, &options.collect::<Vec<_>>())
    }

    async fn complete(&self, rest: &str) -> Result<String, ActionError> {
        let (command, rest) = split_first_word(rest);
        let (option, typed) = split_first_word(rest);
        let choices = self.discord.owner().complete_option(command, option, typed).await?;
        Ok(choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>().join("\n"))
    }

    async fn wait(&self, text: &str) -> Result<String, ActionError> {
        let found =
            |discord: &FakeDiscord| Some(discord.transcript()).filter(|transcript| transcript.contains(text));
        let waited = self.discord.wait_for(TEST_TIMEOUT, found).await;
        let timeout_message = || format!("it did not come; this did:\n{}", self.discord.transcript());
        waited.map(|_| "there".to_owned()).ok_or_else(|| ActionError(timeout_message()))
    }

    fn log_summary(&self) -> String {
        let log = self.discord.log();
        let line = |request: &super::LoggedRequest| {
            let status = request.status.map_or("lost".to_owned(), |status| status.to_string());
            format!("{status} {} {}\n", request.method, request.route)
        };
        let counts = format!(
            "{} connects, {} identifies, {} resumes, {} breaches",
            log.connects.len(),
            log.identifies.len(),
            log.resumes.len(),
            log.premature_requests.len()
        );
        log.requests.iter().map(line).collect::<String>() + &counts
    }
}

fn parse_fault(command: &str, rest: &str) -> Result<Option<DiscordFault>, ActionError> {
    let seconds = || parse_number(rest).map(Duration::from_secs);
    let fault = match command {
        "drop" => DiscordFault::Gateway(GatewayFault::Drop),
        "zombie" => DiscordFault::Gateway(GatewayFault::Zombie),
        "reconnect" => DiscordFault::Gateway(GatewayFault::Reconnect),
        "invalid" => DiscordFault::Gateway(GatewayFault::InvalidSession(Resumable::No)),
        "close" => DiscordFault::Gateway(GatewayFault::Close(parse_number(rest)?)),
        "limit" => DiscordFault::Request(
            RequestFilter::send(),
            RequestFault::RateLimited { scope: LimitScope::User, retry_after: seconds()? },
        ),
        "fail" => DiscordFault::Request(RequestFilter::send(), RequestFault::Status(parse_number(rest)?)),
        "lose" => DiscordFault::Request(RequestFilter::send(), RequestFault::LostAfter),
        "down" => DiscordFault::Down { after: Duration::ZERO, lasts: seconds()? },
        _ => return Ok(None),
    };
    Ok(Some(fault))
}

fn describe_view(shown: &InteractionView) -> String {
    match shown {
        InteractionView::Pending => "nothing yet".into(),
        InteractionView::Failed => "This interaction failed".into(),
        InteractionView::Message(seen) => format!("message: {}", seen.content),
        InteractionView::Thinking => "is thinking…".into(),
        InteractionView::Acknowledged => "heard".into(),
        InteractionView::Updated(seen) => format!("updated: {}", seen.content),
        InteractionView::Choices(choices) => format!("{} choices", choices.len()),
        InteractionView::Modal(modal) => format!("modal: {}", modal["title"].as_str().unwrap_or_default()),
        InteractionView::Deleted => "gone".into(),
    }
}
