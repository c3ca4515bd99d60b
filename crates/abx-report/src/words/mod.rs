//! The wording that all reports share: figures with their units, names, verdicts and the phrases
//! around them, for terminal, Markdown and HTML.

pub(crate) mod fleet;
pub(crate) mod labels;
pub(crate) mod load;
pub(crate) mod metrics;
pub(crate) mod prose;
pub(crate) mod ratio;
pub(crate) mod ratio_scale;
pub(crate) mod sparkline;
pub(crate) mod style;
pub(crate) mod terms;
pub(crate) mod times;
pub(crate) mod units;
pub(crate) mod verdict;
pub(crate) mod wrap;
