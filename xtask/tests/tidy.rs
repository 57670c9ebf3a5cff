//! The style rules, applied to this repository.

use xtask::source_files;
use xtask::tidy::{self, RULES};

#[test]
fn repository_follows_all_style_rules() {
    let files = source_files::read_all().unwrap();
    let mut broken = String::new();
    for (sentence, rule) in RULES {
        for complaint in rule(&files) {
            broken.push_str(&format!("\n  {complaint}\n    (rule: {sentence})"));
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

#[test]
fn rules_read_the_files_of_the_repository() {
    let files = source_files::read_all().unwrap();
    for path in ["Cargo.toml", "crates/domain/src/lib.rs", "xtask/tests/tidy.rs"] {
        assert!(files.iter().any(|file| file.path == path), "{path} was not looked at");
    }
}

#[test]
fn all_violations_are_reported() {
    let bad = source_files::SourceFile::new("crates/x/src/utils.rs", "#![allow(unused)]\nfn f() {}\n");
    assert_eq!(tidy::violations(&[bad]).len(), 3);
}
