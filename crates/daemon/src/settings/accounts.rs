//! Backends of the tasks, the calendar and mail: files of the data directory by default.

use accounts::caldav::{CalDavSettings, Limits, PasswordSource};
use accounts::google::{GoogleFile, Service};
use journal::Paths;

use super::mailbox::{self, MailBackend};
use super::{Environment, secrets};

/// The configured backends.
#[derive(Clone, Debug)]
pub struct Accounts {
    pub tasks: Backend,
    pub calendar: Backend,
    pub mail: MailBackend,
    /// The services to use at Google once it is connected: those without another backend.
    pub google_services: Vec<Service>,
    /// The address of a fake Google server for tests.
    pub fake_google: Option<String>,
}

/// A backend of tasks or the calendar.
#[derive(Clone, Debug)]
pub enum Backend {
    Local,
    CalDav(CalDavSettings),
    Google,
    /// The configuration is invalid; other backends still work.
    Invalid(String),
}

/// Reads the configured backends.
pub fn read(environment: &Environment, paths: &Paths) -> Accounts {
    let granted = granted_by_google(paths);
    let is_at_google = |variable: &str| match environment.get(variable) {
        Some(keeper) => keeper == "google",
        None => environment.get("OLLIM_CALDAV_URL").is_none(),
    };
    let mut at_google = Vec::new();
    if is_at_google("OLLIM_TASKS") {
        at_google.push(Service::Tasks);
    }
    if is_at_google("OLLIM_CALENDAR") {
        at_google.push(Service::Calendar);
    }
    if environment.get("OLLIM_IMAP_URL").is_none() {
        at_google.push(Service::Mail);
    }
    let keeper = |variables: [&str; 2], service: Service| {
        read_backend(environment, paths, variables, granted.contains(&service))
    };
    Accounts {
        tasks: keeper(["OLLIM_TASKS", "OLLIM_CALDAV_TASKS"], Service::Tasks),
        calendar: keeper(["OLLIM_CALENDAR", "OLLIM_CALDAV_CALENDAR"], Service::Calendar),
        google_services: at_google,
        mail: mailbox::read(environment, paths),
        fake_google: environment.get("OLLIM_GOOGLE_BASE").map(str::to_owned),
    }
}

/// Returns the services that the token of the account at Google covers; none, if there is no token.
fn granted_by_google(paths: &Paths) -> Vec<Service> {
    let token = std::fs::read(paths.state().join(GoogleFile::Token.name()));
    token.map(|token| Service::granted_by_file(&token)).unwrap_or_default()
}

/// Reads the backend that `variable` selects; `named` is the variable with the name of its
/// collection on a CalDAV server. Google is the default if the user granted the service.
fn read_backend(
    environment: &Environment,
    paths: &Paths,
    [variable, named]: [&str; 2],
    granted_at_google: bool,
) -> Backend {
    let caldav = || caldav(environment, paths, named).unwrap_or_else(Backend::Invalid);
    match environment.get(variable) {
        Some("local") => Backend::Local,
        Some("caldav") => caldav(),
        Some("google") => Backend::Google,
        Some(other) => {
            Backend::Invalid(format!("{variable}: `{other}` is nobody i know. use local, caldav or google."))
        }
        None if environment.get("OLLIM_CALDAV_URL").is_some() => caldav(),
        None if granted_at_google => Backend::Google,
        None => Backend::Local,
    }
}

