//! How long abx waits for a subject that leaves requests without a response. Each slice waits for
//! all requests that it sent, so such a subject costs a whole timeout again and again.

use abx_engine::LoadPlan;
use abx_evidence::record::SliceRecord;
use abx_evidence::{Outcome, Outcomes};
use abx_model::counted;

/// How much longer than planned slices may take altogether when requests time out. Less than the
/// usual timeout: a subject that leaves a request without a response for that long has failed.
const WAITS_MAX_NS: u64 = 5_000_000_000;

/// The time that each subject's requests without a response have cost.
#[derive(Debug)]
pub struct TimeoutWaits {
    waited_ns: Vec<u64>,
    /// Whether a subject left a whole slice without a response. It is not loaded again.
    mute: Vec<bool>,
}

impl TimeoutWaits {
    /// No waits so far for this many subjects.
    pub fn of(subjects: usize) -> TimeoutWaits {
        TimeoutWaits {
            waited_ns: vec![0; subjects],
            mute: vec![false; subjects],
        }
    }

    /// Begins another load. A subject that responded in part to the previous one gets a new chance.
    pub fn begin_load(&mut self) {
        for (waited_ns, mute) in self.waited_ns.iter_mut().zip(&self.mute) {
            if !mute {
                *waited_ns = 0;
            }
        }
    }

    /// Notes a slice that was planned to last `ns`.
    pub fn note(&mut self, subject: usize, ns: u64, slice: &SliceRecord) {
        if timeouts(slice) > 0 {
            self.waited_ns[subject] += slice.wall_ns.saturating_sub(ns);
            self.mute[subject] = slice.outcomes.ok() + slice.discarded.ok() == 0;
        }
    }

    /// Notes that reopening connections took `waited_ns`.
    pub fn note_opening(&mut self, subject: usize, waited_ns: u64, failures: &Outcomes) {
        if failures.count(Outcome::Timeout) > 0 {
            self.waited_ns[subject] += waited_ns;
        }
    }

    /// Whether abx waits for a subject no longer.
    pub fn is_over(&self, subject: usize) -> bool {
        self.waited_ns[subject] > WAITS_MAX_NS
    }
}

/// The behaviour of a subject that left requests of a slice without a response, in words that
/// follow its name.
pub fn without_response(plan: &LoadPlan, slice: &SliceRecord) -> String {
    let connections = u64::from(plan.senders());
    let requests = timeouts(slice);
    let silent = requests.div_ceil(plan.window().into());
    let mut outcomes = slice.outcomes.clone();
    outcomes.merge(&slice.discarded);
    // Connections that failed otherwise had no response either.
    let does_the_rest_respond = outcomes.failed() == requests;
    if slice.ok > 0 && does_the_rest_respond && (1..connections).contains(&silent) {
        let responded = connections - silent;
        let seconds = plan.timeout_ns() as f64 / 1e9;
        return format!(
            "responded on {responded} of {connections} connections ({} had no response within \
             {seconds} s)",
            counted(requests, "request")
        );
    }
    stopped_responding(&outcomes)
}

/// The behaviour of a subject that stopped responding on every connection, in words that follow its
/// name.
fn stopped_responding(outcomes: &Outcomes) -> String {
    let after = match outcomes.ok() {
        0 => "without a correct response".to_owned(),
        ok => format!("after {}", counted(ok, "correct response")),
    };
    let others = others(outcomes);
    format!("stopped responding under load {after}{others}")
}

/// The behaviour of a subject with few correct responses or none, in words that follow its name.
pub fn mostly_wrong(outcomes: &Outcomes) -> String {
    let correct = match outcomes.ok() {
        0 => "no correct responses".to_owned(),
        ok => counted(ok, "correct response"),
    };
    let total = counted(outcomes.ok() + outcomes.failed(), "request");
    let others = others(outcomes);
    format!("gave {correct} to {total} under load{others}")
}

/// The names and counts of all outcomes except correct responses; empty if there are none.
fn others(outcomes: &Outcomes) -> String {
    let others: Vec<String> = outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok)
        .map(|(outcome, count)| format!("{} {count}", outcome.name()))
        .collect();
    if others.is_empty() {
        return String::new();
    }
    format!(" (other outcomes: {})", others.join(", "))
}

/// Requests of a slice that had no response in time, including its uncounted part.
fn timeouts(slice: &SliceRecord) -> u64 {
    slice.outcomes.count(Outcome::Timeout) + slice.discarded.count(Outcome::Timeout)
}

#[cfg(test)]
mod tests {
    use abx_evidence::SliceTally;

    use super::*;

    /// A slice of one second that continued for ten more, with one timeout and, if requested, one
    /// correct response.
    fn slice(has_response: bool) -> SliceRecord {
        let mut slice = SliceRecord::of("one", &SliceTally::default());
        slice.wall_ns = 11_000_000_000;
        slice.outcomes.add(Outcome::Timeout);
        if has_response {
            slice.outcomes.add(Outcome::Ok);
        }
        slice
    }

    #[test]
    fn a_subject_that_responded_in_part_gets_the_next_load() {
        // Method: a subject that responds in part, and one that does not respond; then another
        // load.
        let mut waits = TimeoutWaits::of(2);
        waits.note(0, 1_000_000_000, &slice(true));
        waits.note(1, 1_000_000_000, &slice(false));
        assert!(waits.is_over(0) && waits.is_over(1));
        waits.begin_load();
        assert!(!waits.is_over(0) && waits.is_over(1));
    }

    #[test]
    fn few_correct_responses_are_counted_in_words() {
        // Method: no correct response, one, and two, each together with one wrong status.
        let mut outcomes = Outcomes::default();
        outcomes.add(Outcome::WrongStatus);
        for begins in [
            "gave no correct responses to 1 request under load",
            "gave 1 correct response to 2 requests under load",
            "gave 2 correct responses to 3 requests under load",
        ] {
            let text = mostly_wrong(&outcomes);
            let expected = format!("{begins} (other outcomes: wrong_status 1)");
            assert_eq!(text, expected);
            outcomes.add(Outcome::Ok);
        }
    }

    #[test]
    fn the_message_counts_the_responses_before_the_silence() {
        // Method: two requests without a response, and two correct responses before them.
        let mut outcomes = Outcomes::default();
        let list = "(other outcomes: timeout 2)";
        (0..2).for_each(|_| outcomes.add(Outcome::Timeout));
        let silent = format!("stopped responding under load without a correct response {list}");
        assert_eq!(stopped_responding(&outcomes), silent);
        (0..2).for_each(|_| outcomes.add(Outcome::Ok));
        let later = format!("stopped responding under load after 2 correct responses {list}");
        assert_eq!(stopped_responding(&outcomes), later);
    }
}
