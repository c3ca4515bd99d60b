//! Feeds chance to the readers of requests and of paths; see `abx_lab::request_file_fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_lab::request_file_fuzz::any_text(text));
