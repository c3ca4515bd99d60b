//! The requests that a connection carries.

use std::collections::VecDeque;

use abx_evidence::{Outcome, Sample, Tally};
use abx_sys::Nanos;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) intended: Nanos,
    /// When it could have been sent: it was due, and its connection was open and free.
    pub(crate) possible: Nanos,
    /// When it was begun, which starts its timeout.
    pub(crate) begun: Nanos,
    pub(crate) sent: Option<Nanos>,
    /// Whether it was due in the counted part of the slice.
    pub(crate) counted: bool,
    /// The index of its request in the load.
    pub(crate) request: usize,
    /// The stream that carries it, if the protocol has streams.
    pub(crate) stream: u32,
    /// Whether it is in the random sample whose phases are recorded.
    pub(crate) sampled: bool,
    /// Whether its response body is hashed.
    pub(crate) hashed: bool,
    /// Whether it is a second attempt, after its connection was lost before the response began.
    pub(crate) retried: bool,
}

impl Flight {
    pub(crate) fn sample(&self, outcome: Outcome, done: Nanos) -> Sample {
        Sample {
            intended_ns: self.intended.0,
            possible_ns: self.possible.0,
            sent_ns: self.sent.map(|sent| sent.0),
            done_ns: done.0,
            outcome,
        }
    }

    pub(crate) fn record(&self, tally: &mut Tally, outcome: Outcome, now: Nanos) {
        if self.counted {
            tally.record(&self.sample(outcome, now));
        } else {
            tally.discarded.add(outcome);
        }
    }
}

/// The most flights that memory is reserved for at first; a larger window grows once.
const RESERVED_MAX: usize = 1024;

/// The requests of one connection in the order in which they were begun. Without streams, their
/// responses come in this order.
///
/// The first flight is stored inline and not on the heap: mostly there is no
/// other, and it is read several times per response.
#[derive(Debug)]
pub(crate) struct Flights {
    first: Option<Flight>,
    /// The flights after the first; empty if there is no first.
    rest: VecDeque<Flight>,
}

impl Flights {
    /// No flights, with room for a window.
    pub(crate) fn with_room(window: usize) -> Flights {
        Flights {
            first: None,
            rest: VecDeque::with_capacity(window.saturating_sub(1).min(RESERVED_MAX)),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&Flight> {
        self.first.as_ref()
    }

    pub(crate) fn first_mut(&mut self) -> Option<&mut Flight> {
        self.first.as_mut()
    }

    /// The flight at this place, counted from 0.
    #[inline]
    pub(crate) fn at_mut(&mut self, place: usize) -> Option<&mut Flight> {
        match place.checked_sub(1) {
            None => self.first.as_mut(),
            Some(place) => self.rest.get_mut(place),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.first.iter().chain(&self.rest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flight> {
        self.first.iter_mut().chain(&mut self.rest)
    }

    #[inline]
    pub(crate) fn push(&mut self, flight: Flight) {
        match self.first {
            None => self.first = Some(flight),
            Some(_) => self.rest.push_back(flight),
        }
    }

    /// Makes the flight at this place the first; the others keep their order.
    #[inline]
    pub(crate) fn advance(&mut self, place: usize) {
        if let Some(place) = place.checked_sub(1)
            && let Some(flight) = self.rest.remove(place)
            && let Some(first) = self.first.replace(flight)
        {
            self.rest.push_front(first);
        }
    }

    #[inline]
    pub(crate) fn place_of(&self, stream: u32) -> Option<usize> {
        self.iter().position(|flight| flight.stream == stream)
    }

    #[inline]
    pub(crate) fn complete(&mut self) -> Option<Flight> {
        std::mem::replace(&mut self.first, self.rest.pop_front())
    }

    pub(crate) fn room(&self) -> usize {
        1 + self.rest.capacity()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn flight(request: usize) -> Flight {
        Flight {
            intended: Nanos(0),
            possible: Nanos(0),
            begun: Nanos(0),
            sent: None,
            counted: true,
            request,
            stream: 0,
            sampled: false,
            hashed: false,
            retried: false,
        }
    }

    #[test]
    fn a_flight_that_completes_early_leaves_the_others_in_order() {
        // Method: each place of five is advanced and completed.
        for place in 0..5 {
            let mut flights = Flights::with_room(5);
            (0..5).for_each(|request| flights.push(flight(request)));
            flights.advance(place);
            let mut expected: Vec<usize> = (0..5).collect();
            let advanced = expected.remove(place);
            assert_eq!(
                flights.complete().map(|flight| flight.request),
                Some(advanced)
            );
            let left: Vec<usize> = flights.iter().map(|flight| flight.request).collect();
            assert_eq!(left, expected);
        }
    }

    proptest! {
        #[test]
        fn flights_complete_in_the_order_in_which_they_began(pushes in prop::collection::vec(any::<bool>(), 0..60)) {
            // Method: random begins and completions, compared with a queue of request numbers.
            let mut flights = Flights::with_room(4);
            let mut expected = VecDeque::new();
            for (number, is_push) in pushes.into_iter().enumerate() {
                if is_push {
                    flights.push(flight(number));
                    expected.push_back(number);
                } else {
                    let completed = flights.complete().map(|flight| flight.request);
                    prop_assert_eq!(completed, expected.pop_front());
                }
                prop_assert_eq!(flights.len(), expected.len());
                prop_assert_eq!(flights.is_empty(), expected.is_empty());
                prop_assert_eq!(flights.first().map(|flight| flight.request), expected.front().copied());
                for place in 0..=expected.len() {
                    let at = flights.at_mut(place).map(|flight| flight.request);
                    prop_assert_eq!(at, expected.get(place).copied());
                }
                let numbers: Vec<usize> = flights.iter().map(|flight| flight.request).collect();
                prop_assert!(expected.iter().eq(&numbers));
                let numbers: Vec<usize> = flights.iter_mut().map(|flight| flight.request).collect();
                prop_assert!(expected.iter().eq(&numbers));
            }
        }
    }
}
