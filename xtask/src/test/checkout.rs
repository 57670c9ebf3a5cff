//! The state of the checkout before and after a run: tests must not change it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::step::{NotRun, Outcome, Program};

/// The changed files of a checkout: each with its git state and a hash of its content. None without
/// git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutState(Option<BTreeMap<String, (String, u64)>>);

impl CheckoutState {
    /// Reads the state of the checkout in `root`.
    pub fn read(root: &Path) -> Self {
        let words = ["-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=all"];
        let status = Program::new("git", &words).in_folder(root).stdout_untrimmed();
        Self(status.map(|status| status.lines().filter_map(|line| parse_entry(root, line)).collect()))
    }

    /// Fails if anything is different `after`, and lists it.
    pub fn compare(&self, after: &Self) -> Outcome {
        let (Some(before), Some(after)) = (&self.0, &after.0) else {
            return Outcome::NotRun(NotRun::Optional, "this is no git checkout".to_owned());
        };
        let files = before.keys().chain(after.keys().filter(|file| !before.contains_key(*file)));
        let changed: Vec<&String> = files.filter(|file| before.get(*file) != after.get(*file)).collect();
        if changed.is_empty() {
            return Outcome::Passed(Vec::new());
        }
        let counts = changed.iter().map(|file| format!("changed during the run: {file}")).collect();
        Outcome::Failed(
            counts,
            "files of the checkout changed during the run; the summary names them\n".into(),
        )
    }
}

/// Parses a line such as ` M docs/page.png`, and hashes the current content of the file.
fn parse_entry(root: &Path, line: &str) -> Option<(String, (String, u64))> {
    let (state, file) = line.split_at_checked(3)?;
    let mut hasher = DefaultHasher::new();
    std::fs::read(root.join(file.trim_matches('"'))).ok().hash(&mut hasher);
    Some((file.to_owned(), (state.to_owned(), hasher.finish())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(root: &Path, words: &[&str]) {
        let identity =
            ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"];
        let outcome = Program::new("git", &[&identity, words].concat()).in_folder(root).run();
        assert!(outcome.passed(), "{outcome:?}");
    }

    #[test]
    fn changed_and_new_files_are_listed() {
        let root = std::env::temp_dir().join(format!("ollim-checkout-test-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        git(&root, &["init", "--quiet"]);
        write("picture.png", "as it was");
        write("edited.rs", "fn old() {}");
        git(&root, &["add", "."]);
        git(&root, &["commit", "--quiet", "--message", "first"]);
        write("edited.rs", "fn new() {}");

        let before = CheckoutState::read(&root);
        assert!(before.compare(&CheckoutState::read(&root)).passed(), "an edit from before the run is fine");
        write("picture.png", "taken anew");
        write("left behind.txt", "by a test");
        write("edited.rs", "fn newer() {}");
        let Outcome::Failed(named, _) = before.compare(&CheckoutState::read(&root)) else {
            panic!("it passed")
        };
        let files = ["edited.rs", "\"left behind.txt\"", "picture.png"];
        let mut expected = files.map(|file| format!("changed during the run: {file}"));
        expected.sort();
        let mut named = named;
        named.sort();
        assert_eq!(named, expected);
        std::fs::remove_dir_all(&root).unwrap();

        let nowhere = CheckoutState(None);
        assert!(matches!(nowhere.compare(&nowhere), Outcome::NotRun(NotRun::Optional, _)));
    }
}
