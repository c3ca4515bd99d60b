//! The CPU time of a subject without load.

use abx_sys::Nanos;

/// The time in which one subject had no load, and the CPU time that it used meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct IdleTime {
    /// When its load last ended, and the CPU time that it had used by then.
    since: Option<(Nanos, Option<Nanos>)>,
    time: Nanos,
    /// `None` after a reading failed.
    cpu: Option<Nanos>,
}

impl IdleTime {
    pub const NONE: IdleTime = IdleTime {
        since: None,
        time: Nanos(0),
        cpu: Some(Nanos(0)),
    };

    /// The subject has no load from now on.
    pub fn begin(&mut self, now: Nanos, cpu: Option<Nanos>) {
        self.since = Some((now, cpu));
    }

    /// The subject gets load again; `cpu` is read only if it had none.
    pub fn end(&mut self, now: Nanos, cpu: impl FnOnce() -> Option<Nanos>) {
        let Some((since, before)) = self.since.take() else {
            return;
        };
        let used = before.zip(cpu()).map(|(before, after)| after.since(before));
        self.time = self.time.plus(now.since(since));
        self.cpu = self.cpu.zip(used).map(|(sum, more)| sum.plus(more));
    }

    /// The share of one processor that it used without load; `None` if that could not be read.
    pub fn share(&self) -> Option<f64> {
        Some(self.cpu?.0 as f64 / self.time.0.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_without_load_counts() {
        // Method: 20 ns of work in 100 ns and none in 300; between them 1,000 ns of load.
        let mut idle = IdleTime::NONE;
        assert_eq!(idle.share(), Some(0.0));
        idle.begin(Nanos(100), Some(Nanos(7)));
        idle.end(Nanos(200), || Some(Nanos(27)));
        idle.end(Nanos(300), || panic!("it is loaded"));
        idle.begin(Nanos(1_200), Some(Nanos(900)));
        idle.end(Nanos(1_500), || Some(Nanos(900)));
        assert_eq!(idle.share(), Some(20.0 / 400.0));
    }

    #[test]
    fn one_failed_reading_makes_the_share_unknown() {
        // Method: the second of two intervals has no reading at its end.
        let mut idle = IdleTime::NONE;
        idle.begin(Nanos(0), Some(Nanos(0)));
        idle.end(Nanos(10), || Some(Nanos(5)));
        idle.begin(Nanos(20), Some(Nanos(5)));
        idle.end(Nanos(30), || None);
        assert_eq!(idle.share(), None);
    }
}
