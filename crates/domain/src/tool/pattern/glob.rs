//! Path globs, and the check whether one reaches the program's directory.

/// The directory that only the program writes to.
const STATE_DIR: &str = "state";

/// Example files in it.
const STATE_PROBES: [&str; 4] = ["x", "x.json", "x.jsonl", "sub/x"];

/// The directories of the user, as absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The data directory.
    pub data: String,
    /// The home directory, if known.
    pub home: Option<String>,
}

/// Returns whether `glob` could match a file in the program's directory. A glob that names the
/// directory does; others are tested with example files.
pub(super) fn reaches_state(glob: &str, folders: &Folders) -> bool {
    let data = normalize(literal_parts(&folders.data));
    let parts = normalize(absolute_parts(glob, folders));
    let names_it = parts.starts_with(&data)
        && parts
            .get(data.len())
            .is_some_and(|part| *part == PathPart::Glob(STATE_DIR) || *part == PathPart::Literal(STATE_DIR));
    let tokens = tokens(&parts);
    let root: String = data.iter().map(|part| format!("/{}", part.text())).collect();
    names_it || STATE_PROBES.iter().any(|probe| matches(&tokens, &format!("{root}/{STATE_DIR}/{probe}")))
}

/// Returns whether `glob` matches `path`, a relative path inside the data directory.
pub(super) fn covers(glob: &str, path: &str) -> bool {
    if path.starts_with(['/', '~']) || path.contains('\\') || path.split('/').any(|part| part == "..") {
        return false;
    }
    let folders = Folders { data: "/data".to_owned(), home: None };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let glob = normalize(absolute_parts(glob, &folders));
    matches(&tokens(&glob), &format!("/data/{}", parts.join("/")))
}

/// Returns whether `glob` matches `path` like a line of a `.gitignore` file in the data directory:
/// a glob without a slash matches at any depth, and a glob that matches a directory matches
/// everything below it. A leading slash means the data directory. `path` is a relative path inside
/// the data directory.
pub(super) fn covers_like_gitignore(glob: &str, path: &str) -> bool {
    is_inside(path) && is_relative(glob) && is_ignored(glob, &components(path))
}

/// Returns whether `glob` forbids `path`. Unlike [`covers_like_gitignore`] this ignores case, and
/// treats an absolute path as every path that it could be inside the data directory. A glob that
/// cannot be compared forbids every path.
pub(super) fn disallows(glob: &str, path: &str) -> bool {
    let glob = glob.to_lowercase();
    let path = path.to_lowercase().replace('\\', "/");
    if !is_relative(&glob) {
        return true;
    }
    let names = components(&path);
    let starts = if path.starts_with(['/', '~']) || path.contains("..") { names.len() } else { 1 };
    (0..starts).any(|start| is_ignored(&glob, &names[start.min(names.len())..]))
}

/// Returns whether `glob` could forbid a path below `folder`; an empty folder is the data
/// directory.
pub(super) fn disallows_beneath(glob: &str, folder: &str) -> bool {
    let folder = folder.to_lowercase().replace('\\', "/");
    if folder.starts_with(['/', '~']) || folder.contains("..") || disallows(glob, &folder) {
        return true;
    }
    let glob = glob.to_lowercase();
    let folder: String = components(&folder).iter().map(|name| format!("/{name}")).collect();
    could_match_after(&tokens(&gitignore_parts(&glob)), &format!("{folder}/"))
}

/// Returns whether a glob is a path inside the data directory.
pub(super) fn is_relative(glob: &str) -> bool {
    !glob.starts_with("//") && !glob.starts_with('~') && !glob.split('/').any(|part| part == "..")
}

fn is_inside(path: &str) -> bool {
    !path.starts_with(['/', '~']) && !path.contains('\\') && !path.split('/').any(|part| part == "..")
}

/// Returns the components of `path`, with `.` and `..` resolved.
fn components(path: &str) -> Vec<&str> {
    normalize(literal_parts(path)).into_iter().map(PathPart::text).collect()
}

fn is_ignored(glob: &str, names: &[&str]) -> bool {
    let tokens = tokens(&gitignore_parts(glob));
    (1..=names.len()).any(|depth| matches(&tokens, &format!("/{}", names[..depth].join("/"))))
}

fn gitignore_parts(glob: &str) -> Vec<PathPart<'_>> {
    let is_anchored = glob.trim_end_matches('/').contains('/');
    let anywhere = (!is_anchored).then_some(PathPart::Glob("**"));
    anywhere.into_iter().chain(normalize(glob.split('/').map(PathPart::Glob).collect())).collect()
}

