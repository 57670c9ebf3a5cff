//! The HTTP client for CalDAV: bounded requests, and errors in plain text.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, ETAG, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};

use super::Settings;
use crate::Trouble;

/// The maximum number of redirects.
const REDIRECTS: usize = 5;

/// A server with the account on it.
pub(super) struct Door {
    client: Client,
    settings: Settings,
    /// The configured URL.
    pub(super) url: Url,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// The `Depth` header.
    pub(super) depth: Option<&'static str>,
    /// `If-Match` or `If-None-Match`, with its value.
    pub(super) only: Option<(&'static str, String)>,
    /// The content type and the body.
    pub(super) body: Option<(&'static str, Vec<u8>)>,
}

#[derive(Debug)]
pub(super) struct Answer {
    /// The final URL after redirects.
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) etag: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The reason why there is no response.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// A smaller request may work.
    TooBig(Trouble),
    Trouble(Trouble),
}

impl From<Unanswered> for Trouble {
    fn from(why: Unanswered) -> Self {
        match why {
            Unanswered::TooBig(trouble) | Unanswered::Trouble(trouble) => trouble,
        }
    }
}

impl Door {
    /// Creates a client for the configured server if the password may be sent there.
    pub(super) fn new(settings: Settings) -> Result<Self, Trouble> {
        let wrong = |what: &str| Trouble::Wrong(format!("OLLIM_CALDAV_URL: {what}."));
        let url: Url = settings
            .url
            .trim()
            .parse()
            .map_err(|_| wrong("this is no address. write it like https://cloud.example.org"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "the password does not belong into the address. use OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD_FILE",
            ));
        }
        match url.scheme() {
            "https" => {}
            "http" if wire::is_loopback(&url) => {}
            "http" => {
                return Err(wrong("over http, everybody on the way could read your password. use https"));
            }
            _ => {
                return Err(wrong("this is no address of a server. write it like https://cloud.example.org"));
            }
        }
        let connect = settings.limits.patience.min(Duration::from_secs(10));
        let shape = |builder: reqwest::ClientBuilder| {
            builder.timeout(settings.limits.patience).connect_timeout(connect)
        };
        let client = wire::client(&url, shape)
            .map_err(|why| Trouble::Away(format!("no connection can be made: {why}.")))?;
        Ok(Self { client, settings, url })
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sends a request and follows redirects on the same origin.
    pub(super) async fn ask(&self, url: &Url, ask: &Ask) -> Result<Answer, Unanswered> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let response = self
                .request(&url, ask)
                .send()
                .await
                .map_err(|error| Unanswered::Trouble(self.away(&error)))?;
            if !response.status().is_redirection() {
                return self.read(url, response).await;
            }
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            url = self.within(&url, to).map_err(Unanswered::Trouble)?;
        }
        Err(Unanswered::Trouble(Trouble::Garbled(format!(
            "{} sends us in circles. check OLLIM_CALDAV_URL.",
            self.host()
        ))))
    }

    /// Sends a request and returns only successful responses.
    pub(super) async fn good(&self, url: &Url, ask: &Ask) -> Result<Answer, Unanswered> {
        let answer = self.ask(url, ask).await?;
        if answer.status.is_success() { Ok(answer) } else { Err(Unanswered::Trouble(self.refused(&answer))) }
    }

    /// Resolves `to` against `at`, and refuses another origin.
    pub(super) fn within(&self, at: &Url, to: &str) -> Result<Url, Trouble> {
        let found = at.join(to).map_err(|_| self.garbled())?;
        if found.origin() == self.url.origin() {
            Ok(found)
        } else {
            Err(Trouble::Wrong(format!(
                "{} sends us to {}, and i do not carry your password there by myself. if you trust it, set \
                 OLLIM_CALDAV_URL={found}",
                self.host(),
                found.host_str().unwrap_or("another place"),
            )))
        }
    }

    fn request(&self, url: &Url, ask: &Ask) -> RequestBuilder {
        let mut request = self.client.request(ask.method.clone(), url.clone());
        request = request.basic_auth(&self.settings.user, Some(self.settings.password.told()));
        if let Some(depth) = ask.depth {
            request = request.header("Depth", depth);
        }
        if let Some((header, value)) = &ask.only {
            request = request.header(*header, value);
        }
        match &ask.body {
            Some((kind, body)) => request.header(CONTENT_TYPE, *kind).body(body.clone()),
            None => request,
        }
    }

    async fn read(&self, url: Url, mut response: Response) -> Result<Answer, Unanswered> {
        let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let status = response.status();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(more)) if body.len() + more.len() > self.settings.limits.biggest => {
                    let most = self.settings.limits.biggest / 1_000_000;
                    let what = format!(
                        "{} answers with more than {most} MB, which is more than i read.",
                        self.host()
                    );
                    return Err(Unanswered::TooBig(Trouble::Garbled(what)));
                }
                Ok(Some(more)) => body.extend_from_slice(&more),
                Ok(None) => return Ok(Answer { url, status, etag, body }),
                Err(error) => return Err(Unanswered::Trouble(self.away(&error))),
            }
        }
    }

    /// The error for an unsuccessful response.
    pub(super) fn refused(&self, answer: &Answer) -> Trouble {
        let host = self.host();
        let status = answer.status;
        match status.as_u16() {
            401 => Trouble::Unconnected(format!(
                "{host} does not accept the user or the password. check OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD."
            )),
            403 => Trouble::Unconnected(format!("{host} does not allow this to `{}`.", self.settings.user)),
            404 | 410 => {
                Trouble::Missing(format!("there is nothing at {}. check OLLIM_CALDAV_URL.", answer.url))
            }
            412 => Trouble::Away("somebody else changed it at the same time. try again.".to_owned()),
            429 | 500..=599 => Trouble::Away(format!("{host} is in trouble ({status}). try again later.")),
            _ => Trouble::Garbled(format!("{host} answered {status}, which i did not expect.")),
        }
    }

    /// The error for an unreadable response.
    pub(super) fn garbled(&self) -> Trouble {
        Trouble::Garbled(format!(
            "{} answered something that is no CalDAV. check OLLIM_CALDAV_URL.",
            self.host()
        ))
    }

    fn away(&self, error: &reqwest::Error) -> Trouble {
        let host = self.host();
        if error.is_timeout() {
            Trouble::Away(format!("{host} does not answer. try again later."))
        } else {
            Trouble::Away(format!("{host} cannot be reached: {}. try again later.", wire::reason(error)))
        }
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or("the server")
    }
}
