//! The libFuzzer target `webhook`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("webhook", bytes));
