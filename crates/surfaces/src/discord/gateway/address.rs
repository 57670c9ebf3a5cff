//! Checks the address for resuming a session, because the token is sent there.

use reqwest::Url;
use wire::is_loopback;

/// Returns `resume` if a session of `gateway` may be resumed there, otherwise `gateway`.
///
/// A loopback gateway allows only loopback addresses. Any other requires TLS and the same last two
/// labels of the host name.
pub fn resume_address(gateway: &str, resume: &str) -> String {
    if may_resume(gateway, resume) { resume.to_owned() } else { gateway.to_owned() }
}

/// Adds the protocol version and encoding to `url`.
pub fn with_protocol(url: &str) -> String {
    let Ok(mut parsed) = url.parse::<Url>() else { return url.to_owned() };
    parsed.set_query(Some("v=10&encoding=json"));
    parsed.to_string()
}

fn may_resume(gateway: &str, resume: &str) -> bool {
    let (Ok(gateway), Ok(resume)) = (gateway.parse::<Url>(), resume.parse::<Url>()) else { return false };
    if is_loopback(&gateway) {
        return is_loopback(&resume);
    }
    resume.scheme() == "wss"
        && resume.port().is_none()
        && registered_domain(&gateway).is_some()
        && registered_domain(&gateway) == registered_domain(&resume)
}

fn registered_domain(url: &Url) -> Option<(String, String)> {
    let mut parts = url.domain()?.rsplit('.');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_resumed_only_at_its_gateways_domain() {
        let check = |gateway: &str, resume: &str, expected: bool| {
            assert_eq!(may_resume(gateway, resume), expected, "{gateway} {resume}");
        };
        check("wss://gateway.discord.gg", "wss://gateway-us-east1-b.discord.gg", true);
        check("wss://gateway.discord.gg/", "ws://gateway-us-east1-b.discord.gg", false);
        check("wss://gateway.discord.gg", "wss://gateway.discord.gg.example.com", false);
        check("wss://gateway.discord.gg", "wss://discord.gg@example.com", false);
        check("wss://gateway.discord.gg", "wss://127.0.0.1/gw", false);
        check("wss://gateway.discord.gg", "nonsense", false);
        check("ws://127.0.0.1:80/gw", "ws://localhost:81/gw", true);
        check("ws://127.0.0.1:80/gw", "wss://gateway.discord.gg", false);
    }
}