fn caldav(environment: &Environment, paths: &Paths, named: &str) -> Result<Backend, String> {
    let needed = |name: &str, what: &str| {
        environment
            .get(name)
            .map(str::to_owned)
            .ok_or_else(|| format!("{name} is not set. set it to {what}."))
    };
    let url = needed("OLLIM_CALDAV_URL", "the address of your server, such as https://cloud.example.org")?;
    let user = needed("OLLIM_CALDAV_USER", "your name there")?;
    let password =
        secrets::secret_reader(environment, paths, secrets::CALDAV).map_err(|failed| failed.to_string())?;
    let password = password.ok_or(
        "OLLIM_CALDAV_PASSWORD is not set. set it (or OLLIM_CALDAV_PASSWORD_FILE, or write state/caldav.password).",
    )?;
    let name = environment.get(named).map(str::to_owned);
    Ok(Backend::CalDav(CalDavSettings {
        url,
        user,
        password: PasswordSource::from_fn(password),
        name,
        limits: Limits::DEFAULT,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend_name(keeper: &Backend) -> String {
        match keeper {
            Backend::Local => "local".to_owned(),
            Backend::CalDav(settings) => format!("caldav {:?}", settings.name),
            Backend::Google => "google".to_owned(),
            Backend::Invalid(what) => what.clone(),
        }
    }

    fn with(variables: &[(&str, &str)]) -> [String; 2] {
        let dir = tempfile::tempdir().unwrap();
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let accounts = read(&Environment::new(look_up), &Paths::new(dir.path()));
        assert!(!format!("{accounts:?}").contains("canary"), "no secret shows itself");
        [backend_name(&accounts.tasks), backend_name(&accounts.calendar)]
    }

    const SERVER: [(&str, &str); 3] = [
        ("OLLIM_CALDAV_URL", "https://cloud.example.org"),
        ("OLLIM_CALDAV_USER", "me"),
        ("OLLIM_CALDAV_PASSWORD", "canary"),
    ];

    #[test]
    fn files_are_the_default_backend() {
        assert_eq!(with(&[]), ["local", "local"]);
        assert_eq!(with(&SERVER), ["caldav None", "caldav None"]);
        let mixed = [&SERVER[..], &[("OLLIM_TASKS", "local"), ("OLLIM_CALDAV_CALENDAR", "work")]].concat();
        assert_eq!(with(&mixed), ["local", "caldav Some(\"work\")"]);
        assert_eq!(with(&[("OLLIM_CALENDAR", "google")]), ["local", "google"]);
    }

    /// GO-1: Google is the backend only of granted services.
    #[test]
    fn google_is_the_backend_of_granted_services_only() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir_all(paths.state()).unwrap();
        let keepers = |token: &str| {
            std::fs::write(paths.state().join("token.json"), token).unwrap();
            let accounts = read(&Environment::new(|_: &str| None), &paths);
            [backend_name(&accounts.tasks), backend_name(&accounts.calendar)]
        };
        let tasks = r#"{"token":"t","scopes":["https://www.googleapis.com/auth/tasks"]}"#;
        assert_eq!(keepers(tasks), ["google", "local"]);
        assert_eq!(keepers(r#"{"token":"t"}"#), ["google", "google"]);
    }

    /// GO-1: Services with another backend are not requested at Google.
    #[test]
    fn services_with_another_backend_are_not_requested_at_google() {
        let dir = tempfile::tempdir().unwrap();
        let requested = |variables: &[(&str, &str)]| {
            let look_up = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            read(&Environment::new(look_up), &Paths::new(dir.path())).google_services
        };
        assert_eq!(requested(&[]), Service::ALL);
        assert_eq!(requested(&[("OLLIM_TASKS", "local")]), [Service::Calendar, Service::Mail]);
        assert_eq!(requested(&SERVER), [Service::Mail]);
        assert_eq!(requested(&[("OLLIM_IMAP_URL", "imaps://m")]), [Service::Tasks, Service::Calendar]);
    }

    #[test]
    fn missing_variable_is_named_and_other_backends_work() {
        let wrong = "OLLIM_TASKS: `paper` is nobody i know. use local, caldav or google.";
        assert_eq!(with(&[("OLLIM_TASKS", "paper")]), [wrong, "local"]);
        let url = "OLLIM_CALDAV_URL is not set. set it to the address of your server, such as https://cloud.example.org.";
        assert_eq!(with(&[("OLLIM_CALENDAR", "caldav")]), ["local", url]);
        assert!(with(&SERVER[..1])[0].starts_with("OLLIM_CALDAV_USER is not set"));
        assert!(with(&SERVER[..2])[0].starts_with("OLLIM_CALDAV_PASSWORD is not set"));
    }
}
