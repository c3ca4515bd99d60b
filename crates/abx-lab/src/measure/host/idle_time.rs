//! The processor time of a subject without load.

use abx_sys::Nanos;

/// The time in which one subject was left alone, and the processor time that it used
/// in it.
#[derive(Debug, Clone, Copy)]
pub struct IdleTime {
    /// When it was left alone, and the processor time that it had used by then.
    since: Option<(Nanos, Option<Nanos>)>,
    time: Nanos,
    /// `None` once it could not be read.
    cpu: Option<Nanos>,
}

impl IdleTime {
    /// None so far.
    pub const NONE: IdleTime = IdleTime {
        since: None,
        time: Nanos(0),
        cpu: Some(Nanos(0)),
    };

    /// It is left alone from now on.
    pub fn begin(&mut self, now: Nanos, cpu: Option<Nanos>) {
        self.since = Some((now, cpu));
    }

    /// It is left alone no more; `cpu` is read only if it was.
    pub fn end(&mut self, now: Nanos, cpu: impl FnOnce() -> Option<Nanos>) {
        let Some((since, before)) = self.since.take() else {
            return;
        };
        let used = before.zip(cpu()).map(|(before, after)| after.since(before));
        self.time = self.time.plus(now.since(since));
        self.cpu = self.cpu.zip(used).map(|(sum, more)| sum.plus(more));
    }

    /// The share of one processor that it used meanwhile; `None` when that could not be
    /// read.
    pub fn share(&self) -> Option<f64> {
        Some(self.cpu?.0 as f64 / self.time.0.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_in_which_nobody_loads_it_counts() {
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
    fn what_could_not_be_read_once_is_unknown() {
        // Method: the second of two times has no reading at its end.
        let mut idle = IdleTime::NONE;
        idle.begin(Nanos(0), Some(Nanos(0)));
        idle.end(Nanos(10), || Some(Nanos(5)));
        idle.begin(Nanos(20), Some(Nanos(5)));
        idle.end(Nanos(30), || None);
        assert_eq!(idle.share(), None);
    }
}
