//! Fuzzes the reader of files of sessions; see `abx_classic::httperf::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    abx_classic::httperf::fuzz::any_session_file(data);
});
