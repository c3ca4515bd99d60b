//! The completion clock: which responses a throughput counts, and over which time.
//!
//! Both ends of a connection's time are "its first completion after a fixed moment",
//! so that the count between them does not depend on where a slice's edges cut a
//! request: docs/explain/statistics/blocks.md. With several requests in flight, responses come
//! in bursts, so a clock closes at the first completion that makes a whole number of windows.

use abx_evidence::Outcome;
use abx_sys::Nanos;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Each connection from its first completion after the lead-in (not counted) to its
    /// first one after the end (counted).
    Completions,
    /// All connections together, from the first completion after the lead-in to the
    /// first one after the end: for constant rates.
    Flow,
    /// The time between the lead-in and the end, the same for all connections: for
    /// loads that change over time.
    Window,
    /// All requests that count, each connection from its first send to its last
    /// outcome: for slices that end after a number of requests.
    Requests,
}

/// The counted part of a slice, and the progress of the connections with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counting {
    pub(crate) basis: Basis,
    pub(crate) from: Nanos,
    /// Requests sent from here on do not count.
    pub(crate) end: Nanos,
    pub(crate) in_flight: usize,
    /// The most requests in flight per connection.
    window: u64,
    /// Clocks that have not closed.
    unclosed: usize,
    pub(crate) has_opened: bool,
    /// The shared clock of all connections.
    flow: Flow,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    opened: Option<Nanos>,
    closed: Option<Nanos>,
}

impl Counting {
    pub(crate) const NOTHING: Counting = Counting {
        basis: Basis::Requests,
        from: Nanos::MAX,
        end: Nanos::MAX,
        in_flight: 0,
        window: 1,
        unclosed: 0,
        has_opened: false,
        flow: Flow {
            opened: None,
            closed: None,
        },
    };

    /// Counts a slice from `from` to `end`, over this many clocks of connections with up to
    /// `window` requests in flight each.
    pub(crate) fn new(
        basis: Basis,
        [from, end]: [Nanos; 2],
        clocks: usize,
        window: usize,
    ) -> Counting {
        Counting {
            basis,
            from,
            end,
            window: window.max(1) as u64,
            unclosed: match basis {
                Basis::Completions => clocks,
                Basis::Flow => clocks.min(1),
                Basis::Window | Basis::Requests => 0,
            },
            ..Counting::NOTHING
        }
    }

    /// Whether a request that is due at this moment counts.
    #[inline(always)]
    pub(crate) fn counts(&self, intended: Nanos) -> bool {
        intended >= self.from && intended < self.end
    }

    /// Whether the counted part still needs an outcome from the connection with this clock.
    /// `is_counted` refers to its first request in flight.
    pub(crate) fn awaits(&self, is_counted: bool, clock: &Clock) -> bool {
        let is_unclosed = self.basis == Basis::Completions && clock.turns_after < Nanos::MAX;
        is_counted || is_unclosed
    }

    /// Whether the counted part needs nothing more from the load.
    pub(crate) fn is_settled(&self) -> bool {
        self.unclosed == 0 && self.in_flight == 0
    }

    /// Notes a completion after the lead-in. Returns whether the shared clock counts it.
    fn completes(&mut self, now: Nanos) -> bool {
        match self.flow {
            Flow { opened: None, .. } => {
                self.flow.opened = Some(now);
                self.has_opened = true;
                false
            }
            Flow { closed: None, .. } => {
                if now > self.end {
                    self.stop_flow(now);
                }
                true
            }
            _ => false,
        }
    }

    /// The shared clock counts no outcomes from now on.
    pub(crate) fn stop_flow(&mut self, now: Nanos) {
        if self.basis == Basis::Flow && self.flow.closed.is_none() {
            self.flow.closed = Some(now);
            self.unclosed = 0;
        }
    }

    /// The time over which connections without their own time were counted, if the counted
    /// part ended at `until`.
    pub(crate) fn span(&self, until: Nanos) -> Nanos {
        let flow = || Some(self.flow.closed?.since(self.flow.opened?));
        flow()
            .filter(|span| *span > Nanos(0))
            .unwrap_or_else(|| until.since(self.from))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// A request that ends after this moment opens the clock or closes it.
    turns_after: Nanos,
    is_open: bool,
    opened: Option<Nanos>,
    closed: Nanos,
    last: Nanos,
    /// Requests that have ended.
    ended: u64,
    /// Requests that had ended when the clock was opened.
    ended_before: u64,
}

impl Clock {
    pub(crate) fn new(counting: &Counting) -> Clock {
        Clock {
            turns_after: match counting.basis {
                Basis::Completions | Basis::Flow | Basis::Window => counting.from,
                Basis::Requests => Nanos(0),
            },
            is_open: false,
            opened: None,
            closed: Nanos(0),
            last: Nanos(0),
            ended: 0,
            ended_before: 0,
        }
    }

