//! Fuzzes the reader of study files; see `abx_fuzz::study_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_fuzz::study_file::any_text(text));
