//! Pilot, search for rates and blocks on a load generator that follows a script: no servers, no
//! connections, and no waits for slices. For tests only.

pub mod blocks;
mod broken;
mod pilots;
mod rates;
pub mod scripted;
