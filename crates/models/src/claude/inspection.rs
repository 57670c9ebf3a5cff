//! Reads the program's version and login state without calling a model.

use domain::failure::Failure;
use serde_json::Value;

use super::{Claude, refusal};

/// Information about the installed program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramInfo {
    /// The version, as the program prints it.
    pub version: String,
    /// The login method, as the program names it; none if it is too old to report it.
    pub login: Option<String>,
}

impl Claude {
    /// Inspects the program without a model call or cost.
    pub async fn inspect(&self) -> Result<ProgramInfo, Failure> {
        let version = self.run_command(&["--version"]).await?;
        if !version.succeeded {
            return Err(refusal::exit_failure(&version.stderr));
        }
        match self.login_status().await? {
            (Some(false), _) => Err(refusal::logged_out_failure()),
            (Some(true) | None, login) => Ok(ProgramInfo { version: version.stdout, login }),
        }
    }

    /// SU-3: returns whether the program is signed in, or none if it does not report it.
    pub async fn is_signed_in(&self) -> Result<Option<bool>, Failure> {
        self.login_status().await.map(|(signed_in, _)| signed_in)
    }

    /// Returns whether it is signed in, and the login method.
    async fn login_status(&self) -> Result<(Option<bool>, Option<String>), Failure> {
        let status = self.run_command(&["auth", "status", "--json"]).await?;
        let json: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        let signed_in = json["loggedIn"].as_bool().map(|signed_in| signed_in && status.succeeded);
        Ok((signed_in, json["authMethod"].as_str().map(str::to_owned)))
    }

    async fn run_command(&self, args: &[&str]) -> Result<CommandOutput, Failure> {
        let settings = &self.shared.settings;
        let name = settings.program.display().to_string();
        let output = settings.program().args(args).kill_on_drop(true).output();
        match tokio::time::timeout(settings.timeouts.start, output).await {
            Ok(Ok(output)) => Ok(CommandOutput {
                succeeded: output.status.success(),
                stdout: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
            Ok(Err(error)) => Err(refusal::start_failure(&name, &error)),
            Err(_) => Err(Failure::Unreachable(format!("`{name} {}` does not answer", args.join(" ")))),
        }
    }
}

/// The output of one invocation.
struct CommandOutput {
    succeeded: bool,
    stdout: String,
    stderr: String,
}
