//! Nothing that abx starts outlives it, however it ends.

pub mod containers;
pub mod killed;
pub mod resumed;
pub mod signals;
pub mod supervised;
pub mod torture;
