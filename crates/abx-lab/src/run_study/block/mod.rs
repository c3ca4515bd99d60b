//! One block: its subjects are started, loaded in rounds, and struck by faults.

pub mod block_loading;
pub mod ceiling;
pub mod fault_slice;
pub mod load_of_block;
pub mod more_rates;
pub mod start_block;
pub mod start_services;
pub mod start_subjects;
