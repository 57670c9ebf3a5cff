//! The HTTP client for CalDAV: bounded requests, and errors in plain text.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, ETAG, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};

use super::CalDavSettings;
use crate::AccountError;

/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 5;

/// A server with the account on it.
pub(super) struct DavClient {
    http: Client,
    settings: CalDavSettings,
    /// The configured URL.
    pub(super) url: Url,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DavRequest {
    pub(super) method: Method,
    /// The `Depth` header.
    pub(super) depth: Option<&'static str>,
    /// `If-Match` or `If-None-Match`, with its value.
    pub(super) precondition: Option<(&'static str, String)>,
    /// The content type and the body.
    pub(super) body: Option<(&'static str, Vec<u8>)>,
}

#[derive(Debug)]
pub(super) struct DavResponse {
    /// The final URL after redirects.
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) etag: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The reason why there is no response.
#[derive(Debug)]
pub(super) enum RequestError {
    /// A smaller request may work.
    TooLarge(AccountError),
    Other(AccountError),
}

impl From<RequestError> for AccountError {
    fn from(why: RequestError) -> Self {
        match why {
            RequestError::TooLarge(trouble) | RequestError::Other(trouble) => trouble,
        }
    }
}

impl DavClient {
    /// Creates a client for the configured server if the password may be sent there.
    pub(super) fn new(settings: CalDavSettings) -> Result<Self, AccountError> {
        let invalid = |what: &str| AccountError::InvalidRequest(format!("OLLIM_CALDAV_URL: {what}."));
        let url: Url = settings
            .url
            .trim()
            .parse()
            .map_err(|_| invalid("this is no address. write it like https://cloud.example.org"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "the password does not belong into the address. use OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD_FILE",
            ));
        }
        match url.scheme() {
            "https" => {}
            "http" if wire::is_loopback(&url) => {}
            "http" => {
                return Err(invalid("over http, everybody on the way could read your password. use https"));
            }
            _ => {
                return Err(invalid(
                    "this is no address of a server. write it like https://cloud.example.org",
                ));
            }
        }
        let connect = settings.limits.timeout.min(Duration::from_secs(10));
        let configure = |builder: reqwest::ClientBuilder| {
            builder.timeout(settings.limits.timeout).connect_timeout(connect)
        };
        let client = wire::build_client(&url, configure)
            .map_err(|why| AccountError::Unavailable(format!("no connection can be made: {why}.")))?;
        Ok(Self { http: client, settings, url })
    }

    pub(super) fn settings(&self) -> &CalDavSettings {
        &self.settings
    }

    /// Sends a request and follows redirects on the same origin.
    pub(super) async fn send(&self, url: &Url, ask: &DavRequest) -> Result<DavResponse, RequestError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self
                .build_request(&url, ask)
                .send()
                .await
                .map_err(|error| RequestError::Other(self.transport_error(&error)))?;
            if !response.status().is_redirection() {
                return self.read_response(url, response).await;
            }
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            url = self.resolve(&url, to).map_err(RequestError::Other)?;
        }
        Err(RequestError::Other(AccountError::Unreadable(format!(
            "{} sends us in circles. check OLLIM_CALDAV_URL.",
            self.host()
        ))))
    }

    /// Sends a request and returns only successful responses.
    pub(super) async fn send_ok(&self, url: &Url, ask: &DavRequest) -> Result<DavResponse, RequestError> {
        let answer = self.send(url, ask).await?;
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(RequestError::Other(self.status_error(&answer)))
        }
    }

    /// Resolves `to` against `at`, and refuses another origin.
    pub(super) fn resolve(&self, at: &Url, to: &str) -> Result<Url, AccountError> {
        let found = at.join(to).map_err(|_| self.invalid_response())?;
        if found.origin() == self.url.origin() {
            Ok(found)
        } else {
            Err(AccountError::InvalidRequest(format!(
                "{} sends us to {}, and i do not carry your password there by myself. if you trust it, set \
                 OLLIM_CALDAV_URL={found}",
                self.host(),
                found.host_str().unwrap_or("another place"),
            )))
        }
    }

    fn build_request(&self, url: &Url, ask: &DavRequest) -> RequestBuilder {
        let mut request = self.http.request(ask.method.clone(), url.clone());
        request = request.basic_auth(&self.settings.user, Some(self.settings.password.load()));
        if let Some(depth) = ask.depth {
            request = request.header("Depth", depth);
        }
        if let Some((header, value)) = &ask.precondition {
            request = request.header(*header, value);
        }
        match &ask.body {
            Some((kind, body)) => request.header(CONTENT_TYPE, *kind).body(body.clone()),
            None => request,
        }
    }

    async fn read_response(&self, url: Url, mut response: Response) -> Result<DavResponse, RequestError> {
        let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let status = response.status();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(more)) if body.len() + more.len() > self.settings.limits.max_response_bytes => {
                    let most = self.settings.limits.max_response_bytes / 1_000_000;
                    let what = format!(
                        "{} answers with more than {most} MB, which is more than i read.",
                        self.host()
                    );
                    return Err(RequestError::TooLarge(AccountError::Unreadable(what)));
                }
                Ok(Some(more)) => body.extend_from_slice(&more),
                Ok(None) => return Ok(DavResponse { url, status, etag, body }),
                Err(error) => return Err(RequestError::Other(self.transport_error(&error))),
            }
        }
    }

    /// The error for an unsuccessful response.
    pub(super) fn status_error(&self, answer: &DavResponse) -> AccountError {
        let host = self.host();
        let status = answer.status;
        match status.as_u16() {
            401 => AccountError::NotConnected(format!(
                "{host} does not accept the user or the password. check OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD."
            )),
            403 => {
                AccountError::NotConnected(format!("{host} does not allow this to `{}`.", self.settings.user))
            }
            404 | 410 => {
                AccountError::NotFound(format!("there is nothing at {}. check OLLIM_CALDAV_URL.", answer.url))
            }
            412 => {
                AccountError::Unavailable("somebody else changed it at the same time. try again.".to_owned())
            }
            429 | 500..=599 => {
                AccountError::Unavailable(format!("{host} is in trouble ({status}). try again later."))
            }
            _ => AccountError::Unreadable(format!("{host} answered {status}, which i did not expect.")),
        }
    }

    /// The error for an unreadable response.
    pub(super) fn invalid_response(&self) -> AccountError {
        AccountError::Unreadable(format!(
            "{} answered something that is no CalDAV. check OLLIM_CALDAV_URL.",
            self.host()
        ))
    }

    fn transport_error(&self, error: &reqwest::Error) -> AccountError {
        let host = self.host();
        if error.is_timeout() {
            AccountError::Unavailable(format!("{host} does not answer. try again later."))
        } else {
            AccountError::Unavailable(format!(
                "{host} cannot be reached: {}. try again later.",
                wire::root_cause(error)
            ))
        }
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or("the server")
    }
}
