//! See `hapax_fuzz::body`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hapax_fuzz::body::check(input));
