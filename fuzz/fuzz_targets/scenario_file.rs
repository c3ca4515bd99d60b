//! Feeds chance to the reader of scenarios; see `abx_lab::study_file::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| abx_lab::study_file::fuzz::any_scenario(text));
