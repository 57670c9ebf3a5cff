//! The requirement ids in tests exist.

use xtask::requirements::Coverage;

#[test]
fn no_test_names_a_requirement_that_does_not_exist() {
    let coverage = Coverage::here().unwrap();
    assert_eq!(coverage.complaints(), [""; 0]);
}
