//! Names of files inside a data directory, as an archive tells them.

use std::path::Path;

/// The most letters of a name, and of one part of it, and the most parts.
const LONGEST: usize = 1_024;
const LONGEST_PART: usize = 255;
const DEEPEST: usize = 32;

/// The name of `path` inside `root`; nothing, if it cannot be written down.
pub fn named(root: &Path, path: &Path) -> Option<String> {
    let name = path.strip_prefix(root).ok()?.to_str()?;
    is_plain(name).then(|| name.to_owned())
}

/// Whether `name` stays inside whatever directory it is laid in.
pub fn is_plain(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part != "." && part != ".." && part.len() <= LONGEST_PART;
    name.len() <= LONGEST
        && !name.contains('\0')
        && name.split('/').all(part)
        && name.split('/').count() <= DEEPEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_where_it_is_laid() {
        for fine in ["a", "state/journal.db", "skills/my skill/ü.md", ".git/HEAD", "a..b", "..."] {
            assert!(is_plain(fine), "{fine}");
        }
        let deep = vec!["a"; DEEPEST + 1].join("/");
        let long = "a".repeat(LONGEST_PART + 1);
        for wrong in ["", "/", "/etc/passwd", "..", "a/../b", "./a", "a//b", "a/", "a\0b", &deep, &long] {
            assert!(!is_plain(wrong), "{wrong}");
        }
    }
}
