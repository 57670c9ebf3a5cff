//! The libFuzzer target `calendar`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("calendar", bytes));
