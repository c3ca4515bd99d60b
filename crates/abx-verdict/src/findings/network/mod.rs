//! Lost connections and packets.

pub(super) mod listen_overflows;
pub(super) mod lost_packets;
pub(super) mod packets_dropped;
pub(super) mod ports_low;
pub(super) mod readings;
