//! Webhooks: jobs started by an HTTP request from outside.

use super::{InitialContext, InvalidField, ItemId, Prompt, RunOptions};

/// WH-5: the default maximum size of a request, in bytes.
pub const DEFAULT_MAX_BYTES: u32 = 10_240;
/// The highest maximum size that a file may set.
pub const MAX_BYTES_LIMIT: u32 = 65_536;

/// The definition of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebhookSpec {
    /// Its id, which is also the last segment of its URL.
    pub id: ItemId,
    /// The JSON Schema of the fields, as JSON text.
    pub fields: String,
    /// Authentication of requests, and extraction of fields.
    pub intake: WebhookIntake,
    /// The initial context of the run, which is always a background run.
    pub context: InitialContext,
    pub options: RunOptions,
    /// A template that is sent to the user as it is, without calling a model.
    pub deliver: Option<Prompt>,
    /// The prompt template.
    pub template: Prompt,
}

impl WebhookSpec {
    /// Checks that its parts do not contradict each other.
    pub fn validated(self) -> Result<Self, InvalidField> {
        match (&self.deliver, self.template.as_str().is_empty()) {
            (Some(_), false) => Err(InvalidField::new(
                "deliver",
                "cannot stand beside an instruction; keep `deliver` and no text below, or the text and no `deliver`",
            )),
            (Some(words), true) if words.as_str().is_empty() => {
                Err(InvalidField::new("deliver", "is blank; write the words that the human gets"))
            }
            (Some(_), true) | (None, _) => Ok(self),
        }
    }

    /// The template in use.
    pub fn active_template(&self) -> &str {
        self.deliver.as_ref().unwrap_or(&self.template).as_str()
    }
}

/// Authentication of requests, and extraction of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WebhookIntake {
    pub auth: WebhookAuth,
    /// JSON Pointers from which the fields are extracted; if empty, the body consists of the
    /// fields.
    pub pick: Vec<(String, String)>,
    /// The maximum size in bytes, if not the default.
    pub max_bytes: Option<u32>,
}

impl WebhookIntake {
    /// Validates the values of a file.
    pub fn parse(
        auth: Option<&str>,
        pick: Vec<(String, String)>,
        bytes: Option<u32>,
    ) -> Result<Self, InvalidField> {
        let proof = auth.map(WebhookAuth::parse).transpose()?.unwrap_or_default();
        if let Some((name, path)) = pick.iter().find(|(_, path)| !path.starts_with('/')) {
            let reason =
                format!("{path:?} of `{name}` is no place in a call; write it like `/repository/full_name`");
            return Err(InvalidField::new("pick", reason));
        }
        match bytes {
            Some(bytes) if !(1..=MAX_BYTES_LIMIT).contains(&bytes) => {
                let reason = format!("{bytes} is not possible; write a number from 1 to {MAX_BYTES_LIMIT}");
                Err(InvalidField::new("max-bytes", reason))
            }
            Some(_) | None => Ok(Self { auth: proof, pick, max_bytes: bytes }),
        }
    }

    /// The maximum size of a request, in bytes.
    pub fn size_limit(&self) -> usize {
        usize::try_from(self.max_bytes.unwrap_or(DEFAULT_MAX_BYTES)).unwrap_or(usize::MAX)
    }
}

/// The authentication of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WebhookAuth {
    /// The secret itself as a bearer token.
    #[default]
    Bearer,
    /// A signature according to Standard Webhooks.
    Standard,
    /// A signature as GitHub sends it.
    GitHub,
}

impl WebhookAuth {
    pub const ALL: [Self; 3] = [Self::Bearer, Self::Standard, Self::GitHub];

    /// The value in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Standard => "standard",
            Self::GitHub => "github",
        }
    }

    fn parse(word: &str) -> Result<Self, InvalidField> {
        let found = Self::ALL.into_iter().find(|proof| proof.as_str() == word.trim());
        found.ok_or_else(|| {
            InvalidField::new("auth", format!("{word:?} is unknown; write `bearer`, `standard` or `github`"))
        })
    }
}
