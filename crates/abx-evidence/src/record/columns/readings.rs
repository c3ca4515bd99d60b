//! What the lab reads of the machine and of subjects beside the slices' own
//! figures. Each part that could not be read is absent, never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::held::Held;
use crate::measure::opening::ConnectionOpening;
use crate::record::columns::cell::{Cell, ColumnError, Row, columns, is_default};
use crate::record::{HostCounters, SliceRecord};

columns! {
    /// What was read for one subject over one load of a block.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct SubjectReadings as ReadingColumns {
        /// The warm-up: recorded, not counted.
        warm_up: Option<SliceRecord>,
        /// Processor time of the subject's busiest thread over its own slices' load.
        busiest_thread_ns: Option<u64>,
        /// Connections that the kernel turned away because a listen queue was full,
        /// on the whole machine while this subject was loaded.
        listen_overflows: Option<u64>,
        /// Those that the subject's own listeners did not take, from the opening of the load's
        /// connections to its end.
        own_listen_drops: Option<u64>,
        /// Connections that could not be opened before the load.
        not_connected: u64,
        /// How the opening of the load's connections went; `None` where it was not noted.
        opening: Option<ConnectionOpening>,
        /// What else the machine counted while this subject was connected and loaded.
        strain: Option<HostCounters>,
        /// Memory of the subject's processes after the load, a page that n processes
        /// share counted as 1/n for each.
        pss_bytes: Option<u64>,
        /// The part of it that belongs to no file.
        pss_anon_bytes: Option<u64>,
        /// Descriptors of the one of its processes that was nearest to its limit, at
        /// the end of the load, when its connections were still there.
        descriptors: Option<InUse>,
        /// The same of the generator's threads.
        generator_descriptors: Option<InUse>,
        /// Connections in TIME_WAIT after a slice, the most that was seen, beside the
        /// ports that the load's own addresses have for one destination.
        time_wait: Option<InUse>,
        /// What came of holding connections that say nothing, where the load is that.
        held: Option<Held>,
        /// Pages of the subject's files that were in memory although they had been
        /// dropped before a slice, the most that was seen, beside all of their pages.
        /// `None` where they were not dropped, or could not be counted.
        resident_pages: Option<InUse>,
    }
}

columns! {
    /// How much of something that is limited was in use.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct InUse as InUseColumns {
        count: u64,
        /// What there is; `None` where nothing limits it.
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

    /// The one of two that is nearer to its limit.
    #[must_use]
    pub fn nearer(self, other: InUse) -> InUse {
        if self.share() >= other.share() {
            self
        } else {
            other
        }
    }
}

/// How fast one processor was before and after a block, by work that is always
/// the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The processor.
    pub cpu: usize,
    /// Processor time of the work before the loads; `None` when it was not done.
    pub before_ns: Option<u64>,
    /// The same after them.
    pub after_ns: Option<u64>,
    /// How often the processor was slowed down for its heat in between; `None`
    /// where that is not counted.
    pub heat_throttles: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_limit_is_never_near_it() {
        // Method: a full one beside one without a limit, both ways.
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
