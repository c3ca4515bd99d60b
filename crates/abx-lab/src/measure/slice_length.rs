//! How long slices should be: short slices of two subjects in turn, and what the
//! pilot's record says of the choice that they lead to.

use std::collections::BTreeMap;

use abx_engine::{LoadPlan, PoolId};
use abx_evidence::record::{PilotRecord, PilotSubject, SliceChoiceRecord, SliceLengthRecord};
use abx_stats::StatsError;
use abx_stats::series::slice_choice::{
    Lengths, ROUNDS_MIN, ShortRound, ShortRounds, SliceChoice, SliceOrder, slice_choice,
};
use abx_sys::Nanos;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::running_subjects::{Abort, RunningSubjects, throughput};

/// A short slice, where subjects answer fast enough.
const SHORT_NS: u64 = 25_000_000;
/// Subjects that need longer slices than this are left with those: what could be
/// chosen instead is longer still.
const SHORT_MAX_NS: u64 = 250_000_000;
/// The lengths to choose from, beside the usual one.
const LENGTHS_NS: [u64; 6] = [
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
];
/// For how long each subject is loaded.
const LOADED_NS: u64 = 4_000_000_000;
/// The load before the first short slice: the subjects have warmed up before.
const WARM_UP_NS: u64 = 100_000_000;
/// Which stream of the study's randomness the order of rounds is drawn from.
const STREAM: u64 = u64::MAX - 2;

/// What a choice has to keep to.
#[derive(Debug, Clone, Copy)]
pub struct LengthBounds {
    /// No slice is shorter.
    pub least_ns: u64,
    /// The length when nothing is chosen.
    pub usual_ns: u64,
    /// For how long a block loads each subject.
    pub block_ns: u64,
}

/// What short slices led to.
pub struct ChosenLength {
    choice: Result<SliceChoice, StatsError>,
    switch_ns: u64,
    bounds: LengthBounds,
}

/// Loads the two slowest subjects in turn and chooses; `None` where there is
/// nothing to choose: one subject alone, or one that needs long slices.
///
/// # Errors
/// [`Abort`].
pub fn choose(
    running: &mut RunningSubjects,
    seed: u64,
    plans: &[LoadPlan],
    subjects: &BTreeMap<String, PilotSubject>,
    bounds: LengthBounds,
) -> Result<Option<ChosenLength>, Abort> {
    let responding = |subject: usize| {
        let pilot_subject = subjects.get(&running.names[subject])?;
        (pilot_subject.failed.is_none()).then_some((pilot_subject.throughput_per_s, subject))
    };
    let mut slowest: Vec<(f64, usize)> = (0..plans.len()).filter_map(responding).collect();
    slowest.sort_by(|pair, other| pair.0.total_cmp(&other.0));
    let [(_, number), (_, other), ..] = slowest[..] else {
        return Ok(None);
    };
    let slice_ns = SHORT_NS.max(bounds.least_ns);
    if slice_ns > SHORT_MAX_NS {
        return Ok(None);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(STREAM);
    let mut pair = SubjectPair {
        slice_ns,
        sides: [side(running, number, plans)?, side(running, other, plans)?],
    };
    let measured = pair.rounds(running, &mut random);
    for side in pair.sides {
        running.generator.close(side.pool);
    }
    let (rounds, switch_ns) = measured?;
    let allowed: Vec<u64> = LENGTHS_NS
        .into_iter()
        .filter(|ns| *ns >= bounds.least_ns)
        .chain([slice_ns])
        .collect();
    let choice = slice_choice(
        &ShortRounds {
            rounds: &rounds,
            slice_ns,
            switch_ns,
        },
        &Lengths {
            usual_ns: bounds.usual_ns,
            others_ns: &allowed,
        },
    );
    Ok(Some(ChosenLength {
        choice,
        switch_ns,
        bounds,
    }))
}

/// Two subjects that are loaded in turn.
struct SubjectPair<'a> {
    slice_ns: u64,
    sides: [PairMember<'a>; 2],
}

#[derive(Clone, Copy)]
struct PairMember<'a> {
    subject: usize,
    pool: PoolId,
    plan: &'a LoadPlan,
}

fn side<'a>(
    running: &mut RunningSubjects,
    subject: usize,
    plans: &'a [LoadPlan],
) -> Result<PairMember<'a>, Abort> {
    let plan = &plans[subject];
    let pool = running.open(plan)?.pool;
    Ok(PairMember {
        subject,
        pool,
        plan,
    })
}

impl SubjectPair<'_> {
    /// Rounds in random order, and what a slice took beyond its length.
    fn rounds(
        &mut self,
        running: &mut RunningSubjects,
        random: &mut ChaCha8Rng,
    ) -> Result<(Vec<ShortRound>, u64), Abort> {
        for side in self.sides {
            running.slice(side.subject, side.pool, WARM_UP_NS)?;
        }
        let count = ROUNDS_MIN.max(usize::try_from(LOADED_NS / self.slice_ns).unwrap_or(0));
        let mut rounds = Vec::with_capacity(count);
        let began = Nanos::now();
        for _ in 0..count {
            let (order, places) = if random.random_bool(0.5) {
                (SliceOrder::Forth, [0, 1])
            } else {
                (SliceOrder::Back, [1, 0])
            };
            let mut rates = [0.0; 2];
            for place in places {
                rates[place] = self.rate(running, self.sides[place])?;
            }
            rounds.push(ShortRound { rates, order });
        }
        let slices = 2 * count as u64;
        let each_ns = Nanos::now().since(began).0 / slices;
        Ok((rounds, each_ns.saturating_sub(self.slice_ns)))
    }

    fn rate(&self, running: &mut RunningSubjects, side: PairMember) -> Result<f64, Abort> {
        let slice = running
            .slice(side.subject, side.pool, self.slice_ns)?
            .record;
        running.check_responses(side.subject, side.plan, &slice)?;
        Ok(throughput(&[slice], side.plan.senders()))
    }
}

impl ChosenLength {
    /// Sets the length of slices and says why.
    pub fn note(&self, record: &mut PilotRecord) {
        let block_s = self.bounds.block_ns as f64 / 1e9;
        let mut lengths = Vec::new();
        record.slice_reason =
            Some(match &self.choice {
                Ok(choice) => {
                    // The usual length stays what it is, whatever short slices make of it.
                    if choice.slice_ns != choice.usual_ns {
                        record.slice_ns = choice.slice_ns;
                    }
                    lengths.extend(choice.promises.iter().map(|length_promise| {
                        SliceLengthRecord {
                            slice_ns: length_promise.slice_ns,
                            spread: (length_promise.variance / block_s).sqrt(),
                            time_share: length_promise.time_share,
                        }
                    }));
                    self.reason(choice)
                }
                Err(error) => format!("too little could be read for another length: {error}"),
            });
        record.slice_choice = Some(SliceChoiceRecord {
            usual_ns: self.bounds.usual_ns,
            switch_ns: self.switch_ns,
            lengths,
        });
    }

    fn reason(&self, choice: &SliceChoice) -> String {
        let usual_ms = self.bounds.usual_ns / 1_000_000;
        match choice.promise() {
            Some(promise) if choice.slice_ns != choice.usual_ns => format!(
                "the pilot promises the same precision in {:.0} % of the time that slices of \
                 {usual_ms} ms take",
                100.0 * promise.time_share
            ),
            _ => format!(
                "the pilot found no length that clearly gives more for its time than {usual_ms} ms"
            ),
        }
    }
}
