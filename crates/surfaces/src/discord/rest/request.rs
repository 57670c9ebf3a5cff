//! A request with the route whose limits apply.

use crate::discord::rate_limits::{Route, Weight};
use crate::discord::transport::{Auth, Body, HttpRequest, Method};

pub struct Request {
    pub route: Route,
    pub call: HttpRequest,
}

impl Request {
    /// Creates a request of the bot to `template`, whose `{}` are replaced by `parts`. The first
    /// part is the major parameter of the limits.
    pub fn new(method: Method, template: &'static str, parts: &[&str]) -> Self {
        let major = parts.first().copied().unwrap_or_default().to_owned();
        let mut path = String::new();
        let mut parts = parts.iter();
        for (index, piece) in template.split("{}").enumerate() {
            if index > 0 {
                path.push_str(parts.next().copied().unwrap_or_default());
            }
            path.push_str(piece);
        }
        Self {
            route: Route { method, template, major, weight: Weight::Normal },
            call: HttpRequest { method, path, body: Body::Empty, auth: Auth::Bot },
        }
    }

    /// Sets the body.
    pub fn with_body(mut self, body: Body) -> Self {
        self.call.body = body;
        self
    }

    /// Appends a query.
    pub fn with_query(mut self, query: &str) -> Self {
        self.call.path.push('?');
        self.call.path.push_str(query);
        self
    }

    /// Makes it the first to be delayed.
    pub fn low_priority(mut self) -> Self {
        self.route.weight = Weight::LowPriority;
        self
    }

    /// Makes it an answer to an interaction: the path authorizes it, and `major` has limits of its
    /// own.
    pub fn for_interaction(mut self, major: &str) -> Self {
        self.route.weight = Weight::Interaction;
        self.route.major = major.to_owned();
        self.call.auth = Auth::Path;
        self
    }
}
