//! Fuzzes the reader of curl commands; see `abx_fuzz::curl::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_fuzz::curl::fuzz::any_text(text));
