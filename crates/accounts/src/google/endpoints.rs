//! The URLs of Google, or of a fake on this machine.

use reqwest::Url;

/// A URL that is not allowed for a fake. The user must correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address on this machine. a server that plays google is at an address like http://127.0.0.1:8080."
)]
pub struct InvalidFakeUrl(String);

/// The URLs of Google's services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The consent page.
    pub consent: Url,
    /// Issues tokens.
    pub token: Url,
    /// Revokes tokens.
    pub revoke: Url,
    pub gmail: Url,
    pub tasks: Url,
    pub calendar: Url,
}

impl Endpoints {
    pub fn production() -> Result<Self, InvalidFakeUrl> {
        Ok(Self {
            consent: parse_url("https://accounts.google.com/o/oauth2/v2/auth")?,
            token: parse_url("https://oauth2.googleapis.com/token")?,
            revoke: parse_url("https://oauth2.googleapis.com/revoke")?,
            gmail: parse_url("https://gmail.googleapis.com/gmail/v1/users/me")?,
            tasks: parse_url("https://tasks.googleapis.com/tasks/v1/lists/@default/tasks")?,
            calendar: parse_url("https://www.googleapis.com/calendar/v3/calendars/primary/events")?,
        })
    }

    /// Returns the URLs of a fake on this machine. Tokens must not reach other machines.
    pub fn fake_at(base: &str) -> Result<Self, InvalidFakeUrl> {
        let address = parse_url(base)?;
        if !wire::is_loopback(&address) || address.scheme() != "http" {
            return Err(InvalidFakeUrl(base.to_owned()));
        }
        let base = base.trim_end_matches('/');
        let at = |path: &str| parse_url(&format!("{base}{path}"));
        Ok(Self {
            consent: at("/o/oauth2/v2/auth")?,
            token: at("/token")?,
            revoke: at("/revoke")?,
            gmail: at("/gmail/v1/users/me")?,
            tasks: at("/tasks/v1/lists/@default/tasks")?,
            calendar: at("/calendar/v3/calendars/primary/events")?,
        })
    }
}

fn parse_url(address: &str) -> Result<Url, InvalidFakeUrl> {
    address.parse().map_err(|_| InvalidFakeUrl(address.to_owned()))
}

/// Appends `parts` to the path of `base`.
pub fn append_path(base: &Url, parts: &[&str]) -> Url {
    let mut address = base.clone();
    if let Ok(mut path) = address.path_segments_mut() {
        path.extend(parts);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fake_must_be_on_this_machine() {
        assert!(Endpoints::production().is_ok());
        let played = Endpoints::fake_at("http://127.0.0.1:8080/").unwrap();
        assert_eq!(played.token.as_str(), "http://127.0.0.1:8080/token");
        for bad in
            ["http://10.0.0.1", "https://oauth2.example.com", "127.0.0.1:8080", "", "https://127.0.0.1"]
        {
            let refused = Endpoints::fake_at(bad).unwrap_err().to_string();
            assert!(refused.contains("http://127.0.0.1:8080"), "{refused}");
        }
    }

    #[test]
    fn appended_name_is_one_path_segment() {
        let base: Url = "http://127.0.0.1/a".parse().unwrap();
        assert_eq!(append_path(&base, &["b/c", "d?e"]).as_str(), "http://127.0.0.1/a/b%2Fc/d%3Fe");
    }
}
