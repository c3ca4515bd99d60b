//! Fuzzes the reader of scenarios; see `abx_fuzz::study_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_fuzz::study_file::any_scenario(text));
