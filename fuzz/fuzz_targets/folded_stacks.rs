//! Fuzzes the reader of folded stacks of a record; see `abx_ledger::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_ledger::fuzz::folded(data));
