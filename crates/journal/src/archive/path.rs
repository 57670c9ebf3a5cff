//! Relative file names in archives.

use std::path::Path;

/// Limits for the length of a name and of one component, and for the number of components.
const MAX_LENGTH: usize = 1_024;
const MAX_COMPONENT_LENGTH: usize = 255;
const MAX_DEPTH: usize = 32;

/// The name of `path` relative to `root`. `None` if it is not valid in an archive.
pub fn relative_name(root: &Path, path: &Path) -> Option<String> {
    let name = path.strip_prefix(root).ok()?.to_str()?;
    is_safe(name).then(|| name.to_owned())
}

/// Returns whether `name` stays inside the directory it is unpacked to.
pub fn is_safe(name: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part != "." && part != ".." && part.len() <= MAX_COMPONENT_LENGTH;
    name.len() <= MAX_LENGTH
        && !name.contains('\0')
        && name.split('/').all(part)
        && name.split('/').count() <= MAX_DEPTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_name_stays_inside_the_target_directory() {
        for fine in ["a", "state/journal.db", "skills/my skill/ü.md", ".git/HEAD", "a..b", "..."] {
            assert!(is_safe(fine), "{fine}");
        }
        let deep = vec!["a"; MAX_DEPTH + 1].join("/");
        let long = "a".repeat(MAX_COMPONENT_LENGTH + 1);
        for wrong in ["", "/", "/etc/passwd", "..", "a/../b", "./a", "a//b", "a/", "a\0b", &deep, &long] {
            assert!(!is_safe(wrong), "{wrong}");
        }
    }
}
