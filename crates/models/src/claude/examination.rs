//! Reads the program's version and login state without calling a model.

use domain::failure::Failure;
use serde_json::Value;

use super::{Claude, refusal};

/// Information about the installed program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The version, as the program prints it.
    pub version: String,
    /// The login method, as the program names it; none if it is too old to report it.
    pub login: Option<String>,
}

impl Claude {
    /// Inspects the program without a model call or cost.
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

    /// SU-3: returns whether the program is signed in, or none if it does not report it.
    pub async fn is_signed_in(&self) -> Result<Option<bool>, Failure> {
        self.status().await.map(|(signed_in, _)| signed_in)
    }

    /// Returns whether it is signed in, and the login method.
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

/// The output of one invocation.
struct Said {
    succeeded: bool,
    text: String,
    complaint: String,
}
