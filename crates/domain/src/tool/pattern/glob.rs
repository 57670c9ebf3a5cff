//! Globs over paths, and whether one reaches the folder of the program.

/// The folder that only the program itself writes to.
const STATE: &str = "state";

/// Files such as there are in it.
const PROBES: [&str; 4] = ["x", "x.json", "x.jsonl", "sub/x"];

/// Where things are, as absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The data directory.
    pub data: String,
    /// What `~` stands for, if that is known.
    pub home: Option<String>,
}

/// Whether `glob` could match something in the folder of the program. A glob that names that folder does, whatever
/// follows; of others, probes are made.
pub(super) fn reaches_state(glob: &str, folders: &Folders) -> bool {
    let data = resolved(fixed(&folders.data));
    let parts = resolved(absolute(glob, folders));
    let names_it = parts.starts_with(&data)
        && parts
            .get(data.len())
            .is_some_and(|part| *part == Part::Glob(STATE) || *part == Part::Fixed(STATE));
    let tokens = tokens(&parts);
    let root: String = data.iter().map(|part| format!("/{}", part.text())).collect();
    names_it || PROBES.iter().any(|probe| matches(&tokens, &format!("{root}/{STATE}/{probe}")))
}

/// Whether `glob` matches `path`, which leads from the data directory on and never out of it.
pub(super) fn covers(glob: &str, path: &str) -> bool {
    if path.starts_with(['/', '~']) || path.contains('\\') || path.split('/').any(|part| part == "..") {
        return false;
    }
    let folders = Folders { data: "/data".to_owned(), home: None };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let glob = resolved(absolute(glob, &folders));
    matches(&tokens(&glob), &format!("/data/{}", parts.join("/")))
}

/// One part of a path.
#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    /// It means itself.
    Fixed(&'a str),
    /// It may have signs in it that stand for others.
    Glob(&'a str),
}

impl<'a> Part<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Fixed(text) | Self::Glob(text) => text,
        }
    }
}

/// Two parts are the same if they read the same.
impl PartialEq for Part<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

fn fixed(path: &str) -> Vec<Part<'_>> {
    path.split('/').map(Part::Fixed).collect()
}

/// The parts of a glob from the root on. A `~` that nobody knows may be anywhere.
fn absolute<'a>(glob: &'a str, folders: &'a Folders) -> Vec<Part<'a>> {
    let globs = |glob: &'a str| glob.split('/').map(Part::Glob);
    let (mut parts, rest) = match (glob.strip_prefix('~'), &folders.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => (fixed(home), rest),
        (Some(rest), _) => (vec![Part::Glob("**")], rest.split_once('/').map_or("", |(_, rest)| rest)),
        (None, _) if glob.starts_with('/') => (Vec::new(), glob),
        (None, _) => (fixed(&folders.data), glob),
    };
    parts.extend(globs(rest));
    parts
}

/// The parts without those that lead nowhere or back.
fn resolved(parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    let mut way: Vec<Part<'_>> = Vec::new();
    for part in parts {
        match part.text() {
            "" | "." => {}
            // Back from anywhere is anywhere.
            ".." if way.last().is_some_and(|last| last.text().contains("**")) => {}
            ".." => drop(way.pop()),
            _ => way.push(part),
        }
    }
    way
}

/// One step of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// `**/`: no folder, or some.
    Folders,
    /// `**`: anything.
    Anything,
    /// `*`: anything in one part.
    Stretch,
    /// `?`: one character in one part.
    One,
    /// Itself.
    Char(char),
}

fn tokens(parts: &[Part<'_>]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for part in parts {
        match tokens.last_mut() {
            Some(last) if *last == Token::Anything => *last = Token::Folders,
            _ => tokens.push(Token::Char('/')),
        }
        match part {
            Part::Fixed(text) => tokens.extend(text.chars().map(Token::Char)),
            Part::Glob(text) => read(text, &mut tokens),
        }
    }
    tokens
}

fn read(glob: &str, tokens: &mut Vec<Token>) {
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '*' if rest.next_if_eq(&'*').is_some() => Token::Anything,
            '*' => Token::Stretch,
            '?' => Token::One,
            _ => Token::Char(c),
        });
    }
}

/// Whether the whole of `path` is matched. It goes from the last step to the first and keeps from which places the
/// rest matches, so its time grows with the glob and never explodes.
fn matches(tokens: &[Token], path: &str) -> bool {
    let path: Vec<char> = path.chars().collect();
    let mut ends = vec![false; path.len()];
    ends.push(true);
    let from = tokens.iter().rev().fold(ends, |after, token| before(*token, &after, &path));
    from.first() == Some(&true)
}

/// From which places of `path` it matches with `token` in front, if it matches without from those in `after`.
fn before(token: Token, after: &[bool], path: &[char]) -> Vec<bool> {
    let mut from = vec![false; after.len()];
    let mut beyond = false;
    for (place, here) in from.iter_mut().enumerate().rev() {
        let (c, skipped) = (path.get(place).copied(), after.get(place) == Some(&true));
        let next = after.get(place + 1) == Some(&true);
        *here = match token {
            Token::Char(wanted) => c == Some(wanted) && next,
            Token::One => c.is_some_and(|c| c != '/') && next,
            Token::Anything => skipped || beyond,
            Token::Stretch => skipped || (beyond && c.is_some_and(|c| c != '/')),
            Token::Folders => {
                beyond |= c == Some('/') && next;
                skipped || beyond
            }
        };
        if matches!(token, Token::Anything | Token::Stretch) {
            beyond = *here;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str, path: &str) -> bool {
        matches(&tokens(&[Part::Glob("r"), Part::Glob(text)]), &format!("/r/{path}"))
    }

    /// TP-7: what the signs of a glob stand for, from the beginning to the end.
    #[test]
    fn a_glob_matches_a_whole_path() {
        let check = |text: &str, good: &[&str], bad: &[&str]| {
            for path in good {
                assert!(glob(text, path), "{text} does not match {path}");
            }
            for path in bad {
                assert!(!glob(text, path), "{text} matches {path}");
            }
        };
        check("*.md", &["a.md", ".md", "é.md"], &["a/b.md", "a.mdx", "a.m", "amd"]);
        check("?.md", &["a.md", "é.md"], &[".md", "ab.md", "/.md"]);
        check("a.b+c[d]", &["a.b+c[d]"], &["axb+c[d]", "a.bbc[d]", "a.b+cd"]);
        check("**", &["", "a", "a/b/c"], &[]);
        check("**.md", &["a.md", "a/b.md"], &["a.txt"]);
        check("a*b*c", &["abc", "axbxc", "abbcc"], &["ab", "abcd", "a/b/c"]);
        check("**a", &["a", "x/a", "ba"], &["ab"]);
        let folders = [Token::Char('a'), Token::Char('/'), Token::Folders, Token::Char('b')];
        for (path, expected) in
            [("a/b", true), ("a/x/b", true), ("a/x/y/b", true), ("a/xb", false), ("ab", false)]
        {
            assert_eq!(matches(&folders, path), expected, "{path}");
        }
        let joined = tokens(&[Part::Glob("a"), Part::Glob("**"), Part::Glob("b")]);
        assert_eq!(joined[1..], folders, "`**/` is one step");
    }
}
