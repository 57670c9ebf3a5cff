//! Setup of Discord direct messages: a token, its owner, and a test message.

use super::asking::{Ended, Given, Tries, unreached};
use super::keeping::Draft;
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::{State, discord};
use crate::cli::DiscordSetup;
use crate::exit::Failed;
use crate::settings::key::DISCORD;
use crate::settings::{Discord, Settings};

const STEP_1: &str = "\
discord, step 1 of 3 · make the bot
  open   https://discord.com/developers/applications?new_application=true
  then   Bot, Reset Token, copy.   no intents to switch on.";
const STEP_2: &str = "discord, step 2 of 3 · add it to your account";
const STEP_3: &str = "discord, step 3 of 3 · a test message";
const NO_TOKEN: &str = "give the token with --token-file FILE or --token-stdin";
const HELLO: &str = "hello, this is where i will reach you. say anything, and i answer here.";
/// The number of attempts to add the application before the section fails.
const TRIES: usize = 5;

/// Connects Discord, unless it works and no token was given.
pub async fn set_up(here: &mut Here, given: DiscordSetup) -> Result<Done, Ended> {
    let token = Given::new((given.token_file.as_deref(), given.token_stdin));
    if !token.is_said() {
        let found = discord::look(&here.settings).await;
        if found.state == State::Fine {
            return Ok(Done::works("discord", format!("{}. nothing to do", found.text)));
        }
        if found.state == State::Wrong && found.fix.is_none() {
            return Err(unreached(&found.text, "--token-file FILE or --token-stdin"));
        }
        if found.state == State::Wrong {
            here.asker.say(&format!("✗ discord  {}", found.text));
        }
        here.asker.say(STEP_1);
    }
    let mut tries = Tries::default();
    let (draft, owner) = loop {
        let secret = here.asker.secret(token, "paste the token (hidden): ", NO_TOKEN)?;
        let draft = Draft::default().secret(DISCORD, secret);
        let trial = here.keeping.trial(&draft)?;
        match greet(here, &trial.settings).await? {
            Ok(owner) => break (draft, owner),
            // Only a wrong token is asked for again.
            Err(why) if !why.contains("token") => tries.again(&here.asker, Given::Stdin, &why)?,
            Err(why) => tries.again(&here.asker, token, &why)?,
        }
    };
    let asides = here.keeping.keep(&draft)?;
    let text = format!(
        "a test message has arrived at {owner}. reminders reach you there now; page and terminal still work"
    );
    Ok(Done::changed("discord", here_and(here, text, asides).await))
}

/// Sends a test message. Returns the user's display name, or why it failed.
async fn greet(here: &Here, settings: &Settings) -> Result<Result<String, String>, Ended> {
    let (token, base) = match &settings.places.discord {
        Discord::On { token, base } => (token, base),
        Discord::Wrong(why) => return Ok(Err(why.clone())),
        Discord::Off => return Err(Failed::Usage(NO_TOKEN.to_owned()).into()),
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let met = discord::meet(base, token).await;
        let why = match met {
            Ok(met) => {
                let known = format!("  ✓ the token works · app {} · owner {} (you)", met.app, met.owner);
                here.asker.tell(if tries == 1 { &known } else { "" });
                match discord::write(base, token, &met, HELLO).await {
                    Ok(()) => {
                        // Only a delivered message proves that this step was already done.
                        let done =
                            if tries == 1 { format!("{STEP_2}: that is done\n") } else { String::new() };
                        here.asker.tell(&format!("{done}{STEP_3}"));
                        return Ok(Ok(met.owner));
                    }
                    Err(why) => why.to_string(),
                }
            }
            Err(why) => why.to_string(),
        };
        // Adding the application in the browser may be all that is missing.
        let again = why.contains("https://discord.com/oauth2/") && here.asker.can_ask() && tries < TRIES;
        if !again {
            return Ok(Err(why));
        }
        here.asker.say(&format!("{STEP_2}\n  {why}"));
        if here.asker.line("press enter when that is done, or write q: ")?.as_deref() != Some("") {
            return Err(Ended::Left);
        }
    }
}
