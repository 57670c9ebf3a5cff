//! A line-based console for a fake Discord, for people at a terminal and for test runners in other
//! languages.

use std::time::Duration;

use serde_json::Value;

use super::person::{Person, Unfit};
use super::screen::Shown;
use super::trouble::{Mishap, On, Resumable, Trouble, Upset};
use super::{Discord, Id, InteractionId, MessageId, Scope};
use crate::PATIENCE;

/// The help text.
pub const DEEDS: &str = "\
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
    discord: Discord,
}

/// Splits a line into its first word and the rest.
fn cut(line: &str) -> (&str, &str) {
    line.trim()
        .split_once(char::is_whitespace)
        .map_or((line.trim(), ""), |(first, rest)| (first, rest.trim()))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Unfit> {
    text.parse().map_err(|_| Unfit(format!("`{text}` is no number")))
}

/// Parses `NAME=VALUE` pairs; a value extends to the next name.
fn named(rest: &str) -> Vec<(String, String)> {
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
    pub fn new(discord: Discord) -> Self {
        Self { discord }
    }

    /// Executes `line` and returns its output.
    pub async fn obey(&self, line: &str) -> Result<String, Unfit> {
        let (deed, rest) = cut(line);
        match deed {
            "complete" => self.complete(rest).await,
            "wait" => self.wait(rest).await,
            "help" | "" => Ok(DEEDS.to_owned()),
            "transcript" => Ok(self.discord.transcript()),
            "answer" => Ok(told(&self.discord.sees_answer(Id(number(rest)?)).await)),
            "ledger" => Ok(self.ledger()),
            _ => match trouble(deed, rest)? {
                Some(trouble) => {
                    self.discord.trouble(trouble);
                    Ok("so be it".into())
                }
                None => self.act(&self.discord.owner(), deed, rest),
            },
        }
    }

    fn act(&self, owner: &Person, deed: &str, rest: &str) -> Result<String, Unfit> {
        let (first, more) = cut(rest);
        let done = |id: Id| Ok(id.to_string());
        match deed {
            "type" => done(owner.types(rest)),
            "reply" => done(owner.replies(self.message(first)?, more)),
            "edit" => owner.edits(self.message(first)?, more).map(|()| "edited".into()),
            "delete" => owner.deletes(self.message(first)?).map(|()| "deleted".into()),
            "react" => owner.reacts(self.message(first)?, more).map(|()| "reacted".into()),
            "unreact" => owner.unreacts(self.message(first)?, more).map(|()| "taken away".into()),
            "click" => done(owner.clicks(self.message(first)?, more)?),
            "choose" => {
                let (menu, values) = cut(more);
                let values: Vec<_> = values.split_whitespace().collect();
                done(owner.chooses(self.message(first)?, menu, &values)?)
            }
            "run" => done(self.run(owner, first, more)?),
            "submit" => {
                let values = named(more);
                let values: Vec<_> =
                    values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                done(owner.submits(Id(number(first)?), &values)?)
            }
            _ => Err(Unfit(format!("`{deed}` is nothing that can be done; `help` says what can"))),
        }
    }

    fn message(&self, text: &str) -> Result<MessageId, Unfit> {
        if text != "last" {
            return number(text).map(Id);
        }
        let bot = self.discord.look(|world| world.setup.bot.clone());
        let last = self.discord.visible().into_iter().rfind(|seen| seen.author == bot);
        last.map(|seen| seen.id).ok_or_else(|| Unfit("the bot has said nothing yet".into()))
    }

    fn run(&self, owner: &Person, command: &str, rest: &str) -> Result<InteractionId, Unfit> {
        let read = |value: &str| serde_json::from_str(value).ok().filter(|value: &Value| !value.is_object());
        let options = named(rest);
        let options = options
            .iter()
            .map(|(name, value)| (name.as_str(), read(value).unwrap_or_else(|| Value::from(value.as_str()))));
        owner.runs(command, &options.collect::<Vec<_>>())
    }

    async fn complete(&self, rest: &str) -> Result<String, Unfit> {
        let (command, rest) = cut(rest);
        let (option, typed) = cut(rest);
        let choices = self.discord.owner().asks_completion(command, option, typed).await?;
        Ok(choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>().join("\n"))
    }

    async fn wait(&self, text: &str) -> Result<String, Unfit> {
        let found = |discord: &Discord| Some(discord.transcript()).filter(|told| told.contains(text));
        let waited = self.discord.wait_for(PATIENCE, found).await;
        let seen = || format!("it did not come; this did:\n{}", self.discord.transcript());
        waited.map(|_| "there".to_owned()).ok_or_else(|| Unfit(seen()))
    }

    fn ledger(&self) -> String {
        let ledger = self.discord.ledger();
        let line = |request: &super::Request| {
            let status = request.status.map_or("lost".to_owned(), |status| status.to_string());
            format!("{status} {} {}\n", request.method, request.route)
        };
        let counts = format!(
            "{} connects, {} identifies, {} resumes, {} breaches",
            ledger.connects.len(),
            ledger.identifies.len(),
            ledger.resumes.len(),
            ledger.embargo_breaches.len()
        );
        ledger.requests.iter().map(line).collect::<String>() + &counts
    }
}

fn trouble(deed: &str, rest: &str) -> Result<Option<Trouble>, Unfit> {
    let seconds = || number(rest).map(Duration::from_secs);
    let trouble = match deed {
        "drop" => Trouble::Gateway(Upset::Drop),
        "zombie" => Trouble::Gateway(Upset::Zombie),
        "reconnect" => Trouble::Gateway(Upset::Reconnect),
        "invalid" => Trouble::Gateway(Upset::InvalidSession(Resumable::No)),
        "close" => Trouble::Gateway(Upset::Close(number(rest)?)),
        "limit" => Trouble::Call(On::send(), Mishap::TooMany { scope: Scope::User, retry_after: seconds()? }),
        "fail" => Trouble::Call(On::send(), Mishap::Status(number(rest)?)),
        "lose" => Trouble::Call(On::send(), Mishap::LostAfter),
        "down" => Trouble::Down { after: Duration::ZERO, lasts: seconds()? },
        _ => return Ok(None),
    };
    Ok(Some(trouble))
}

fn told(shown: &Shown) -> String {
    match shown {
        Shown::Nothing => "nothing yet".into(),
        Shown::Failed => "This interaction failed".into(),
        Shown::Message(seen) => format!("message: {}", seen.content),
        Shown::Thinking => "is thinking…".into(),
        Shown::Heard => "heard".into(),
        Shown::Updated(seen) => format!("updated: {}", seen.content),
        Shown::Choices(choices) => format!("{} choices", choices.len()),
        Shown::Modal(modal) => format!("modal: {}", modal["title"].as_str().unwrap_or_default()),
        Shown::Gone => "gone".into(),
    }
}
