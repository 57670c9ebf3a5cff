//! The libFuzzer target `frontmatter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("frontmatter", bytes));
