//! The libFuzzer target `cron`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("cron", bytes));
