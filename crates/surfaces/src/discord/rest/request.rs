//! A request together with the route whose limits it falls under.

use crate::discord::limits::{Route, Weight};
use crate::discord::wire::{Auth, Body, Call, Method};

/// A request.
pub struct Request {
    /// What its limits are.
    pub route: Route,
    /// What is sent.
    pub call: Call,
}

impl Request {
    /// A request of the bot to `template`, in which each `{}` stands for one of `parts`; the first has the limits.
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
            route: Route { method, template, major, weight: Weight::Plain },
            call: Call { method, path, body: Body::Empty, auth: Auth::Bot },
        }
    }

    /// It brings `body`.
    pub fn bringing(mut self, body: Body) -> Self {
        self.call.body = body;
        self
    }

    /// With `query` behind its path.
    pub fn asking(mut self, query: &str) -> Self {
        self.call.path.push('?');
        self.call.path.push_str(query);
        self
    }

    /// It is the first to wait.
    pub fn light(mut self) -> Self {
        self.route.weight = Weight::Light;
        self
    }

    /// It answers an interaction: its path proves who we are, and `major` has the limits.
    pub fn apart(mut self, major: &str) -> Self {
        self.route.weight = Weight::Apart;
        self.route.major = major.to_owned();
        self.call.auth = Auth::Path;
        self
    }
}
