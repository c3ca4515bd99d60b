//! Readings of the machine and of subjects, in addition to the figures of slices. A part that could
//! not be read is absent, never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::held::Held;
use crate::measure::opening::ConnectionOpening;
use crate::record::columns::cell::{Cell, ColumnError, Row, columns, is_default};
use crate::record::{HostCounters, SliceRecord};

columns! {
    /// The readings of one subject over one load of a block.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct SubjectReadings as ReadingColumns {
        /// The warm-up: recorded, not counted.
        warm_up: Option<SliceRecord>,
        /// CPU time of the subject's busiest thread over its own slices.
        busiest_thread_ns: Option<u64>,
        /// Connections that the kernel rejected because a listen queue was full,
        /// on the whole machine while this subject was loaded.
        listen_overflows: Option<u64>,
        /// Connections that the subject's own listeners dropped, from the opening of the load's
        /// connections to its end.
        own_listen_drops: Option<u64>,
        /// Connections that could not be opened before the load.
        not_connected: u64,
        /// The opening of the load's connections; `None` if it was not recorded.
        opening: Option<ConnectionOpening>,
        /// The host counters while this subject was connected and loaded.
        strain: Option<HostCounters>,
        /// Memory of the subject's processes after the load. A page that n processes
        /// share counts as 1/n for each.
        pss_bytes: Option<u64>,
        /// The part of it that belongs to no file.
        pss_anon_bytes: Option<u64>,
        /// Descriptors of the process that was nearest to its limit, at
        /// the end of the load, when its connections were still open.
        descriptors: Option<InUse>,
        /// Descriptors of the generator at that time.
        generator_descriptors: Option<InUse>,
        /// The most connections in TIME_WAIT after a slice, and as their limit the
        /// ports that the load's own addresses have for one destination.
        time_wait: Option<InUse>,
        /// The results of holding idle connections, if the load does that.
        held: Option<Held>,
        /// The most pages of the subject's files that were in memory although they had been
        /// dropped before a slice, and as their limit all pages of these files.
        /// `None` if they were not dropped, or could not be counted.
        resident_pages: Option<InUse>,
    }
}

columns! {
    /// The use of something that has a limit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct InUse as InUseColumns {
        count: u64,
        /// The limit; `None` if there is none.
        limit: Option<u64>,
    }
}

impl InUse {
    /// Its share of the limit; `None` without one.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        Some(self.count as f64 / limit as f64)
    }

    /// The one of the two that is nearer to its limit.
    #[must_use]
    pub fn nearer(self, other: InUse) -> InUse {
        if self.share() >= other.share() {
            self
        } else {
            other
        }
    }
}

/// The speed of one CPU before and after a block, by a fixed piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The CPU.
    pub cpu: usize,
    /// CPU time of the work before the loads; `None` if it was not done.
    pub before_ns: Option<u64>,
    /// CPU time of the work after the loads.
    pub after_ns: Option<u64>,
    /// How often the CPU was slowed down because of its heat in between; `None`
    /// if that is not counted.
    pub heat_throttles: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_without_a_limit_is_never_near_it() {
        // Method: a full one compared with one without a limit, both ways.
        let full = InUse {
            count: 10,
            limit: Some(10),
        };
        let free = InUse {
            count: 1_000,
            limit: None,
        };
        assert_eq!((full.share(), free.share()), (Some(1.0), None));
        assert_eq!(full.nearer(free), full);
        assert_eq!(free.nearer(full), full);
    }
}
