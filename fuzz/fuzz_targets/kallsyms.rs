//! Fuzzes the reader of the kernel's list of symbols; see `abx_ledger::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| abx_ledger::fuzz::kallsyms(data));
