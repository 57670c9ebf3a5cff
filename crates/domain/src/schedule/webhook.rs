//! Webhooks: jobs started by an HTTP request from outside.

use super::{Invalid, ItemId, Knowing, Prompt, Terms};

/// WH-5: the default maximum size of a request, in bytes.
pub const BYTES: u32 = 10_240;
/// The highest maximum size that a file may set.
pub const MOST_BYTES: u32 = 65_536;

/// The definition of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebhookSpec {
    /// Its id, which is also the last segment of its URL.
    pub id: ItemId,
    /// The JSON Schema of the fields, as JSON text.
    pub fields: String,
    /// Authentication of requests, and extraction of fields.
    pub entrance: Entrance,
    /// The initial context of the run, which is always a background run.
    pub knowing: Knowing,
    pub terms: Terms,
    /// A template that is sent to the user as it is, without calling a model.
    pub deliver: Option<Prompt>,
    /// The prompt template.
    pub template: Prompt,
}

impl WebhookSpec {
    /// Checks that its parts do not contradict each other.
    pub fn checked(self) -> Result<Self, Invalid> {
        match (&self.deliver, self.template.as_str().is_empty()) {
            (Some(_), false) => Err(Invalid::new(
                "deliver",
                "cannot stand beside an instruction; keep `deliver` and no text below, or the text and no `deliver`",
            )),
            (Some(words), true) if words.as_str().is_empty() => {
                Err(Invalid::new("deliver", "is blank; write the words that the human gets"))
            }
            (Some(_), true) | (None, _) => Ok(self),
        }
    }

    /// The template in use.
    pub fn words(&self) -> &str {
        self.deliver.as_ref().unwrap_or(&self.template).as_str()
    }
}

/// Authentication of requests, and extraction of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entrance {
    pub proof: Proof,
    /// JSON Pointers from which the fields are extracted; if empty, the body consists of the
    /// fields.
    pub pick: Vec<(String, String)>,
    /// The maximum size in bytes, if not the default.
    pub bytes: Option<u32>,
}

impl Entrance {
    /// Validates the values of a file.
    pub fn read(
        auth: Option<&str>,
        pick: Vec<(String, String)>,
        bytes: Option<u32>,
    ) -> Result<Self, Invalid> {
        let proof = auth.map(Proof::parse).transpose()?.unwrap_or_default();
        if let Some((name, path)) = pick.iter().find(|(_, path)| !path.starts_with('/')) {
            let reason =
                format!("{path:?} of `{name}` is no place in a call; write it like `/repository/full_name`");
            return Err(Invalid::new("pick", reason));
        }
        match bytes {
            Some(bytes) if !(1..=MOST_BYTES).contains(&bytes) => {
                let reason = format!("{bytes} is not possible; write a number from 1 to {MOST_BYTES}");
                Err(Invalid::new("max-bytes", reason))
            }
            Some(_) | None => Ok(Self { proof, pick, bytes }),
        }
    }

    /// The maximum size of a request, in bytes.
    pub fn limit(&self) -> usize {
        usize::try_from(self.bytes.unwrap_or(BYTES)).unwrap_or(usize::MAX)
    }
}

/// The authentication of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Proof {
    /// The secret itself as a bearer token.
    #[default]
    Bearer,
    /// A signature according to Standard Webhooks.
    Standard,
    /// A signature as GitHub sends it.
    GitHub,
}

impl Proof {
    pub const ALL: [Self; 3] = [Self::Bearer, Self::Standard, Self::GitHub];

    /// The value in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Standard => "standard",
            Self::GitHub => "github",
        }
    }

    fn parse(word: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|proof| proof.as_str() == word.trim());
        found.ok_or_else(|| {
            Invalid::new("auth", format!("{word:?} is unknown; write `bearer`, `standard` or `github`"))
        })
    }
}
