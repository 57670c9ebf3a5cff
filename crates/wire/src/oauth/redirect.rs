//! The redirect URI on loopback, and the authorization response that arrives at it.

use reqwest::Url;
use subtle::ConstantTimeEq;

use crate::Secret;

/// The most characters of a denial reason that are stored.
const MAX_REASON_CHARS: usize = 100;

/// The redirect URI of one sign-in, with the `state` that its response must repeat.
#[derive(Clone, Debug)]
pub struct RedirectTarget {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The path, such as `/callback`; empty for a redirect URI without one.
    pub path: &'static str,
    /// The value of `state` in the authorization URL.
    pub state: Secret,
}

/// The response of an authorization server, delivered by the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizationResponse {
    /// The user agreed.
    Granted {
        /// The authorization code.
        code: Secret,
        /// The `iss` parameter, if the server sent one.
        issuer: Option<String>,
    },
    /// The user or the server refused. Contains the `error` parameter without control characters,
    /// which is untrusted text.
    Denied(String),
}

/// Returns whether `text` could be the address of a redirect to loopback.
pub fn looks_like_redirect(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("http://127.0.0.1:") && (text.contains("code=") || text.contains("error="))
}

impl RedirectTarget {
    /// Returns the redirect URI.
    pub fn uri(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }

    /// Parses an address. Returns none for another address or another `state`.
    pub fn parse_response(&self, text: &str) -> Option<AuthorizationResponse> {
        let address: Url = text.trim().parse().ok()?;
        let path = if self.path.is_empty() { "/" } else { self.path };
        let is_here = address.scheme() == "http"
            && address.host_str() == Some("127.0.0.1")
            && address.port() == Some(self.port)
            && address.path() == path;
        let parameter =
            |name: &str| address.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value);
        let state = parameter("state")?;
        let is_ours = bool::from(state.as_bytes().ct_eq(self.state.reveal().as_bytes()));
        if !is_here || !is_ours {
            return None;
        }
        if let Some(reason) = parameter("error") {
            let reason = reason.chars().filter(|c| !c.is_control()).take(MAX_REASON_CHARS).collect();
            return Some(AuthorizationResponse::Denied(reason));
        }
        let code = parameter("code").filter(|code| !code.is_empty())?;
        let issuer = parameter("iss").map(|issuer| issuer.into_owned());
        Some(AuthorizationResponse::Granted { code: Secret::new(code), issuer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(code: &str, issuer: Option<&str>) -> Option<AuthorizationResponse> {
        let issuer = issuer.map(str::to_owned);
        Some(AuthorizationResponse::Granted { code: Secret::new(code), issuer })
    }

    /// GO-7: a response counts only with our `state`.
    #[test]
    fn only_a_response_with_our_state_counts() {
        let redirect = RedirectTarget { port: 4711, path: "", state: Secret::new("s3cret") };
        let yes = granted("4/abc", None);
        assert_eq!(
            redirect.parse_response(" http://127.0.0.1:4711/?state=s3cret&code=4%2Fabc&scope=x \n"),
            yes
        );
        assert_eq!(redirect.parse_response("http://127.0.0.1:4711?code=4/abc&state=s3cret"), yes);
        let no = Some(AuthorizationResponse::Denied("access_denied".to_owned()));
        assert_eq!(redirect.parse_response("http://127.0.0.1:4711/?error=access_denied&state=s3cret"), no);
        for other in [
            "http://127.0.0.1:4711/?state=wrong&code=1",
            "http://127.0.0.1:4711/?code=1",
            "http://127.0.0.1:4712/?state=s3cret&code=1",
            "http://example.org:4711/?state=s3cret&code=1",
            "https://127.0.0.1:4711/?state=s3cret&code=1",
            "http://127.0.0.1:4711/?state=s3cret&code=",
            "http://127.0.0.1:4711/favicon.ico",
            "http://127.0.0.1:4711/callback?state=s3cret&code=1",
            "hello",
        ] {
            assert_eq!(redirect.parse_response(other), None, "{other}");
        }
    }

    /// RFC 9207: the issuer is read from the response; the caller compares it.
    #[test]
    fn issuer_and_path_are_parsed() {
        let redirect = RedirectTarget { port: 4711, path: "/callback", state: Secret::new("s") };
        assert_eq!(redirect.uri(), "http://127.0.0.1:4711/callback");
        let address = "http://127.0.0.1:4711/callback?code=c&state=s&iss=https%3A%2F%2Fas.example";
        assert_eq!(redirect.parse_response(address), granted("c", Some("https://as.example")));
        assert_eq!(redirect.parse_response("http://127.0.0.1:4711/?code=c&state=s"), None);
        let denied = redirect.parse_response("http://127.0.0.1:4711/callback?error=a%1B%5B2Jb&state=s");
        assert_eq!(denied, Some(AuthorizationResponse::Denied("a[2Jb".to_owned())));
    }

    /// MC-4: only text that begins like a redirect is treated as one.
    #[test]
    fn pasted_redirect_is_recognized_by_its_prefix() {
        assert!(looks_like_redirect(" http://127.0.0.1:4711/?state=x&code=y"));
        assert!(!looks_like_redirect("see http://127.0.0.1:4711/?code=y"));
        assert!(!looks_like_redirect("http://127.0.0.1:4711/"));
        assert!(!looks_like_redirect("http://127.0.0.10/?code=y"));
    }
}
