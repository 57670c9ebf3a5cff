//! Splits responses into atoms, strings and lists. Malformed parts are skipped.

/// The maximum nesting of lists.
const MAX_DEPTH: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An atom such as `OK`, `17` or `MAX_BODY_CHARS[]<0>`.
    Atom(String),
    Text(Vec<u8>),
    List(Vec<Token>),
}

impl Token {
    /// Returns the text of an atom or string.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Atom(word) => Some(word.clone()),
            Self::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::List(_) => None,
        }
    }

    /// Returns whether this is the atom `wanted`, ignoring case.
    pub fn is_atom(&self, wanted: &str) -> bool {
        matches!(self, Self::Atom(word) if word.eq_ignore_ascii_case(wanted))
    }

    pub fn number(&self) -> Option<u32> {
        self.text()?.parse().ok()
    }
}

/// A response with its text and its literals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawResponse {
    /// The text, without the line end.
    pub text: Vec<u8>,
    /// Literals with their positions in the text.
    pub literals: Vec<(usize, Vec<u8>)>,
}

impl RawResponse {
    pub fn tokens(&self) -> Vec<Token> {
        TokenReader { raw: self, position: 0, next_literal: 0 }.read_list(0)
    }
}

struct TokenReader<'a> {
    raw: &'a RawResponse,
    position: usize,
    next_literal: usize,
}

impl TokenReader<'_> {
    /// Reads all tokens to the end of the list or response.
    fn read_list(&mut self, depth: usize) -> Vec<Token> {
        let mut tokens = Vec::new();
        loop {
            if let Some((place, bytes)) = self.raw.literals.get(self.next_literal)
                && *place == self.position
            {
                tokens.push(Token::Text(bytes.clone()));
                self.next_literal += 1;
                continue;
            }
            let Some(byte) = self.raw.text.get(self.position) else { return tokens };
            match byte {
                b' ' => self.position += 1,
                b'"' => tokens.push(Token::Text(self.read_quoted())),
                b'(' if depth < MAX_DEPTH => {
                    self.position += 1;
                    tokens.push(Token::List(self.read_list(depth + 1)));
                }
                b')' => {
                    self.position += 1;
                    if depth > 0 {
                        return tokens;
                    }
                }
                _ => tokens.push(Token::Atom(self.read_atom())),
            }
        }
    }

    fn read_quoted(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.position += 1;
        while let Some(byte) = self.raw.text.get(self.position) {
            self.position += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    bytes.extend(self.raw.text.get(self.position));
                    self.position += 1;
                }
                byte => bytes.push(*byte),
            }
        }
        bytes
    }

    /// Reads an atom, including any text in square brackets.
    fn read_atom(&mut self) -> String {
        let start = self.position;
        let mut inside = false;
        while let Some(byte) = self.raw.text.get(self.position) {
            let apart =
                self.raw.literals.get(self.next_literal).is_some_and(|(place, _)| *place == self.position);
            if self.position > start && (apart || (!inside && b" ()\"".contains(byte))) {
                break;
            }
            inside = (inside || *byte == b'[') && *byte != b']';
            self.position += 1;
        }
        String::from_utf8_lossy(&self.raw.text[start..self.position]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn shown(token: &Token) -> String {
        match token {
            Token::Atom(word) => word.clone(),
            Token::Text(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
            Token::List(tokens) => format!("<{}>", tokens.iter().map(shown).collect::<Vec<_>>().join(" ")),
        }
    }

    #[test]
    fn response_is_split_into_tokens() {
        let check = |text: &str, apart: Vec<(usize, Vec<u8>)>, expected: &expect_test::Expect| {
            let raw = RawResponse { text: text.as_bytes().to_vec(), literals: apart };
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
        fn arbitrary_bytes_are_accepted(text in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..220) {
            RawResponse { text, literals: vec![(at, b"x".to_vec())] }.tokens();
        }
    }
}
