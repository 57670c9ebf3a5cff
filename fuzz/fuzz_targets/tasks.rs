//! The libFuzzer target `tasks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("tasks", bytes));
