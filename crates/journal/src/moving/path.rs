//! Relative file names in archives.

use std::path::Path;

/// Limits for the length of a name and of one component, and for the number of components.
const LONGEST: usize = 1_024;
const LONGEST_PART: usize = 255;
const DEEPEST: usize = 32;

/// The name of `path` relative to `root`. `None` if it is not valid in an archive.
pub fn named(root: &Path, path: &Path) -> Option<String> {
    let name = path.strip_prefix(root).ok()?.to_str()?;
    is_plain(name).then(|| name.to_owned())
}

/// Returns whether `name` stays inside the directory it is unpacked to.
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
