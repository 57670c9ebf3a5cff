//! libFuzzer at the door `gateway`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::read("gateway", bytes));
