//! See `hapax_fuzz::judge`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hapax_fuzz::judge::check(input));
