//! Which findings limit a comparison with an older record.

use abx_evidence::{Finding, FindingId, Limits};

/// Findings about two subjects of the old study, of which one is asked for: the
/// new comparison has its own of these.
const OF_PAIRS: [FindingId; 4] = [
    FindingId::GeneratorBound,
    FindingId::HeldByRate,
    FindingId::BothKeptUp,
    FindingId::Unpaired,
];

/// Notes about the machine that void what is measured beside nothing: what hits all
/// subjects alike in one study hits one side alone then.
const ONE_SIDED: [FindingId; 3] = [
    FindingId::Steal,
    FindingId::ForeignCpu,
    FindingId::GeneratorWait,
];

/// The findings that limit what is said of one subject under one load.
pub(crate) fn limiting(findings: &[Finding], load: &str, subject: &str) -> Vec<Finding> {
    let touching = findings.iter().filter(|finding| {
        finding.limits == Limits::All
            && finding.touches(load, [subject, subject])
            && !OF_PAIRS.contains(&finding.id)
    });
    touching.cloned().collect()
}

/// Whether it voids what is measured beside nothing.
pub(crate) fn is_one_sided(finding: &Finding) -> bool {
    ONE_SIDED.contains(&finding.id)
}
