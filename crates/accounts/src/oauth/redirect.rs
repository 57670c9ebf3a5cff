//! The address that a browser is sent back to, with the answer in it.

use reqwest::Url;
use subtle::ConstantTimeEq;

use crate::Secret;
use crate::mail::legible;

/// The most characters of somebody else's reason that are told.
const REASON: usize = 100;

/// Where we wait, and for what.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The port on this machine.
    pub port: u16,
    /// What shows that the answer is to our question.
    pub state: Secret,
}

/// What the human answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes: this is the code.
    Yes(Secret),
    /// No, or it could not be asked: the reason, in one word.
    No(String),
}

/// Whether a text could be an address that a browser was sent back to.
pub fn looks_like(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("http://127.0.0.1:") && (text.contains("code=") || text.contains("error="))
}

impl Redirect {
    /// The address, as it is told beforehand.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What a whole address answers: nothing, if it answers somebody else.
    pub fn read(&self, text: &str) -> Option<Answer> {
        let address: Url = text.trim().parse().ok()?;
        let here = address.scheme() == "http" && address.host_str() == Some("127.0.0.1");
        let answer = |name: &str| address.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value);
        let state = answer("state")?;
        let ours = bool::from(state.as_bytes().ct_eq(self.state.reveal().as_bytes()));
        if !here || address.port() != Some(self.port) || !ours {
            return None;
        }
        if let Some(reason) = answer("error") {
            return Some(Answer::No(legible::line(&reason, REASON)));
        }
        answer("code").filter(|code| !code.is_empty()).map(|code| Answer::Yes(Secret::new(code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GO-7: an answer counts only with the state that we sent along.
    #[test]
    fn only_the_answer_to_our_question_counts() {
        let redirect = Redirect { port: 4711, state: Secret::new("s3cret") };
        let yes = Some(Answer::Yes(Secret::new("4/abc")));
        assert_eq!(redirect.read(" http://127.0.0.1:4711/?state=s3cret&code=4%2Fabc&scope=x \n"), yes);
        assert_eq!(redirect.read("http://127.0.0.1:4711?code=4/abc&state=s3cret"), yes);
        let no = Some(Answer::No("access_denied".to_owned()));
        assert_eq!(redirect.read("http://127.0.0.1:4711/?error=access_denied&state=s3cret"), no);
        for other in [
            "http://127.0.0.1:4711/?state=wrong&code=1",
            "http://127.0.0.1:4711/?code=1",
            "http://127.0.0.1:4712/?state=s3cret&code=1",
            "http://example.org:4711/?state=s3cret&code=1",
            "https://127.0.0.1:4711/?state=s3cret&code=1",
            "http://127.0.0.1:4711/?state=s3cret&code=",
            "http://127.0.0.1:4711/favicon.ico",
            "hello",
        ] {
            assert_eq!(redirect.read(other), None, "{other}");
        }
    }

    /// MC-4: what is consumed as a redirect when one is waited for.
    #[test]
    fn a_pasted_address_is_known_by_its_beginning() {
        assert!(looks_like(" http://127.0.0.1:4711/?state=x&code=y"));
        assert!(!looks_like("see http://127.0.0.1:4711/?code=y"));
        assert!(!looks_like("http://127.0.0.1:4711/"));
        assert!(!looks_like("http://127.0.0.10/?code=y"));
    }
}
