//! The libFuzzer target `phrase`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("phrase", bytes));
