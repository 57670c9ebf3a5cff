//! Signing in: what is wanted of who signs the model's program in, and the code that the human brings for it.

use std::fmt;

/// The fewest letters of either half of a code.
const HALF: usize = 16;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// An address at which the human signs in, unless that is done.
    Link,
    /// An address all the same.
    Again,
    /// This is what the human was given there.
    With(Code),
}

impl SignIn {
    /// What `words` ask for, or what would be right.
    pub fn read(words: &str) -> Result<Self, String> {
        match words {
            "" => Ok(Self::Link),
            "again" => Ok(Self::Again),
            code => Code::read(code).map(Self::With).ok_or_else(|| {
                "that is no code to sign in with. copy it whole: two long words with a `#` between them."
                    .to_owned()
            }),
        }
    }
}

/// What the human is given where they signed in. It opens an account once, so it does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    /// The code that `text` is: two long words with a `#` between them, as nobody would write anything else.
    pub fn read(text: &str) -> Option<Self> {
        let (code, state) = text.trim().split_once('#')?;
        let is_half = |half: &str| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            half.len() >= HALF && half.bytes().all(letter)
        };
        (is_half(code) && is_half(state)).then(|| Self(text.trim().to_owned()))
    }

    /// The code itself, for the one who asked for it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SU-3: a code is known by how it looks, and does not show itself.
    #[test]
    fn a_code_is_known_by_how_it_looks_and_does_not_show_itself() {
        let code = "aB3_-aB3_-aB3_-aB3_-";
        let state = "x".repeat(43);
        let whole = format!("{code}#{state}");
        let read = Code::read(&format!("  {whole}\n")).unwrap();
        assert_eq!(read.reveal(), whole);
        assert_eq!(format!("{:?}", SignIn::With(read)), "With(Code)");
        let others =
            [code.to_owned(), format!("{code}#"), format!("{code}#short"), format!("{code} #{state}")];
        let others = others.into_iter().chain([
            format!("{code}#{state}#{state}"),
            format!("https://example.org/{code}#{state}"),
            format!("{code}#{state} is it"),
            "what is issue #12 about?".to_owned(),
        ]);
        for other in others {
            assert_eq!(Code::read(&other), None, "{other}");
        }
    }
}
