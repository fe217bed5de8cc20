//! See `hapax_fuzz::contract`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hapax_fuzz::contract::check(input));
