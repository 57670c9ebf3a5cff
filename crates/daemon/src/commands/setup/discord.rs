//! Setup of Discord direct messages: a token, its owner, and a test message.

use super::model::with_notes;
use super::prompt::{Attempts, SecretSource, SectionError, not_reachable};
use super::store::Draft;
use super::{SectionResult, SetupContext};
use crate::checks::{State, discord};
use crate::cli::DiscordSetup;
use crate::exit::CommandError;
use crate::settings::secrets::DISCORD;
use crate::settings::{Discord, Settings};

const STEP_1: &str = "\
discord, step 1 of 3 · make the bot
  open   https://discord.com/developers/applications?new_application=true
  then   Bot, Reset Token, copy.   no intents to switch on.";
const STEP_2: &str = "discord, step 2 of 3 · add it to your account";
const STEP_3: &str = "discord, step 3 of 3 · a test message";
const NO_TOKEN: &str = "give the token with --token-file FILE or --token-stdin";
const TEST_MESSAGE: &str = "hello, this is where i will reach you. say anything, and i answer here.";
/// The number of attempts to add the application before the section fails.
const MAX_ATTEMPTS: usize = 5;

/// Connects Discord, unless it works and no token was given.
pub async fn set_up(here: &mut SetupContext, given: DiscordSetup) -> Result<SectionResult, SectionError> {
    let token = SecretSource::new((given.token_file.as_deref(), given.token_stdin));
    if !token.is_given() {
        let found = discord::check(&here.settings).await;
        if found.state == State::Fine {
            return Ok(SectionResult::unchanged("discord", format!("{}. nothing to do", found.text)));
        }
        if found.state == State::Wrong && found.fix.is_none() {
            return Err(not_reachable(&found.text, "--token-file FILE or --token-stdin"));
        }
        if found.state == State::Wrong {
            here.prompter.print(&format!("✗ discord  {}", found.text));
        }
        here.prompter.print(STEP_1);
    }
    let mut tries = Attempts::default();
    let (draft, owner) = loop {
        let secret = here.prompter.secret(token, "paste the token (hidden): ", NO_TOKEN)?;
        let draft = Draft::default().secret(DISCORD, secret);
        let trial = here.store.trial(&draft)?;
        match send_test_message(here, &trial.settings).await? {
            Ok(owner) => break (draft, owner),
            // Only a wrong token is asked for again.
            Err(why) if !why.contains("token") => tries.retry(&here.prompter, SecretSource::Stdin, &why)?,
            Err(why) => tries.retry(&here.prompter, token, &why)?,
        }
    };
    let asides = here.store.save(&draft)?;
    let text = format!(
        "a test message has arrived at {owner}. reminders reach you there now; page and terminal still work"
    );
    Ok(SectionResult::changed("discord", with_notes(here, text, asides).await))
}

/// Sends a test message. Returns the user's display name, or why it failed.
async fn send_test_message(
    here: &SetupContext,
    settings: &Settings,
) -> Result<Result<String, String>, SectionError> {
    let (token, base) = match &settings.integrations.discord {
        Discord::On { token, base } => (token, base),
        Discord::Invalid(why) => return Ok(Err(why.clone())),
        Discord::Off => return Err(CommandError::Usage(NO_TOKEN.to_owned()).into()),
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let met = discord::find_account(base, token).await;
        let why = match met {
            Ok(met) => {
                let known = format!("  ✓ the token works · app {} · owner {} (you)", met.app, met.owner);
                here.prompter.print_if_interactive(if tries == 1 { &known } else { "" });
                match discord::send_message(base, token, &met, TEST_MESSAGE).await {
                    Ok(()) => {
                        // Only a delivered message proves that this step was already done.
                        let done =
                            if tries == 1 { format!("{STEP_2}: that is done\n") } else { String::new() };
                        here.prompter.print_if_interactive(&format!("{done}{STEP_3}"));
                        return Ok(Ok(met.owner));
                    }
                    Err(why) => why.to_string(),
                }
            }
            Err(why) => why.to_string(),
        };
        // Adding the application in the browser may be all that is missing.
        let again =
            why.contains("https://discord.com/oauth2/") && here.prompter.can_ask() && tries < MAX_ATTEMPTS;
        if !again {
            return Ok(Err(why));
        }
        here.prompter.print(&format!("{STEP_2}\n  {why}"));
        if here.prompter.line("press enter when that is done, or write q: ")?.as_deref() != Some("") {
            return Err(SectionError::Cancelled);
        }
    }
}
