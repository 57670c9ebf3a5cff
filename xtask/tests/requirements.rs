//! The requirement ids in tests exist.

use xtask::requirements::Coverage;

#[test]
fn tests_name_only_existing_requirements() {
    let coverage = Coverage::of_repository().unwrap();
    assert_eq!(coverage.complaints(), [""; 0]);
}
