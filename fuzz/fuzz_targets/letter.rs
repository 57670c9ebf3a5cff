//! The libFuzzer target `letter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("letter", bytes));
