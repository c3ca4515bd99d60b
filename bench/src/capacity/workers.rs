//! Schedules requests on workers in virtual time: a late service does not delay later requests, so
//! the capacity is exact on any machine.

use std::collections::VecDeque;

/// The order in which requests are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// The last one first.
    Lifo,
    /// All at once, each with a share of the workers' speed.
    Sharing,
    /// This number together, which end together.
    Batches(usize),
    /// Up to this number of one connection in a row, then those of the next connection.
    Turns(usize),
}

/// Workers, with the requests that they serve and those that wait.
pub struct Workers<J> {
    order: Order,
    workers: usize,
    waiting: VecDeque<Waiting<J>>,
    serving: Vec<Serving<J>>,
    /// Virtual time, in ns.
    clock: f64,
    /// The connection served last, and how many of its requests in a row.
    turn: (u64, usize),
}

struct Waiting<J> {
    connection: u64,
    work: f64,
    job: J,
}

struct Serving<J> {
    /// Work that is left, in ns of one worker.
    left: f64,
    jobs: Vec<J>,
}

impl<J> Workers<J> {
    /// Idle workers.
    pub fn new(order: Order, workers: usize) -> Workers<J> {
        Workers {
            order,
            workers,
            waiting: VecDeque::new(),
            serving: Vec::new(),
            clock: 0.0,
            turn: (u64::MAX, 0),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.serving.is_empty()
    }

    /// The number of requests being served, with batches counted once.
    pub fn at_work(&self) -> usize {
        self.serving.len()
    }

    /// Adds a request of a connection that needs `work` ns of one worker. First call
    /// [`Workers::advance`] with the time of its arrival.
    pub fn arrive(&mut self, connection: u64, work: f64, job: J) {
        self.waiting.push_back(Waiting {
            connection,
            work,
            job,
        });
        self.begin();
    }

    /// When the next request is complete, in ns.
    pub fn next(&self) -> Option<f64> {
        let left = self.serving.iter().map(|serving| serving.left);
        let least = left.reduce(f64::min)?;
        Some(self.clock + least / self.speed())
    }

    /// Advances to `now`, in ns, and adds the requests served until then to `served`.
    pub fn advance(&mut self, now: f64, served: &mut Vec<J>) {
        while let Some(next) = self.next().filter(|next| *next <= now) {
            let least = (next - self.clock) * self.speed();
            self.clock = next;
            // Requests that end at the same time differ by rounding only.
            let ends = |serving: &mut Serving<J>| serving.left <= least + 1e-3;
            for serving in self.serving.extract_if(.., ends) {
                served.extend(serving.jobs);
            }
            self.serving
                .iter_mut()
                .for_each(|serving| serving.left -= least);
            self.begin();
        }
        let done = (now - self.clock).max(0.0) * self.speed();
        self.serving
            .iter_mut()
            .for_each(|serving| serving.left -= done);
        self.clock = self.clock.max(now);
    }

    /// The share of a worker's speed that each request gets.
    fn speed(&self) -> f64 {
        match self.order {
            Order::Sharing => (self.workers as f64 / self.serving.len().max(1) as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// Assigns waiting requests to free workers.
    fn begin(&mut self) {
        let (places, together) = match self.order {
            Order::Sharing => (usize::MAX, 1),
            Order::Batches(most) => (self.workers, most),
            _ => (self.workers, 1),
        };
        while self.serving.len() < places && !self.waiting.is_empty() {
            let batch: Vec<Waiting<J>> = (0..together).map_while(|_| self.take()).collect();
            self.serving.push(Serving {
                left: batch.iter().map(|waiting| waiting.work).sum(),
                jobs: batch.into_iter().map(|waiting| waiting.job).collect(),
            });
        }
    }

    fn take(&mut self) -> Option<Waiting<J>> {
        match self.order {
            Order::Lifo => self.waiting.pop_back(),
            Order::Turns(most) => {
                let (last, in_a_row) = self.turn;
                let same = |waiting: &Waiting<J>| waiting.connection == last;
                let place = if in_a_row < most {
                    self.waiting.iter().position(same)
                } else {
                    self.waiting.iter().position(|waiting| !same(waiting))
                };
                let request = self.waiting.remove(place.unwrap_or(0))?;
                let row = if request.connection == last {
                    in_a_row
                } else {
                    0
                };
                self.turn = (request.connection, row + 1);
                Some(request)
            }
            _ => self.waiting.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When requests that arrive together are complete, in their order.
    fn served(order: Order, workers: usize, works: &[f64]) -> Vec<f64> {
        let mut server = Workers::new(order, workers);
        server.advance(100.0, &mut Vec::new());
        for (place, work) in works.iter().enumerate() {
            server.arrive(place as u64, *work, place);
        }
        let mut when = vec![0.0; works.len()];
        while let Some(next) = server.next() {
            let mut done = Vec::new();
            server.advance(next, &mut done);
            done.iter().for_each(|place| when[*place] = next - 100.0);
        }
        assert!(server.is_idle());
        when
    }

    #[test]
    fn each_order_serves_requests_as_defined() {
        // Method: three simultaneous requests, computed by hand.
        let works = [30.0, 10.0, 20.0];
        assert_eq!(served(Order::Fifo, 1, &works), [30.0, 40.0, 60.0]);
        assert_eq!(served(Order::Lifo, 1, &works), [30.0, 60.0, 50.0]);
        assert_eq!(served(Order::Sharing, 1, &works), [60.0, 30.0, 50.0]);
        assert_eq!(served(Order::Sharing, 3, &works), works);
        assert_eq!(served(Order::Fifo, 2, &works), [30.0, 10.0, 30.0]);
        assert_eq!(served(Order::Batches(2), 1, &works), [30.0, 60.0, 60.0]);
    }

    #[test]
    fn connections_take_turns() {
        // Method: two connections with three requests each, two of them in a row.
        let mut workers = Workers::new(Order::Turns(2), 1);
        for place in 0..6 {
            workers.arrive(place / 3, 10.0, place);
        }
        let mut done = Vec::new();
        workers.advance(1_000.0, &mut done);
        assert_eq!(done, [0, 1, 3, 4, 2, 5]);
    }

    #[test]
    fn advancing_late_does_not_delay_requests() {
        // Method: the same requests, advanced in small steps and in one step.
        for order in [Order::Fifo, Order::Lifo, Order::Sharing] {
            let mut stepwise = Vec::new();
            let mut workers = Workers::new(order, 1);
            (0..20).for_each(|number| workers.arrive(number, 7.0 + number as f64, number));
            for now in 0..500 {
                workers.advance(f64::from(now), &mut stepwise);
            }
            let mut at_the_end = Vec::new();
            let mut workers = Workers::new(order, 1);
            (0..20).for_each(|number| workers.arrive(number, 7.0 + number as f64, number));
            workers.advance(500.0, &mut at_the_end);
            assert_eq!(stepwise, at_the_end, "{order:?}");
            assert_eq!(stepwise.len(), 20);
        }
    }
}
