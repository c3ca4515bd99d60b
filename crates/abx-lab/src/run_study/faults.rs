//! The faults of a block: each is done once to each subject, after the block's loads.

use std::time::Duration;

use abx_evidence::record::{BlockRecord, LeftOut};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::running_subjects::Abort;
use crate::run_study::block::fault_slice::{FaultCommand, FaultEffect};
use crate::run_study::progress::StudyProgress;
use crate::run_study::study_runner::StudyRunner;

impl StudyRunner<'_> {
    /// How long the faults of a block take, when all subjects together start in `starting`.
    pub(super) fn faults_take(&self, starting: Duration) -> Duration {
        let subjects = u32::try_from(self.study.subjects.len()).unwrap_or(u32::MAX);
        let each = self
            .study
            .faults
            .iter()
            .map(|fault| fault.within * subjects + starting);
        each.sum()
    }

    /// Does every fault of the study to every subject, in random order, each to a subject that was
    /// started for it alone. The block has the results so far even if one cannot be done.
    pub(super) fn add_faults(
        &mut self,
        block: &mut BlockRecord,
        random: &mut ChaCha8Rng,
    ) -> Result<(), Abort> {
        let study = self.study;
        let mut order: Vec<(usize, usize)> = (0..study.faults.len())
            .flat_map(|fault| (0..study.subjects.len()).map(move |subject| (fault, subject)))
            .collect();
        order.shuffle(random);
        for (place, subject) in order {
            let (fault, subject) = (&study.faults[place], &study.subjects[subject]);
            let measured = &mut self.record.measured;
            let is_left_out = |this_left_out: &LeftOut| this_left_out.subject == subject.name;
            if measured.faults[place].left_out.iter().any(is_left_out) {
                continue;
            }
            (self.watch)(StudyProgress::Fault {
                block: block.index,
                fault: &fault.name,
                subject: &subject.name,
            });
            let load = measured.load(&fault.load);
            let pilot = load.and_then(|load| load.pilot.as_ref());
            let order = FaultCommand {
                fault,
                subject,
                warm_up_ns: pilot.map_or(0, |pilot| pilot.warm_up_ns),
            };
            let effect = self.context.fault_slice(&order, random);
            self.context.services.check()?;
            let (why, failed) = match effect.or_else(|abort| self.failure(abort, block.index))? {
                FaultEffect::Struck(slice) => {
                    block.faults.push(*slice);
                    continue;
                }
                FaultEffect::Impossible(why) => (why, false),
                FaultEffect::Failed(why) => (why, true),
            };
            let subject = subject.name.clone();
            let left_out = &mut self.record.measured.faults[place].left_out;
            left_out.push(LeftOut {
                subject,
                why,
                failed,
            });
        }
        Ok(())
    }

    /// A failure of the one subject that runs is about that subject alone: the others are measured
    /// further.
    fn failure(&self, abort: Abort, block: u32) -> Result<FaultEffect, Abort> {
        let is_of_subject = matches!(abort, Abort::Subject { .. } | Abort::Responses(_));
        if !is_of_subject || self.context.is_over() {
            return Err(abort);
        }
        let number = block + 1;
        Ok(FaultEffect::Failed(format!(
            "failed in block {number}: {abort}"
        )))
    }
}
