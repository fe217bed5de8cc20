//! See `hapax_fuzz::document`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hapax_fuzz::document::check(input));
