//! The libFuzzer target `imap`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("imap", bytes));
