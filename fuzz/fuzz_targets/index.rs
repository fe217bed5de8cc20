//! See `hapax_fuzz::index`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hapax_fuzz::index::check(input));
