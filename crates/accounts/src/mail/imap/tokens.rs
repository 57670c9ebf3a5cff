//! What the other side says, in pieces: words, strings and lists. Whatever cannot be read is left out.

/// How deep lists are read.
const DEPTH: usize = 20;

/// A piece of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word: `OK`, `17`, `BODY[]<0>`.
    Word(String),
    /// A string.
    Text(Vec<u8>),
    /// A list.
    List(Vec<Token>),
}

impl Token {
    /// It as text, if it is no list.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.clone()),
            Self::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::List(_) => None,
        }
    }

    /// Whether it is this word, in any case.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(wanted))
    }

    /// It as a number.
    pub fn number(&self) -> Option<u32> {
        self.text()?.parse().ok()
    }
}

/// A response as it came: its text, and the strings that were sent apart, each at its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// The text, without the line's end.
    pub text: Vec<u8>,
    /// Strings, and where in the text each of them belongs.
    pub apart: Vec<(usize, Vec<u8>)>,
}

impl Raw {
    /// Its pieces.
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
    /// All pieces to the end of the list, or of everything.
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

    /// A word; what stands in square brackets belongs to it, whatever it is.
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
