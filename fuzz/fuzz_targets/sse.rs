//! The libFuzzer target `sse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("sse", bytes));