    /// Notes the outcome of a request that was due at `intended`. Returns whether the
    /// throughput counts it.
    #[inline(always)]
    pub(crate) fn ends(
        &mut self,
        counting: &mut Counting,
        intended: Nanos,
        outcome: Outcome,
        now: Nanos,
    ) -> bool {
        self.last = now;
        self.ended += 1;
        let is_timed = if now <= self.turns_after {
            self.is_open
        } else {
            self.turns(counting, intended, outcome, now)
        };
        is_timed && outcome == Outcome::Ok
    }

    /// SUBTLE: A failure does not open the clock, so that a connection that only fails was part
    /// of the load for as long as the others. After the end, nothing more is awaited
    /// from a connection that fails.
    #[cold]
    fn turns(
        &mut self,
        counting: &mut Counting,
        intended: Nanos,
        outcome: Outcome,
        now: Nanos,
    ) -> bool {
        match (counting.basis, self.is_open) {
            (Basis::Completions, false) if !outcome.is_completed() => {
                if now > counting.end {
                    self.stops(counting, now);
                }
                false
            }
            (Basis::Completions, false) => {
                counting.has_opened = true;
                self.opens(now, counting.end.max(now));
                false
            }
            (Basis::Completions, true) => {
                let counted = self.ended - self.ended_before;
                if !outcome.is_completed() || counted.is_multiple_of(counting.window) {
                    self.stops(counting, now);
                }
                true
            }
            (Basis::Flow, _) if !outcome.is_completed() => {
                if now > counting.end {
                    counting.stop_flow(now);
                }
                false
            }
            (Basis::Flow, _) => {
                let counts = counting.completes(now);
                if now <= counting.end {
                    self.opens(counting.from, counting.end)
                } else {
                    self.is_open = false
                }
                counts
            }
            (Basis::Window, false) if now <= counting.end => {
                self.opens(counting.from, counting.end);
                true
            }
            (Basis::Window, _) => {
                self.stops(counting, now);
                false
            }
            (Basis::Requests, _) => {
                let counts = counting.counts(intended);
                if counts {
                    self.opens(intended, Nanos::MAX);
                }
                counts
            }
        }
    }

    fn opens(&mut self, at: Nanos, turns_after: Nanos) {
        self.is_open = true;
        self.opened = Some(at);
        self.turns_after = turns_after;
        self.ended_before = self.ended;
    }

    /// Outcomes from now on do not count.
    pub(crate) fn stops(&mut self, counting: &mut Counting, now: Nanos) {
        if self.turns_after == Nanos::MAX || counting.basis == Basis::Requests {
            return;
        }
        self.turns_after = Nanos::MAX;
        self.is_open = false;
        self.closed = now;
        if counting.basis == Basis::Completions {
            counting.unclosed = counting.unclosed.saturating_sub(1);
        }
    }

    pub(crate) fn has_opened(&self) -> bool {
        self.opened.is_some()
    }

    /// The time of the last outcome, or zero.
    pub(crate) fn last(&self) -> Nanos {
        self.last
    }

    /// The connection's time in the denominator of the throughput, if the counted part lasted
    /// `window`. In a slice that ends by time, a connection that completed nothing was part of
    /// the load all the time. `None` if it was not part of the load.
    pub(crate) fn time(&self, basis: Basis, window: Nanos) -> Option<Nanos> {
        match basis {
            Basis::Completions => self.span(basis).or(Some(window)),
            Basis::Flow | Basis::Window => Some(window),
            Basis::Requests => self.span(basis),
        }
    }

