//! The libFuzzer target `gateway`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("gateway", bytes));
