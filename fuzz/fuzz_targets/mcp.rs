//! The libFuzzer target `mcp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("mcp", bytes));
