//! Fuzzes the readers of requests and of paths; see `abx_study::request_file::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_study::request_file::fuzz::any_text(text));
