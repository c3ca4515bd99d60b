//! The marks of verdicts, the same in every output.

use abx_evidence::Verdict;

/// A verdict's mark, which points to good: also for costs, of which less is good.
pub(crate) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster | Verdict::Less => "▲",
        Verdict::Slower | Verdict::More => "▼",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "–",
    }
}
