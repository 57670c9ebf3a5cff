//! Checks whether the configured model responds and accepts the key.

use std::time::Duration;

use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use engine::ports::Model;
use models::anthropic::{self, Anthropic, SettingsError};
use models::claude::{self, Claude};
use models::openai::{self, OpenAi};

use super::{Finding, State};
use crate::settings::{ModelConfig, OPENAI_URL, Settings};

/// Timeout for a model, shorter than the one of a conversation.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a self-hosted server, which may have to load the model first.
const LOADING_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for the start of a program of 200 MB.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(20);

const FIX: &str = "ollim-bot setup model";

/// The result of the check, and the kind of problem.
pub struct ModelCheck {
    pub finding: Finding,
    pub cause: Cause,
}

/// The kind of problem that keeps a model from answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The key was rejected.
    Key,
    /// A server whose address is known to be right cannot be reached.
    Network,
    Other,
}

impl ModelCheck {
    /// A result that is caused neither by the key nor by the network.
    fn unrelated(finding: Finding) -> Self {
        Self { finding, cause: Cause::Other }
    }
}

pub async fn check(settings: &Settings) -> Finding {
    diagnose(settings).await.finding
}

/// Checks the model and reports the kind of problem.
pub async fn diagnose(settings: &Settings) -> ModelCheck {
    let connect = TIMEOUT;
    let stall = TIMEOUT;
    let (place, is_usual, examined) = match &settings.model {
        ModelConfig::Offline => {
            let text = "none connected, so i can't talk for real";
            return ModelCheck::unrelated(Finding::new("model", State::Warning, text).with_fix(FIX));
        }
        ModelConfig::MissingKey(why) => {
            return ModelCheck::unrelated(Finding::wrong("model", why.clone()).with_fix(FIX));
        }
        ModelConfig::Anthropic(brain) => {
            let model = Anthropic::new(anthropic::Settings { connect, stall, ..brain.clone() });
            let thinking = settings.thinking;
            let examined = match model.and_then(Anthropic::require_safe_transport) {
                Ok(model) => Ok(model.test_connection(thinking).await),
                Err(bad) => Err(bad),
            };
            (format!("{} at {}", brain.model, brain.base_url), true, examined)
        }
        ModelConfig::OpenAi(brain) => {
            let model = OpenAi::new(openai::Settings { connect, stall: LOADING_TIMEOUT, ..brain.clone() });
            let examined = match model.and_then(OpenAi::require_safe_transport) {
                Ok(model) => {
                    let examined = model.test_connection().await;
                    if let (Ok(()), Some(notice)) = (&examined, model.take_notice()) {
                        let text = format!("{} at {} answers. {notice}", brain.model, brain.base_url);
                        return ModelCheck::unrelated(
                            Finding::new("model", State::Warning, text).with_fix(FIX),
                        );
                    }
                    Ok(examined)
                }
                Err(bad) => Err(bad),
            };
            let is_usual = brain.base_url == OPENAI_URL;
            (format!("{} at {}", brain.model, brain.base_url), is_usual, examined)
        }
        ModelConfig::Claude(brain) => return ModelCheck::unrelated(check_claude_program(brain).await),
    };
    let cause = match &examined {
        Err(SettingsError::InvalidKey) | Ok(Err(Failure::BadKey(_))) => Cause::Key,
        // The address of a self-hosted server may be wrong.
        Ok(Err(Failure::Unreachable(_))) if is_usual => Cause::Network,
        Ok(_) | Err(_) => Cause::Other,
    };
    ModelCheck { finding: to_finding(&place, cause, examined), cause }
}

async fn check_claude_program(brain: &claude::Settings) -> Finding {
    let patience = claude::ProgramTimeouts { start: PROGRAM_TIMEOUT, ..brain.timeouts };
    // The data directory may not exist yet, and the working directory makes no difference here.
    let settings = claude::Settings { timeouts: patience, working_dir: "/".into(), ..brain.clone() };
    let claude = match Claude::new(settings, claude::Callbacks::default()) {
        Ok(claude) => claude,
        Err(bad) => return Finding::wrong("model", bad.to_string()),
    };
    match claude.inspect().await {
        Ok(claude::ProgramInfo { version, login: Some(login) }) => {
            Finding::fine("model", format!("{}: {version}, logged in ({login})", brain.program.display()))
        }
        Ok(claude::ProgramInfo { version, login: None }) => Finding::new(
            "model",
            State::Warning,
            format!("{version} does not say whether it is logged in. `claude` in a terminal tells"),
        ),
        Err(failure) => Finding::wrong("model", failure.to_string()),
    }
}

fn to_finding(place: &str, cause: Cause, examined: Result<Result<(), Failure>, SettingsError>) -> Finding {
    let wrong = |text: String| Finding::wrong("model", text).with_fix(FIX);
    match examined {
        Err(bad) => wrong(bad.to_string()),
        Ok(Ok(())) => Finding::fine("model", format!("{place} answers")),
        Ok(Err(Failure::Unreachable(why))) if cause == Cause::Network => Finding::wrong(
            "model",
            format!("{place} cannot be reached: {why}. check the network, and try again"),
        ),
        Ok(Err(Failure::Unreachable(why))) => {
            wrong(format!("{place} cannot be reached: {why}. check the address"))
        }
        Ok(Err(Failure::BadKey(why))) => {
            wrong(format!("{place} refused the key ({why}). copy it once more, whole, or make a new one"))
        }
        Ok(Err(Failure::Rejected(why))) => wrong(format!(
            "{place} refused a request like those of a conversation ({why}). Choose another model or server"
        )),
        Ok(Err(failure)) => wrong(format!("{place}: {}", failure.job_text())),
    }
}

/// Warns about a thinking setting that the model does not support.
pub fn check_thinking(settings: &Settings) -> Option<Finding> {
    if settings.thinking == Thinking::Auto {
        return None;
    }
    let text = match &settings.model {
        ModelConfig::Anthropic(_) | ModelConfig::Claude(_) => return None,
        ModelConfig::OpenAi(openai) => format!(
            "{} has no setting for thinking: `{}` counts as {} effort. `effort.main` sets the effort directly",
            openai.model,
            settings.thinking,
            Effort::for_thinking(settings.thinking)
        ),
        ModelConfig::Offline | ModelConfig::MissingKey(_) => {
            "the offline brain does not think, so the setting has no effect".to_owned()
        }
    };
    Some(Finding::new("thinking", State::Warning, text))
}
