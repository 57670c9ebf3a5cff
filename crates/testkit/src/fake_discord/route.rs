//! Parsing of request paths.

/// A request's path and query.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The decoded segments of the path.
    pub parts: Vec<String>,
    /// The decoded query.
    pub query: Vec<(String, String)>,
}

impl Route {
    /// Parses `path`, which may be an absolute URL.
    pub fn parse(path: &str) -> Self {
        let path = match path.split_once("://") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
            None => path,
        };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut parts: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(percent_decode).collect();
        if parts.first().is_some_and(|part| part == "api") {
            parts.remove(0);
            if parts.first().is_some_and(|part| part == "v10") {
                parts.remove(0);
            }
        }
        Self { parts, query: parse_query(query) }
    }

    /// Returns a value of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Returns the segments for pattern matching.
    pub fn parts(&self) -> Vec<&str> {
        self.parts.iter().map(String::as_str).collect()
    }

    /// Returns the path with ids and tokens replaced by `*`, as used by the log and by faults.
    pub fn template(&self) -> String {
        let is_variable = |at: usize, part: &str| {
            let after = at.checked_sub(1).and_then(|before| self.parts.get(before)).map(String::as_str);
            let token = at == 2 && matches!(self.parts[0].as_str(), "webhooks" | "interactions");
            let id = part.len() > 5 && part.bytes().all(|byte| byte.is_ascii_digit());
            id || token || after == Some("reactions") || self.parts[0] == "attachments" && at > 0
        };
        let mut template = String::new();
        for (at, part) in self.parts.iter().enumerate() {
            template.push('/');
            template.push_str(if is_variable(at, part) { "*" } else { part });
        }
        template
    }
}

/// Parses the pairs of a query.
pub(super) fn parse_query(query: &str) -> Vec<(String, String)> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (percent_decode(name), percent_decode(value))
    };
    query.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
