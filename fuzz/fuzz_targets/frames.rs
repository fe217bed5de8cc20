//! See `hapax_fuzz::frames`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hapax_fuzz::frames::check(input));
