//! Fits the slices of a load into its time: `-d` of `abx run` with several loads.

use std::time::Duration;

use abx_evidence::record::{Interleave, LoadRecord};
use abx_sys::Nanos;

use crate::measure::running_subjects::LeadIn;
use crate::run_study::time::shorten_blocks::{TURNS_LEAST, turns_ns};

/// The most rounds of a block. Each slice ends a moment late, and with more rounds these moments
/// would add up to more than a slice.
const ROUNDS_MAX: u64 = 10;

/// Makes a load take the time `span` in each block. A slice still lasts [`TURNS_LEAST`] response
/// times of the slowest subject, so a very short span may be exceeded.
pub(in crate::run_study) fn fill(load: &mut LoadRecord, span: Duration) {
    let Some(mut pilot) = load.pilot.take() else {
        return;
    };
    if load.settings.exchange.hold_ns.is_none() {
        let span_ns = Nanos::from(span).0;
        let rounds = match pilot.interleave {
            Interleave::Slices => (span_ns / pilot.slice_ns.max(1)).clamp(1, ROUNDS_MAX),
            Interleave::Trials => 1,
        };
        let before_ns = pilot.slice_ns * u64::from(pilot.rounds);
        let least_ns = turns_ns(load, &pilot, TURNS_LEAST);
        pilot.slice_ns = (span_ns / rounds).max(least_ns).max(1);
        pilot.rounds = u32::try_from(rounds).expect("at most ROUNDS_MAX");
        pilot.shortened = pilot.slice_ns * rounds < before_ns;
        // Cold slices discard nothing.
        if pilot.discard_ns > 0 {
            let response_ns = pilot.discard_ns as f64 / 2.0;
            let lead_in = LeadIn::for_responses(response_ns, pilot.slice_ns);
            pilot.discard_ns = lead_in.ns(pilot.slice_ns);
        }
    }
    load.pilot = Some(pilot);
}

#[cfg(test)]
mod tests {
    use abx_evidence::record::{LoadSettings, PilotRecord, PilotSubject};
    use abx_model::LoadOptions;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::simulation::blocks::pilot;

    const MS: u64 = 1_000_000;

    fn load(pilot: PilotRecord) -> LoadRecord {
        LoadRecord {
            name: "one".to_owned(),
            settings: LoadSettings {
                options: LoadOptions {
                    connections: 50,
                    ..LoadOptions::default()
                },
                ..LoadSettings::default()
            },
            responses: std::collections::BTreeMap::new(),
            pilot: Some(pilot),
            settled: Vec::new(),
        }
    }

    /// The settings of the pilot after the load was fitted into this span.
    fn filled(pilot: PilotRecord, span: Duration) -> PilotRecord {
        let mut load = load(pilot);
        fill(&mut load, span);
        load.pilot.unwrap()
    }

    /// Slices of 100 ms in 15 rounds, with this response time of the slowest subject.
    fn usual(response_ms: u64) -> PilotRecord {
        let slowest = PilotSubject {
            throughput_per_s: 50.0 * 1e3 / response_ms as f64,
            ..PilotSubject::default()
        };
        PilotRecord {
            slice_ns: 100 * MS,
            discard_ns: 10 * MS,
            rounds: 15,
            subjects: [("only".to_owned(), slowest)].into(),
            ..pilot(Interleave::Slices)
        }
    }

    proptest! {
        #[test]
        fn the_slices_of_a_block_add_up_to_its_span(span_ms in 50_u64..100_000) {
            // Method: any span, with slices of 100 ms and a quick server.
            let after = filled(usual(1), Duration::from_millis(span_ms));
            let measured_ns = after.slice_ns * u64::from(after.rounds);
            prop_assert!(measured_ns.abs_diff(span_ms * MS) < u64::from(after.rounds));
            prop_assert!(after.rounds <= 10);
            prop_assert!(after.discard_ns >= after.slice_ns / 10);
            prop_assert!(after.discard_ns <= after.slice_ns * 2 / 5);
        }
    }

    #[test]
    fn a_span_too_short_for_a_slow_server_keeps_two_of_its_responses() {
        // Method: 100 ms for a server that takes 200 ms for a response.
        let after = filled(usual(200), Duration::from_millis(100));
        assert_eq!((after.slice_ns, after.rounds), (400 * MS, 1));
        assert!(after.shortened);
    }

    #[test]
    fn trials_stay_single_and_cold_slices_discard_nothing() {
        // Method: a trial of four seconds in a span of ten, and slices without a discarded part.
        let trial = PilotRecord {
            slice_ns: 4_000 * MS,
            rounds: 1,
            ..pilot(Interleave::Trials)
        };
        let after = filled(trial, Duration::from_secs(10));
        assert_eq!((after.slice_ns, after.rounds), (10_000 * MS, 1));
        let cold = PilotRecord {
            discard_ns: 0,
            ..usual(1)
        };
        assert_eq!(filled(cold, Duration::from_secs(10)).discard_ns, 0);
    }
}
