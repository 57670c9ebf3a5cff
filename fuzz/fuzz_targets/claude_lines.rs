//! The libFuzzer target `claude_lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("claude_lines", bytes));
