//! Programs that use the machine although they are not part of a measurement.

use abx_evidence::record::OtherProgram;
use abx_sys::programs::ProgramTimes;
use abx_sys::tree::ProcTree;

/// The most programs in a record.
const PROGRAMS_MAX: usize = 3;

/// The CPU time of all programs at one edge of a block; `None` if /proc cannot be read.
pub struct OtherPrograms(Option<ProgramTimes>);

impl OtherPrograms {
    /// Reads all programs except abx, its children, and the processes of these trees.
    pub fn read<'a>(trees: impl Iterator<Item = &'a ProcTree>) -> OtherPrograms {
        let members = trees.flat_map(|tree| tree.roots().chain(tree.members()));
        let mut pids: Vec<u32> = members.map(|process| process.pid).collect();
        pids.push(std::process::id());
        OtherPrograms(ProgramTimes::read_without(&pids).ok())
    }

    /// The programs that used the most CPU time since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &OtherPrograms) -> Vec<OtherProgram> {
        let (Some(now), Some(then)) = (&self.0, &earlier.0) else {
            return Vec::new();
        };
        now.since(then)
            .into_iter()
            .take(PROGRAMS_MAX)
            .map(|(name, time)| OtherProgram {
                name,
                cpu_s: time.as_secs_f64(),
            })
            .collect()
    }
}
