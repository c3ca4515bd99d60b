//! Fuzzes the reader of lists of compiled functions and of memory; see `abx_ledger::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_ledger::fuzz::perf_map(data));
