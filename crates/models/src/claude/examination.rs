//! What can be known of the program without asking a model: its version, and whether it is logged in.

use domain::failure::Failure;
use serde_json::Value;

use super::{Claude, refusal};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its version, in its own words.
    pub version: String,
    /// How it is logged in, in its own word; nothing, if it is too old to say.
    pub login: Option<String>,
}

impl Claude {
    /// Looks at the program. Nobody is called, and nothing is paid for.
    pub async fn examine(&self) -> Result<Examined, Failure> {
        let version = self.ask_program(&["--version"]).await?;
        if !version.succeeded {
            return Err(refusal::gone(&version.complaint));
        }
        match self.status().await? {
            (Some(false), _) => Err(refusal::logged_out()),
            (Some(true) | None, login) => Ok(Examined { version: version.text, login }),
        }
    }

    /// SU-3: whether the program has an account to speak for; nothing, if it does not say.
    pub async fn is_signed_in(&self) -> Result<Option<bool>, Failure> {
        self.status().await.map(|(signed_in, _)| signed_in)
    }

    /// Whether it is logged in, and how, in its own word.
    async fn status(&self) -> Result<(Option<bool>, Option<String>), Failure> {
        let status = self.ask_program(&["auth", "status", "--json"]).await?;
        let said: Value = serde_json::from_str(&status.text).unwrap_or_default();
        let signed_in = said["loggedIn"].as_bool().map(|signed_in| signed_in && status.succeeded);
        Ok((signed_in, said["authMethod"].as_str().map(str::to_owned)))
    }

    async fn ask_program(&self, words: &[&str]) -> Result<Said, Failure> {
        let settings = &self.shared.settings;
        let name = settings.program.display().to_string();
        let answered = settings.program().args(words).kill_on_drop(true).output();
        match tokio::time::timeout(settings.patience.start, answered).await {
            Ok(Ok(output)) => Ok(Said {
                succeeded: output.status.success(),
                text: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
                complaint: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
            Ok(Err(error)) => Err(refusal::unstarted(&name, &error)),
            Err(_) => Err(Failure::Unreachable(format!("`{name} {}` does not answer", words.join(" ")))),
        }
    }
}

/// What the program said to one question.
struct Said {
    succeeded: bool,
    text: String,
    complaint: String,
}
