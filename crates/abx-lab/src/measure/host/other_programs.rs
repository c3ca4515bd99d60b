//! Programs that are no part of a measurement and use the machine all the same.

use abx_evidence::record::OtherProgram;
use abx_sys::programs::ProgramTimes;
use abx_sys::tree::ProcTree;

/// So many programs are kept in a record.
const KEPT: usize = 3;

/// The CPU time of all programs at one edge of a block; `None` if /proc cannot be read.
pub struct OtherPrograms(Option<ProgramTimes>);

impl OtherPrograms {
    /// Reads all of them except abx, its children, and the processes of these trees.
    pub fn read<'a>(trees: impl Iterator<Item = &'a ProcTree>) -> OtherPrograms {
        let members = trees.flat_map(|tree| tree.roots().chain(tree.members()));
        let mut numbers: Vec<u32> = members.map(|process| process.pid).collect();
        numbers.push(std::process::id());
        OtherPrograms(ProgramTimes::read_without(&numbers).ok())
    }

    /// Those that used most processor time since an earlier look.
    #[must_use]
    pub fn since(&self, earlier: &OtherPrograms) -> Vec<OtherProgram> {
        let (Some(now), Some(then)) = (&self.0, &earlier.0) else {
            return Vec::new();
        };
        let busiest = now.since(then).into_iter().take(KEPT);
        busiest
            .map(|(name, time)| OtherProgram {
                name,
                cpu_s: time.as_secs_f64(),
            })
            .collect()
    }
}
