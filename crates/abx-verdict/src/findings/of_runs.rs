//! Remedies of runs: `abx run` has no slices to lengthen and starts no server.

use abx_evidence::{Finding, FindingId};

/// The remedies for runs of findings whose usual remedy suits only comparisons.
const OF_RUNS: &[(FindingId, &str)] = &[
    (FindingId::SlicesTooShort, "load it for longer (`-d`)"),
    (
        FindingId::LittleLaw,
        "load it for longer (`-d`), or use fewer connections (`-c`)",
    ),
    (FindingId::UnevenService, "load it for longer (`-d`)"),
    (
        FindingId::NeverSteady,
        "find out with `abx run URL -d 60s` when it settles, and load it for longer (`-d`)",
    ),
    (
        FindingId::AgentLate,
        "run the bus close to the agents, close other programs there, or load for longer (`-d`)",
    ),
    (
        FindingId::Interrupted,
        "measure again, or treat it as a shorter measurement",
    ),
    (FindingId::NotSampled, "run abx as root"),
];

/// Gives the findings of a run remedies that suit runs.
pub(crate) fn remedy_as_run(findings: &mut [Finding]) {
    for finding in findings {
        let remedy = OF_RUNS.iter().find(|(id, _)| *id == finding.id);
        if let Some((_, remedy)) = remedy {
            (*remedy).clone_into(&mut finding.remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::rule::Declared;

    /// Flags that `abx run` does not have.
    const OF_COMPARISONS: [&str; 7] = [
        "--slice",
        "--rounds",
        "--interleave",
        "--blocks",
        "--budget",
        "--pin",
        "--resume",
    ];

    /// Findings of comparisons, and of subjects that abx starts.
    const COMPARED: [FindingId; 7] = [
        FindingId::TooFewRequests,
        FindingId::BeyondTheGrid,
        FindingId::ShortForCapacity,
        FindingId::FewBlocks,
        FindingId::StartsDiffer,
        FindingId::SharedCpus,
        FindingId::BackgroundWork,
    ];

    #[test]
    fn no_remedy_of_a_run_names_a_flag_of_comparisons() {
        // Method: each finding that a run may have, with its remedy for runs.
        for id in FindingId::ALL.iter().filter(|id| !COMPARED.contains(id)) {
            let of_run = OF_RUNS.iter().find(|(other, _)| other == id);
            let remedy = of_run.map_or(id.remedy(), |(_, remedy)| *remedy);
            let flag = OF_COMPARISONS.iter().find(|flag| remedy.contains(**flag));
            assert_eq!(flag, None, "{id}: {remedy}");
        }
    }
}
