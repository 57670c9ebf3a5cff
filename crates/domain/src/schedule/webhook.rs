//! A webhook: a job that somebody outside sets off.

use super::{Invalid, ItemId, Knowing, Prompt, Terms};

/// WH-5: the most bytes that a call brings, unless its file says otherwise.
pub const BYTES: u32 = 10_240;
/// The most bytes that a file may let a call bring.
pub const MOST_BYTES: u32 = 65_536;

/// What a call from outside must bring, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebhookSpec {
    /// Who it is, and the last part of its address.
    pub id: ItemId,
    /// The JSON Schema of what must be brought, as JSON text.
    pub fields: String,
    /// How a call is known to be meant, and what is taken from it.
    pub entrance: Entrance,
    /// What the job knows at its start. It always runs aside.
    pub knowing: Knowing,
    /// What holds while it runs.
    pub terms: Terms,
    /// Words that go to the human as they are, with places for what was brought: no model is asked then.
    pub deliver: Option<Prompt>,
    /// What it is told, with places for what was brought.
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

    /// What has places for what is brought.
    pub fn words(&self) -> &str {
        self.deliver.as_ref().unwrap_or(&self.template).as_str()
    }
}

/// What a call must show, and what is taken from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entrance {
    /// How it shows that whoever calls knows the secret.
    pub proof: Proof,
    /// Where in the call each field is found, as JSON Pointers; nothing, if the call is made of the fields.
    pub pick: Vec<(String, String)>,
    /// The most bytes that it brings, if not the usual.
    pub bytes: Option<u32>,
}

impl Entrance {
    /// Checks what a file says.
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

    /// The most bytes that a call brings.
    pub fn limit(&self) -> usize {
        usize::try_from(self.bytes.unwrap_or(BYTES)).unwrap_or(usize::MAX)
    }
}

/// How a call shows that whoever calls knows the secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Proof {
    /// It shows the secret itself.
    #[default]
    Bearer,
    /// It is signed as Standard Webhooks say.
    Standard,
    /// It is signed as GitHub does.
    GitHub,
}

impl Proof {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bearer, Self::Standard, Self::GitHub];

    /// The word for it in a file.
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
