//! One request to Google: with a token that is good, an answer that is bounded, and a refusal in plain words.

use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Google, Service, refusal};
use crate::Trouble;

/// The most bytes of an answer that are read.
const ANSWER: usize = 16 * 1024 * 1024;
/// The most pages that are asked for.
const PAGES: usize = 100;

/// What is asked of Google.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    address: Url,
    body: Option<Value>,
    about: String,
    service: Service,
}

impl Ask {
    /// Looks at `address`; `about` is what it is, in words that follow `google has no`.
    pub fn get(service: Service, address: Url, about: impl Into<String>) -> Self {
        Self { method: Method::GET, address, body: None, about: about.into(), service }
    }

    /// Makes something of `body`.
    pub fn post(service: Service, address: Url, body: Value, about: impl Into<String>) -> Self {
        Self { method: Method::POST, address, body: Some(body), about: about.into(), service }
    }

    /// Changes what `body` names.
    pub fn patch(service: Service, address: Url, body: Value, about: impl Into<String>) -> Self {
        Self { method: Method::PATCH, address, body: Some(body), about: about.into(), service }
    }

    /// The same, asked with `words`.
    pub fn with(mut self, words: &[(&str, &str)]) -> Self {
        self.address.query_pairs_mut().extend_pairs(words);
        self
    }

    /// Removes it.
    pub fn delete(service: Service, address: Url, about: impl Into<String>) -> Self {
        Self { method: Method::DELETE, address, body: None, about: about.into(), service }
    }
}

/// A page of a list.
pub trait Page: DeserializeOwned {
    /// One of what is listed.
    type Item;
    /// What is on it, and the name of the next page.
    fn turn(self) -> (Vec<Self::Item>, Option<String>);
}

impl Google {
    /// What Google answers, read.
    pub(super) async fn asked<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, Trouble> {
        let body = body(self.sent(ask).await?).await?;
        let garbled = |_| Trouble::Garbled(format!("google's answer about {} cannot be read.", ask.about));
        serde_json::from_slice(&body).map_err(garbled)
    }

    /// What Google answers, when the answer says nothing.
    pub(super) async fn told(&self, ask: &Ask) -> Result<(), Trouble> {
        self.sent(ask).await.map(|_| ())
    }

    /// All that is listed, over as many pages as there are, but no more than `most`.
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

    /// Sends it, with a new token if the first is refused.
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

/// The whole body, unless it is too big.
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

/// Why there is no answer. The address is left out: it may hold what nobody else should read.
pub fn unanswered(error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        Trouble::Away("google does not answer. try again later.".to_owned())
    } else {
        Trouble::Away(format!("google cannot be reached: {}. try again later.", ::wire::reason(error)))
    }
}

/// An id as Google makes them. Others are no ids, and are not sent.
pub fn checked<'a>(id: &'a str, what: &str) -> Result<&'a str, Trouble> {
    let known = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-@.".contains(&byte));
    if known && !id.is_empty() && id.len() <= 1024 && id.bytes().any(|byte| byte != b'.') {
        Ok(id)
    } else {
        Err(Trouble::Wrong(format!("that is not the id of a {what}. ids stand first in a list of them.")))
    }
}
