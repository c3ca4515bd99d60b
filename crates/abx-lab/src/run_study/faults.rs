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
    /// How long the faults of a block take, if all subjects together restart in `restart_time`.
    pub(super) fn faults_duration(&self, restart_time: Duration) -> Duration {
        let subjects = u32::try_from(self.study.subjects.len()).unwrap_or(u32::MAX);
        let faults = self.study.faults.iter();
        faults
            .map(|fault| fault.within * subjects + restart_time)
            .sum()
    }

    /// Strikes every subject with every fault of the study, in random order. Each time the subject
    /// is started for this fault alone. After an error, the block has the results until then.
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
            let is_left_out = |left_out: &LeftOut| left_out.subject == subject.name;
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
            let command = FaultCommand {
                fault,
                subject,
                warm_up_ns: pilot.map_or(0, |pilot| pilot.warm_up_ns),
            };
            let effect = self.context.fault_slice(&command, random);
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

    /// Turns a failure of the running subject into an effect of the fault, so that the other
    /// subjects are measured further. Any other abort stays one.
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
