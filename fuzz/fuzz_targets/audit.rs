//! Feeds chance to the reader of other tools' reports; see `abx_audit::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_audit::fuzz::any_text(text));