    /// The connection's own time; `None` when no request ended in the counted part.
    pub(crate) fn span(&self, basis: Basis) -> Option<Nanos> {
        let until = match basis {
            Basis::Requests => self.last,
            Basis::Completions | Basis::Flow | Basis::Window => self.closed,
        };
        let span = until.since(self.opened?);
        (span > Nanos(0)).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Nanos = Nanos(100);
    const END: Nanos = Nanos(200);

    /// The counted ones of the requests that end at these moments, the time over which they
    /// count, and whether the clock has closed.
    fn counted(basis: Basis, ends: &[u64]) -> (Vec<u64>, Option<u64>, bool) {
        let mut counting = Counting::new(basis, [FROM, END], 1, 1);
        let mut clock = Clock::new(&counting);
        let mut counted = Vec::new();
        for end in ends {
            let intended = Nanos(end.saturating_sub(30));
            if clock.ends(&mut counting, intended, Outcome::Ok, Nanos(*end)) {
                counted.push(*end);
            }
        }
        let is_settled = counting.is_settled();
        clock.stops(&mut counting, Nanos(300));
        (counted, clock.span(basis).map(|span| span.0), is_settled)
    }

    #[test]
    fn a_clock_runs_from_completion_to_completion() {
        // Method: completions before, within and after the counted part and on its edges; two
        // at the same moment, a late one, and none.
        let of = |ends: &[u64]| counted(Basis::Completions, ends);
        assert_eq!(
            of(&[90, 100, 110, 150, 200, 230, 260]),
            (vec![150, 200, 230], Some(120), true)
        );
        assert_eq!(of(&[110, 110, 210, 210]), (vec![110, 210], Some(100), true));
        assert_eq!(
            of(&[90, 210, 210, 250, 260]),
            (vec![210, 250], Some(40), true)
        );
        assert_eq!(of(&[110, 150]), (vec![150], Some(190), false));
        assert_eq!(of(&[90]), (vec![], None, false));
    }

    #[test]
    fn a_failure_opens_no_clock_and_closes_it_after_the_end() {
        // Method: responses and failures, within the counted part and after it.
        let of = |ends: &[(u64, Outcome)]| {
            let mut counting = Counting::new(Basis::Completions, [FROM, END], 1, 1);
            let mut clock = Clock::new(&counting);
            let counted = ends.iter().filter(|(end, outcome)| {
                clock.ends(&mut counting, Nanos(0), *outcome, Nanos(*end))
            });
            let counted = counted.count();
            let span = clock.span(Basis::Completions);
            (counted, span.map(|span| span.0), counting.is_settled())
        };
        let (ok, fails) = (Outcome::Ok, Outcome::Timeout);
        assert_eq!(
            of(&[(120, fails), (180, fails), (240, fails)]),
            (0, None, true)
        );
        assert_eq!(
            of(&[(120, ok), (180, fails), (240, ok)]),
            (1, Some(120), true)
        );
        assert_eq!(
            of(&[(120, ok), (180, ok), (240, fails)]),
            (1, Some(120), true)
        );
    }

    #[test]
    fn a_clock_with_several_in_flight_closes_after_a_whole_number_of_windows() {
        // Method: windows of four that complete in bursts, the third across the end; and a
        // failure in the third.
        let bursts = [
            110, 111, 112, 113, 160, 161, 162, 163, 199, 201, 202, 203, 240, 241,
        ];
        let of = |fails_at: u64| {
            let mut counting = Counting::new(Basis::Completions, [FROM, END], 1, 4);
            let mut clock = Clock::new(&counting);
            let counted = bursts.iter().filter(|end| {
                let outcome = if **end == fails_at {
                    Outcome::Reset
                } else {
                    Outcome::Ok
                };
                clock.ends(&mut counting, Nanos(0), outcome, Nanos(**end))
            });
            let counted = counted.count();
            let span = clock.span(Basis::Completions);
            (counted, span.map(|span| span.0), counting.is_settled())
        };
        assert_eq!(of(0), (12, Some(130), true));
        assert_eq!(of(202), (9, Some(92), true));
    }

    #[test]
    fn the_shared_clock_runs_from_completion_to_completion() {
        // Method: two connections whose requests end in step; failures that open
        // nothing and end the wait.
        let of = |ends: &[(usize, u64, Outcome)]| {
            let mut counting = Counting::new(Basis::Flow, [FROM, END], 2, 1);
            let mut clocks = [Clock::new(&counting); 2];
            let counted = ends.iter().filter(|(connection, end, outcome)| {
                clocks[*connection].ends(&mut counting, Nanos(0), *outcome, Nanos(*end))
            });
            let counted = counted.count();
            (counted, counting.span(END).0, counting.is_settled())
        };
        let (ok, fails) = (Outcome::Ok, Outcome::Timeout);
        let in_step = [90, 90, 130, 130, 180, 180, 230, 230, 280];
        let in_step: Vec<_> = (0..)
            .zip(in_step)
            .map(|(at, end)| (at % 2, end, ok))
            .collect();
        assert_eq!(of(&in_step), (4, 100, true));
        assert_eq!(of(&in_step[..6]), (3, 100, false));
        assert_eq!(of(&[(0, 120, fails), (1, 140, ok), (0, 150, ok)]).0, 1);
        assert_eq!(
            of(&[(0, 120, ok), (1, 150, ok), (0, 240, fails)]),
            (1, 120, true)
        );
        assert_eq!(of(&[]), (0, 100, false));
    }

    #[test]
    fn a_window_counts_what_ends_within_it() {
        // Method: completions before, within and after the window and on its edges.
        let of = |ends: &[u64]| counted(Basis::Window, ends).0;
        assert_eq!(of(&[90, 100, 110, 150, 200, 230, 260]), [110, 150, 200]);
        assert_eq!(of(&[90, 210, 220]), [0; 0]);
    }

    #[test]
    fn a_number_of_requests_counts_from_the_first_send_to_the_last_end() {
        // Method: each request is sent 30 ns before its end, the first two before the counted part.
        let (ends, span, _) = counted(Basis::Requests, &[90, 120, 150, 180]);
        assert_eq!((ends, span), (vec![150, 180], Some(60)));
    }
}
