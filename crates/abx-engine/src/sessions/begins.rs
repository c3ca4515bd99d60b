//! When the next session or visit begins.

use abx_sys::Nanos;

/// A number of sessions or visits. Each begins at a given moment, or when the one before it has
/// ended.
pub(super) struct Begins {
    left: u64,
    moments: Option<Box<dyn Iterator<Item = Nanos>>>,
    /// When the next session or visit begins.
    due: Option<Nanos>,
    start: Nanos,
}

impl Begins {
    /// `moments` are in order and count from the load's beginning.
    pub(super) fn new(
        count: u64,
        mut moments: Option<Box<dyn Iterator<Item = Nanos>>>,
        start: Nanos,
    ) -> Begins {
        let first = moments.as_mut().and_then(Iterator::next);
        Begins {
            left: count,
            moments,
            due: first.map(|due| start.plus(due)),
            start,
        }
    }

    /// Whether any are left to begin.
    pub(super) fn are_left(&self) -> bool {
        self.left > 0 && (self.due.is_some() || self.moments.is_none())
    }

    /// When the next session or visit begins, if it is scheduled.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.due.filter(|_| self.are_left())
    }

    /// Takes a session or visit if one begins now. Without a schedule, one begins if `is_idle`.
    pub(super) fn take(&mut self, now: Nanos, is_idle: bool) -> bool {
        let is_due = match self.moments {
            None => is_idle,
            Some(_) => self.due.is_some_and(|due| due <= now),
        };
        if !(is_due && self.are_left()) {
            return false;
        }
        self.left -= 1;
        let next = self.moments.as_mut().and_then(Iterator::next);
        self.due = next.map(|due| self.start.plus(due));
        true
    }
}