/// Returns whether some path that begins with `start` could match.
fn could_match_after(tokens: &[Token], start: &str) -> bool {
    // The positions before tokens at which the rest of the path may continue. A token that can
    // match nothing may be skipped.
    let skipped = |mut at: Vec<bool>| {
        for (index, token) in tokens.iter().enumerate() {
            let may_be_empty = matches!(token, Token::Folders | Token::Anything | Token::Star);
            at[index + 1] |= at[index] && may_be_empty;
        }
        at
    };
    let mut at = vec![false; tokens.len() + 1];
    at[0] = true;
    let mut at = skipped(at);
    for c in start.chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (index, token) in tokens.iter().enumerate().filter(|(index, _)| at[*index]) {
            match token {
                Token::Char(wanted) => next[index + 1] |= *wanted == c,
                Token::Question => next[index + 1] |= c != '/',
                Token::Star => next[index] |= c != '/',
                Token::Anything => next[index] = true,
                // It can end after a slash, or continue.
                Token::Folders => {
                    next[index] = true;
                    next[index + 1] |= c == '/';
                }
            }
        }
        at = skipped(next);
        // An unfinished `**/` must end with a slash, which a longer path may still contain.
    }
    // Every token matches some text, so any remaining token can lead to a match; at the end nothing
    // may follow.
    at[..tokens.len()].contains(&true)
}

/// A component of a path.
#[derive(Clone, Copy, Debug)]
enum PathPart<'a> {
    /// Literal text.
    Literal(&'a str),
    /// Text that may contain wildcards.
    Glob(&'a str),
}

impl<'a> PathPart<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Literal(text) | Self::Glob(text) => text,
        }
    }
}

/// Components are equal if their texts are.
impl PartialEq for PathPart<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

fn literal_parts(path: &str) -> Vec<PathPart<'_>> {
    path.split('/').map(PathPart::Literal).collect()
}

/// Returns the absolute components of a glob. An unknown `~` may be any directory.
fn absolute_parts<'a>(glob: &'a str, folders: &'a Folders) -> Vec<PathPart<'a>> {
    let globs = |glob: &'a str| glob.split('/').map(PathPart::Glob);
    let (mut parts, rest) = match (glob.strip_prefix('~'), &folders.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => (literal_parts(home), rest),
        (Some(rest), _) => (vec![PathPart::Glob("**")], rest.split_once('/').map_or("", |(_, rest)| rest)),
        (None, _) if glob.starts_with('/') => (Vec::new(), glob),
        (None, _) => (literal_parts(&folders.data), glob),
    };
    parts.extend(globs(rest));
    parts
}

/// Resolves `.` and `..`.
fn normalize(parts: Vec<PathPart<'_>>) -> Vec<PathPart<'_>> {
    let mut components: Vec<PathPart<'_>> = Vec::new();
    for part in parts {
        match part.text() {
            "" | "." => {}
            // The parent of any directory may be any directory.
            ".." if components.last().is_some_and(|last| last.text().contains("**")) => {}
            ".." => drop(components.pop()),
            _ => components.push(part),
        }
    }
    components
}

/// A token of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// `**/`: any number of directories.
    Folders,
    /// `**`: anything.
    Anything,
    /// `*`: any text in one component.
    Star,
    /// `?`: one character in one component.
    Question,
    /// A literal character.
    Char(char),
}

fn tokens(parts: &[PathPart<'_>]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for part in parts {
        match tokens.last_mut() {
            Some(last) if *last == Token::Anything => *last = Token::Folders,
            _ => tokens.push(Token::Char('/')),
        }
        match part {
            PathPart::Literal(text) => tokens.extend(text.chars().map(Token::Char)),
            PathPart::Glob(text) => push_tokens(text, &mut tokens),
        }
    }
    tokens
}

fn push_tokens(glob: &str, tokens: &mut Vec<Token>) {
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '*' if rest.next_if_eq(&'*').is_some() => Token::Anything,
            '*' => Token::Star,
            '?' => Token::Question,
            _ => Token::Char(c),
        });
    }
}

/// Returns whether the whole of `path` matches. It goes from the last token to the first and keeps
/// the matching positions, so its time is linear in the glob.
fn matches(tokens: &[Token], path: &str) -> bool {
    let path: Vec<char> = path.chars().collect();
    let mut ends = vec![false; path.len()];
    ends.push(true);
    let from = tokens.iter().rev().fold(ends, |after, token| match_before(*token, &after, &path));
    from.first() == Some(&true)
}

