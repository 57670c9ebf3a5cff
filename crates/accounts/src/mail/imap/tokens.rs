//! Splits responses into atoms, strings and lists. Malformed parts are skipped.

/// The maximum nesting of lists.
const DEPTH: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An atom such as `OK`, `17` or `BODY[]<0>`.
    Word(String),
    Text(Vec<u8>),
    List(Vec<Token>),
}

impl Token {
    /// Returns the text of an atom or string.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.clone()),
            Self::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::List(_) => None,
        }
    }

    /// Returns whether this is the atom `wanted`, ignoring case.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(wanted))
    }

    pub fn number(&self) -> Option<u32> {
        self.text()?.parse().ok()
    }
}

/// A response with its text and its literals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// The text, without the line end.
    pub text: Vec<u8>,
    /// Literals with their positions in the text.
    pub apart: Vec<(usize, Vec<u8>)>,
}

impl Raw {
    pub fn tokens(&self) -> Vec<Token> {
        Reader { raw: self, at: 0, next: 0 }.list(0)
    }
}

struct Reader<'a> {
    raw: &'a Raw,
    at: usize,
    next: usize,
}

impl Reader<'_> {
    /// Reads all tokens to the end of the list or response.
    fn list(&mut self, depth: usize) -> Vec<Token> {
        let mut tokens = Vec::new();
        loop {
            if let Some((place, bytes)) = self.raw.apart.get(self.next)
                && *place == self.at
            {
                tokens.push(Token::Text(bytes.clone()));
                self.next += 1;
                continue;
            }
            let Some(byte) = self.raw.text.get(self.at) else { return tokens };
            match byte {
                b' ' => self.at += 1,
                b'"' => tokens.push(Token::Text(self.quoted())),
                b'(' if depth < DEPTH => {
                    self.at += 1;
                    tokens.push(Token::List(self.list(depth + 1)));
                }
                b')' => {
                    self.at += 1;
                    if depth > 0 {
                        return tokens;
                    }
                }
                _ => tokens.push(Token::Word(self.word())),
            }
        }
    }

    fn quoted(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.at += 1;
        while let Some(byte) = self.raw.text.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    bytes.extend(self.raw.text.get(self.at));
                    self.at += 1;
                }
                byte => bytes.push(*byte),
            }
        }
        bytes
    }

    /// Reads an atom, including any text in square brackets.
    fn word(&mut self) -> String {
        let start = self.at;
        let mut inside = false;
        while let Some(byte) = self.raw.text.get(self.at) {
            let apart = self.raw.apart.get(self.next).is_some_and(|(place, _)| *place == self.at);
            if self.at > start && (apart || (!inside && b" ()\"".contains(byte))) {
                break;
            }
            inside = (inside || *byte == b'[') && *byte != b']';
            self.at += 1;
        }
        String::from_utf8_lossy(&self.raw.text[start..self.at]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn shown(token: &Token) -> String {
        match token {
            Token::Word(word) => word.clone(),
            Token::Text(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
            Token::List(tokens) => format!("<{}>", tokens.iter().map(shown).collect::<Vec<_>>().join(" ")),
        }
    }

    #[test]
    fn a_response_is_read_in_pieces() {
        let check = |text: &str, apart: Vec<(usize, Vec<u8>)>, expected: &expect_test::Expect| {
            let raw = Raw { text: text.as_bytes().to_vec(), apart };
            expected.assert_eq(&raw.tokens().iter().map(shown).collect::<Vec<_>>().join(" "));
        };
        let list = "* LIST (\\HasNoChildren \\Trash) \"/\" \"a \\\"b\\\"\"";
        check(list, vec![], &expect![[r#"* LIST <\HasNoChildren \Trash> '/' 'a "b"'"#]]);
        let fetch = "* 1 FETCH (UID 7 BODY[HEADER.FIELDS (FROM SUBJECT)]<0> FLAGS ())";
        let apart = vec![(fetch.find(" FLAGS").unwrap(), b"Subject: x)".to_vec())];
        check(
            fetch,
            apart,
            &expect![[r#"* 1 FETCH <UID 7 BODY[HEADER.FIELDS (FROM SUBJECT)]<0> 'Subject: x)' FLAGS <>>"#]],
        );
        check("* OK [UIDVALIDITY 17] ok", vec![], &expect!["* OK [UIDVALIDITY 17] ok"]);
        check("((((", vec![], &expect!["<<<<>>>>"]);
        check(") a \"b", vec![], &expect!["a 'b'"]);
    }

    proptest! {
        #[test]
        fn everything_can_be_read(text in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..220) {
            Raw { text, apart: vec![(at, b"x".to_vec())] }.tokens();
        }
    }
}
