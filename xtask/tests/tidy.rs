//! The style rules, applied to this repository.

use xtask::tidy::{self, RULES};
use xtask::tree;

#[test]
fn the_repository_keeps_every_rule_of_the_house() {
    let files = tree::read().unwrap();
    let mut broken = String::new();
    for (sentence, rule) in RULES {
        for complaint in rule(&files) {
            broken.push_str(&format!("\n  {complaint}\n    (rule: {sentence})"));
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

#[test]
fn the_rules_look_at_real_files() {
    let files = tree::read().unwrap();
    for path in ["Cargo.toml", "crates/domain/src/lib.rs", "xtask/tests/tidy.rs"] {
        assert!(files.iter().any(|file| file.path == path), "{path} was not looked at");
    }
}

#[test]
fn a_repository_that_breaks_several_rules_hears_of_each() {
    let bad = tree::SourceFile::new("crates/x/src/utils.rs", "#![allow(unused)]\nfn f() {}\n");
    assert_eq!(tidy::complaints(&[bad]).len(), 3);
}
