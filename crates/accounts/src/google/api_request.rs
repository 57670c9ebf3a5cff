//! Authorized requests to Google with bounded responses and explained errors.

use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Google, Service, api_error};
use crate::AccountError;

/// The maximum size of a response in bytes.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
/// The maximum number of pages.
const MAX_PAGES: usize = 100;

/// A request to Google.
#[derive(Clone, Debug)]
pub struct GoogleRequest {
    method: Method,
    url: Url,
    body: Option<Value>,
    subject: String,
    service: Service,
}

impl GoogleRequest {
    /// A GET request; `subject` names the resource in the error `google has no <subject>`.
    pub fn get(service: Service, address: Url, subject: impl Into<String>) -> Self {
        Self { method: Method::GET, url: address, body: None, subject: subject.into(), service }
    }

    pub fn post(service: Service, address: Url, body: Value, subject: impl Into<String>) -> Self {
        Self { method: Method::POST, url: address, body: Some(body), subject: subject.into(), service }
    }

    pub fn patch(service: Service, address: Url, body: Value, subject: impl Into<String>) -> Self {
        Self { method: Method::PATCH, url: address, body: Some(body), subject: subject.into(), service }
    }

    /// Adds query parameters.
    pub fn with_query(mut self, params: &[(&str, &str)]) -> Self {
        self.url.query_pairs_mut().extend_pairs(params);
        self
    }

    pub fn delete(service: Service, address: Url, subject: impl Into<String>) -> Self {
        Self { method: Method::DELETE, url: address, body: None, subject: subject.into(), service }
    }
}

/// One page of a list.
pub trait ListPage: DeserializeOwned {
    type Item;
    /// Returns the items and the token of the next page.
    fn into_parts(self) -> (Vec<Self::Item>, Option<String>);
}

impl Google {
    /// Sends a request and parses the response.
    pub(super) async fn fetch<T: DeserializeOwned>(&self, ask: &GoogleRequest) -> Result<T, AccountError> {
        let body = read_body(self.send_authorized(ask).await?).await?;
        let garbled =
            |_| AccountError::Unreadable(format!("google's answer about {} cannot be read.", ask.subject));
        serde_json::from_slice(&body).map_err(garbled)
    }

    /// Sends a request and ignores the response body.
    pub(super) async fn execute(&self, ask: &GoogleRequest) -> Result<(), AccountError> {
        self.send_authorized(ask).await.map(|_| ())
    }

    /// Returns all items of a list over all pages, at most `max`.
    pub(super) async fn list_all<P: ListPage>(
        &self,
        ask: &GoogleRequest,
        max: usize,
    ) -> Result<Vec<P::Item>, AccountError> {
        let mut all = Vec::new();
        let mut next = ask.clone();
        for _ in 0..MAX_PAGES {
            let (items, token) = self.fetch::<P>(&next).await?.into_parts();
            all.extend(items);
            let Some(token) = token.filter(|_| all.len() < max) else {
                all.truncate(max);
                return Ok(all);
            };
            next = ask.clone().with_query(&[("pageToken", &token)]);
        }
        Err(AccountError::Unreadable(format!("google does not stop sending pages of {}.", ask.subject)))
    }

    /// Sends a request, once more with a new token if the first one is refused.
    async fn send_authorized(&self, ask: &GoogleRequest) -> Result<Response, AccountError> {
        let token = self.access_token(ask.service).await?;
        let response = self.send(ask, token.reveal()).await?;
        let (response, token) = match response.status() {
            StatusCode::UNAUTHORIZED => {
                let token = self.replace_access_token(&token).await?;
                (self.send(ask, token.reveal()).await?, token)
            }
            _ => (response, token),
        };
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(api_error::read_error(response)
                .await
                .redacted(&[&token])
                .into_error(&ask.subject, ask.service))
        }
    }

    async fn send(&self, ask: &GoogleRequest, token: &str) -> Result<Response, AccountError> {
        let request = self.client.request(ask.method.clone(), ask.url.clone()).bearer_auth(token);
        let with_body = |request: RequestBuilder| match &ask.body {
            Some(body) => request.json(body),
            None => request,
        };
        with_body(request).send().await.map_err(|error| transport_error(&error))
    }
}

/// Reads the body up to the limit.
pub async fn read_body(mut response: Response) -> Result<Vec<u8>, AccountError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| transport_error(&error))? {
        if body.len() + piece.len() > MAX_RESPONSE_BYTES {
            let most = MAX_RESPONSE_BYTES / (1024 * 1024);
            return Err(AccountError::Unreadable(format!(
                "google's answer is longer than {most} MB, so i did not read it."
            )));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The error for a missing response. The URL is left out, since it may contain private data.
pub fn transport_error(error: &reqwest::Error) -> AccountError {
    if error.is_timeout() {
        AccountError::Unavailable("google does not answer. try again later.".to_owned())
    } else {
        AccountError::Unavailable(format!(
            "google cannot be reached: {}. try again later.",
            ::wire::root_cause(error)
        ))
    }
}

/// Validates the characters of an id. Invalid ids are not sent.
pub fn validate_id<'a>(id: &'a str, what: &str) -> Result<&'a str, AccountError> {
    let known = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-@.".contains(&byte));
    if known && !id.is_empty() && id.len() <= 1024 && id.bytes().any(|byte| byte != b'.') {
        Ok(id)
    } else {
        Err(AccountError::InvalidRequest(format!(
            "that is not the id of a {what}. ids stand first in a list of them."
        )))
    }
}
