//! Fuzzes the reader of other tools' reports; see `abx_fuzz::audit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_fuzz::audit::any_text(text));
