//! Authorized requests to Google with bounded responses and explained errors.

use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Google, Service, refusal};
use crate::Trouble;

/// The maximum size of a response in bytes.
const ANSWER: usize = 16 * 1024 * 1024;
/// The maximum number of pages.
const PAGES: usize = 100;

/// A request to Google.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    address: Url,
    body: Option<Value>,
    about: String,
    service: Service,
}

impl Ask {
    /// A GET request; `subject` names the resource in the error `google has no <subject>`.
    pub fn get(service: Service, address: Url, about: impl Into<String>) -> Self {
        Self { method: Method::GET, address, body: None, about: about.into(), service }
    }

    pub fn post(service: Service, address: Url, body: Value, about: impl Into<String>) -> Self {
        Self { method: Method::POST, address, body: Some(body), about: about.into(), service }
    }

    pub fn patch(service: Service, address: Url, body: Value, about: impl Into<String>) -> Self {
        Self { method: Method::PATCH, address, body: Some(body), about: about.into(), service }
    }

    /// Adds query parameters.
    pub fn with(mut self, words: &[(&str, &str)]) -> Self {
        self.address.query_pairs_mut().extend_pairs(words);
        self
    }

    pub fn delete(service: Service, address: Url, about: impl Into<String>) -> Self {
        Self { method: Method::DELETE, address, body: None, about: about.into(), service }
    }
}

/// One page of a list.
pub trait Page: DeserializeOwned {
    type Item;
    /// Returns the items and the token of the next page.
    fn turn(self) -> (Vec<Self::Item>, Option<String>);
}

impl Google {
    /// Sends a request and parses the response.
    pub(super) async fn asked<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, Trouble> {
        let body = body(self.sent(ask).await?).await?;
        let garbled = |_| Trouble::Garbled(format!("google's answer about {} cannot be read.", ask.about));
        serde_json::from_slice(&body).map_err(garbled)
    }

    /// Sends a request and ignores the response body.
    pub(super) async fn told(&self, ask: &Ask) -> Result<(), Trouble> {
        self.sent(ask).await.map(|_| ())
    }

    /// Returns all items of a list over all pages, at most `max`.
    pub(super) async fn listed<P: Page>(&self, ask: &Ask, most: usize) -> Result<Vec<P::Item>, Trouble> {
        let mut all = Vec::new();
        let mut next = ask.clone();
        for _ in 0..PAGES {
            let (items, token) = self.asked::<P>(&next).await?.turn();
            all.extend(items);
            let Some(token) = token.filter(|_| all.len() < most) else {
                all.truncate(most);
                return Ok(all);
            };
            next = ask.clone().with(&[("pageToken", &token)]);
        }
        Err(Trouble::Garbled(format!("google does not stop sending pages of {}.", ask.about)))
    }

    /// Sends a request, once more with a new token if the first one is refused.
    async fn sent(&self, ask: &Ask) -> Result<Response, Trouble> {
        let token = self.access(ask.service).await?;
        let response = self.send(ask, token.reveal()).await?;
        let (response, token) = match response.status() {
            StatusCode::UNAUTHORIZED => {
                let token = self.access_instead_of(&token).await?;
                (self.send(ask, token.reveal()).await?, token)
            }
            _ => (response, token),
        };
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(refusal::read(response).await.hiding(&[&token]).about(&ask.about, ask.service))
        }
    }

    async fn send(&self, ask: &Ask, token: &str) -> Result<Response, Trouble> {
        let request = self.client.request(ask.method.clone(), ask.address.clone()).bearer_auth(token);
        let with_body = |request: RequestBuilder| match &ask.body {
            Some(body) => request.json(body),
            None => request,
        };
        with_body(request).send().await.map_err(|error| unanswered(&error))
    }
}

/// Reads the body up to the limit.
pub async fn body(mut response: Response) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unanswered(&error))? {
        if body.len() + piece.len() > ANSWER {
            let most = ANSWER / (1024 * 1024);
            return Err(Trouble::Garbled(format!(
                "google's answer is longer than {most} MB, so i did not read it."
            )));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The error for a missing response. The URL is left out, since it may contain private data.
pub fn unanswered(error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        Trouble::Away("google does not answer. try again later.".to_owned())
    } else {
        Trouble::Away(format!("google cannot be reached: {}. try again later.", ::wire::reason(error)))
    }
}

/// Validates the characters of an id. Invalid ids are not sent.
pub fn checked<'a>(id: &'a str, what: &str) -> Result<&'a str, Trouble> {
    let known = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-@.".contains(&byte));
    if known && !id.is_empty() && id.len() <= 1024 && id.bytes().any(|byte| byte != b'.') {
        Ok(id)
    } else {
        Err(Trouble::Wrong(format!("that is not the id of a {what}. ids stand first in a list of them.")))
    }
}
