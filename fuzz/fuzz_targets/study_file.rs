//! Feeds chance to the reader of study files; see `abx_lab::study_file::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_lab::study_file::fuzz::any_text(text));
