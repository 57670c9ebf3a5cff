//! The services of the account. Each has its own scope, and the user may grant some of them only.

use serde_json::Value;

/// A service of Google that we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Google Tasks.
    Tasks,
    /// The events of Google Calendar.
    Calendar,
    /// Gmail, read-only. Its scope is a restricted one, which Google warns about most.
    Mail,
}

impl Service {
    pub const ALL: [Self; 3] = [Self::Tasks, Self::Calendar, Self::Mail];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Calendar => "calendar",
            Self::Mail => "mail",
        }
    }

    /// Returns the service with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }

    /// The scope that is requested for it.
    pub fn scope(self) -> &'static str {
        match self {
            Self::Tasks => "https://www.googleapis.com/auth/tasks",
            Self::Calendar => "https://www.googleapis.com/auth/calendar.events",
            Self::Mail => "https://www.googleapis.com/auth/gmail.readonly",
        }
    }

    /// Returns the services covered by `scopes`. A token without any known scope was written by
    /// another program or an older version and counts for all services; Google refuses the others.
    pub(super) fn covered_by(scopes: &[String]) -> Vec<Self> {
        let covered: Vec<Self> = Self::ALL
            .into_iter()
            .filter(|service| scopes.iter().any(|scope| scope == service.scope()))
            .collect();
        if covered.is_empty() { Self::ALL.to_vec() } else { covered }
    }

    /// Returns the services covered by the token in the content of `token.json`.
    pub fn granted_by_file(token: &[u8]) -> Vec<Self> {
        let token: Value = serde_json::from_slice(token).unwrap_or_default();
        let scopes = token["scopes"].as_array().into_iter().flatten();
        let scopes: Vec<String> = scopes.filter_map(Value::as_str).map(str::to_owned).collect();
        Self::covered_by(&scopes)
    }
}

/// Names services in a sentence: `tasks, calendar and mail`.
pub fn join_names(services: &[Service]) -> String {
    let names: Vec<&str> = services.iter().map(|service| service.name()).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_follow_from_scopes() {
        let granted = |token: &str| Service::granted_by_file(token.as_bytes());
        let calendar = r#"{"scopes":["https://www.googleapis.com/auth/calendar.events","openid"]}"#;
        assert_eq!(granted(calendar), [Service::Calendar]);
        assert_eq!(granted("{}"), Service::ALL);
        assert_eq!(granted(r#"{"scopes":["a"]}"#), Service::ALL);
        assert_eq!(granted("oops"), Service::ALL);
    }

    #[test]
    fn services_are_named_in_a_sentence() {
        assert_eq!(join_names(&Service::ALL), "tasks, calendar and mail");
        assert_eq!(join_names(&[Service::Tasks, Service::Mail]), "tasks and mail");
        assert_eq!(join_names(&[Service::Mail]), "mail");
    }
}
