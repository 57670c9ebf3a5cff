//! The objects of one calendar on a server, which are changed only if they are unchanged on the
//! server.

use reqwest::{Method, StatusCode, Url};
use tokio::sync::OnceCell;

use super::CalDavSettings;
use super::client::{DavClient, DavRequest, RequestError};
use super::discovery;
use super::multistatus::{self, ResponseItem};
use super::requests::{Detail, ObjectFilter, ObjectKind, calendar_query, multiget};
use crate::AccountError;

/// The number of objects per request when all together are too large.
const OBJECTS_PER_REQUEST: usize = 400;

/// The maximum number of objects.
const MAX_OBJECTS: usize = 50_000;

const ICALENDAR_CONTENT_TYPE: &str = "text/calendar; charset=utf-8";

/// One calendar on a server. Its URL is discovered on first use.
pub(super) struct Collection {
    client: DavClient,
    kind: ObjectKind,
    url: OnceCell<Url>,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) url: Url,
    pub(super) bytes: Vec<u8>,
}

/// The objects found, and those that were too large.
#[derive(Debug, Default)]
pub(super) struct QueryResult {
    /// The objects, unordered.
    pub(super) objects: Vec<Object>,
    /// A sentence for each missing object.
    pub(super) problems: Vec<String>,
}

/// The new state of an object.
pub(super) enum ObjectUpdate {
    Replace(Vec<u8>),
    Delete,
}

impl Collection {
    /// Creates the collection for `kind` with these settings.
    pub(super) fn new(settings: CalDavSettings, kind: ObjectKind) -> Result<Self, AccountError> {
        Ok(Self { client: DavClient::new(settings)?, kind, url: OnceCell::new() })
    }

    /// The name used in error messages.
    pub(super) fn source_name(&self) -> String {
        format!("what {} sent", self.client.url.host_str().unwrap_or("the server"))
    }

    async fn url(&self) -> Result<&Url, AccountError> {
        self.url.get_or_try_init(|| discovery::find_calendar(&self.client, self.kind)).await
    }

    /// Returns the matching objects: all in one request, or in several if the response is too
    /// large.
    pub(super) async fn query_objects(&self, filter: &ObjectFilter<'_>) -> Result<QueryResult, AccountError> {
        let place = self.url().await?;
        match self.client.send_ok(place, &calendar_query(filter, Detail::Full)).await {
            Ok(answer) => self.parse_objects(&answer.body),
            Err(RequestError::TooLarge(_)) => self.query_in_parts(place, filter).await,
            Err(RequestError::Other(trouble)) => Err(trouble),
        }
    }

    async fn query_in_parts(
        &self,
        place: &Url,
        filter: &ObjectFilter<'_>,
    ) -> Result<QueryResult, AccountError> {
        let answer = self.client.send_ok(place, &calendar_query(filter, Detail::HrefOnly)).await?;
        let items = multistatus::parse(&answer.body).ok_or_else(|| self.client.invalid_response())?;
        if items.len() > MAX_OBJECTS {
            return Err(AccountError::Unreadable(format!(
                "there are {} objects, and i read no more than {MAX_OBJECTS} at once. ask for fewer days.",
                items.len()
            )));
        }
        let hrefs: Vec<_> = items.into_iter().map(|thing| thing.href).collect();
        let mut parts: Vec<_> = hrefs.chunks(OBJECTS_PER_REQUEST).collect();
        let mut found = QueryResult::default();
        while let Some(part) = parts.pop() {
            match (self.client.send_ok(place, &multiget(part)).await, part) {
                (Ok(answer), _) => found.objects.extend(self.parse_objects(&answer.body)?.objects),
                (Err(RequestError::TooLarge(_)), [only]) => {
                    found
                        .problems
                        .push(format!("{only}: it is bigger than all i read at once, so it is left out."));
                }
                (Err(RequestError::TooLarge(_)), part) => {
                    parts.extend([&part[..part.len() / 2], &part[part.len() / 2..]])
                }
                (Err(RequestError::Other(trouble)), _) => return Err(trouble),
            }
        }
        Ok(found)
    }

    fn parse_objects(&self, body: &[u8]) -> Result<QueryResult, AccountError> {
        let things = multistatus::parse(body).ok_or_else(|| self.client.invalid_response())?;
        let object = |thing: ResponseItem| {
            let bytes = thing.properties.data?.into_bytes();
            Some(self.client.resolve(&self.client.url, &thing.href).map(|url| Object { url, bytes }))
        };
        let objects = things.into_iter().filter_map(object).collect::<Result<_, _>>()?;
        Ok(QueryResult { objects, problems: Vec::new() })
    }

    /// Creates an object.
    pub(super) async fn add(&self, uid: &str, bytes: Vec<u8>) -> Result<(), AccountError> {
        let url = self.client.resolve(self.url().await?, &format!("{uid}.ics"))?;
        let only = Some(("If-None-Match", "*".to_owned()));
        self.client
            .send_ok(
                &url,
                &DavRequest {
                    method: Method::PUT,
                    precondition: only,
                    body: Some((ICALENDAR_CONTENT_TYPE, bytes)),
                    depth: None,
                },
            )
            .await?;
        Ok(())
    }

    /// Changes an object with `make`. After a concurrent change, `make` is applied once more to the
    /// new content.
    pub(super) async fn change<T>(
        &self,
        url: &Url,
        make: impl Fn(&[u8]) -> Result<(ObjectUpdate, T), AccountError>,
    ) -> Result<T, AccountError> {
        let mut attempts = 2;
        loop {
            let now = self
                .client
                .send_ok(url, &DavRequest { method: Method::GET, ..DavRequest::default() })
                .await?;
            let (update, value) = make(&now.body)?;
            let only = Some(("If-Match", now.etag.unwrap_or_else(|| "*".to_owned())));
            let ask = match update {
                ObjectUpdate::Replace(bytes) => DavRequest {
                    method: Method::PUT,
                    precondition: only,
                    body: Some((ICALENDAR_CONTENT_TYPE, bytes)),
                    depth: None,
                },
                ObjectUpdate::Delete => {
                    DavRequest { method: Method::DELETE, precondition: only, ..DavRequest::default() }
                }
            };
            let answer = self.client.send(url, &ask).await?;
            attempts -= 1;
            match (
                answer.status.is_success(),
                answer.status == StatusCode::PRECONDITION_FAILED && attempts > 0,
            ) {
                (true, _) => return Ok(value),
                (false, true) => {}
                (false, false) => return Err(self.client.status_error(&answer)),
            }
        }
    }
}