/// Returns the positions of `path` that match with `token` in front, given the positions `after`
/// that match without it.
fn match_before(token: Token, after: &[bool], path: &[char]) -> Vec<bool> {
    let mut from = vec![false; after.len()];
    let mut beyond = false;
    for (place, here) in from.iter_mut().enumerate().rev() {
        let c = path.get(place).copied();
        let skipped = after.get(place) == Some(&true);
        let next = after.get(place + 1) == Some(&true);
        *here = match token {
            Token::Char(wanted) => c == Some(wanted) && next,
            Token::Question => c.is_some_and(|c| c != '/') && next,
            Token::Anything => skipped || beyond,
            Token::Star => skipped || (beyond && c.is_some_and(|c| c != '/')),
            Token::Folders => {
                beyond |= c == Some('/') && next;
                skipped || beyond
            }
        };
        if matches!(token, Token::Anything | Token::Star) {
            beyond = *here;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str, path: &str) -> bool {
        matches(&tokens(&[PathPart::Glob("r"), PathPart::Glob(text)]), &format!("/r/{path}"))
    }

    /// TP-7: The wildcards of a glob match from the beginning to the end.
    #[test]
    fn glob_matches_the_whole_path() {
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
        let joined = tokens(&[PathPart::Glob("a"), PathPart::Glob("**"), PathPart::Glob("b")]);
        assert_eq!(joined[1..], folders, "`**/` is one step");
    }

    #[test]
    fn glob_matches_like_gitignore() {
        let check = |glob: &str, good: &[&str], bad: &[&str]| {
            for path in good {
                assert!(covers_like_gitignore(glob, path), "{glob} does not match {path}");
                assert!(disallows(glob, path), "{glob} does not disallow {path}");
            }
            for path in bad {
                assert!(!covers_like_gitignore(glob, path), "{glob} matches {path}");
            }
        };
        check(
            "**.md",
            &["a.md", "a/b.md", "./a.md"],
            &["a.txt", "/data/a.md", "~/a.md", "../a.md", "a/../b.md"],
        );
        check("*.md", &["a.md", "a/b.md"], &["a.mdx"]);
        check("notes", &["notes", "notes/a", "x/notes/a"], &["notes.md", "mynotes/a"]);
        check("notes/", &["notes/a", "x/notes/a"], &["notebook/a"]);
        check("/notes/", &["notes/a/b"], &["x/notes/a"]);
        check("/notes/**", &["notes/a", "notes/a/b"], &["x/notes/a"]);
        check("notes/*.md", &["notes/a.md"], &["notes/x/a.md", "x/notes/a.md"]);
        check("./notes/*.md", &["notes/a.md"], &["x/notes/a.md"]);
        check("//notes/**", &[], &["notes/a"]);
        check("~/notes/**", &[], &["notes/a"]);
    }

    #[test]
    fn disallowed_path_is_found_in_every_spelling() {
        for path in [
            "notes/a.md",
            "./notes/a.md",
            "x/../notes/a.md",
            "/srv/me/data/notes/a.md",
            "~/data/notes/a.md",
            "NOTES/A.MD",
        ] {
            assert!(disallows("notes/**", path), "{path}");
        }
        for path in ["notebook/a.md", "a.md", "notes.md", "/srv/me/data/a.md"] {
            assert!(!disallows("notes/**", path), "{path}");
        }
        for unclear in ["//srv/x", "~/x", "../x"] {
            assert!(disallows(unclear, "a.md"), "{unclear} cannot be compared");
        }
    }

    #[test]
    fn folder_with_possible_disallowed_paths_is_refused() {
        let check = |glob: &str, good: &[&str], bad: &[&str]| {
            for folder in good {
                assert!(disallows_beneath(glob, folder), "{glob} could not match beneath {folder:?}");
            }
            for folder in bad {
                assert!(!disallows_beneath(glob, folder), "{glob} could match beneath {folder:?}");
            }
        };
        check("**.md", &["", "notes", "a/b", "/data", ".."], &[]);
        check("notes/**", &["", "notes", "notes/x", "."], &["other", "notebook"]);
        check("notes/*.md", &["", "notes"], &["notes/x", "other"]);
        check("/a/b/c.txt", &["", "a", "a/b"], &["a/c", "b"]);
        check("a/**/c", &["", "a", "a/x"], &["b"]);
    }
}
