//! Sign-in to the model's program: the steps, and the code that the user receives.

use std::fmt;

/// The fewest characters of each half of a code.
const MIN_HALF_CHARS: usize = 16;

/// A step of the sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// Request the sign-in address, unless the user is signed in.
    Link,
    /// Request the address in any case.
    Again,
    /// Finish with this code.
    With(SignInCode),
}

impl SignIn {
    /// Parses the argument of the command; the error is a hint for the user.
    pub fn parse(words: &str) -> Result<Self, String> {
        match words {
            "" => Ok(Self::Link),
            "again" => Ok(Self::Again),
            code => SignInCode::parse(code).map(Self::With).ok_or_else(|| {
                "that is no code to sign in with. copy it whole: two long words with a `#` between them."
                    .to_owned()
            }),
        }
    }
}

/// The code from the vendor's page. It is a secret, so `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInCode(String);

impl SignInCode {
    /// Parses a code: two long strings with a `#` between them.
    pub fn parse(text: &str) -> Option<Self> {
        let (code, state) = text.trim().split_once('#')?;
        let is_half = |half: &str| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            half.len() >= MIN_HALF_CHARS && half.bytes().all(letter)
        };
        (is_half(code) && is_half(state)).then(|| Self(text.trim().to_owned()))
    }

    /// Returns the secret, for the sign-in itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SignInCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SU-3: A code is recognized by its form, and `Debug` does not print it.
    #[test]
    fn code_is_recognized_and_not_printed() {
        let code = "aB3_-aB3_-aB3_-aB3_-";
        let state = "x".repeat(43);
        let whole = format!("{code}#{state}");
        let read = SignInCode::parse(&format!("  {whole}\n")).unwrap();
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
            assert_eq!(SignInCode::parse(&other), None, "{other}");
        }
    }
}
