//! What every report says alike: figures with their units, names, verdicts and
//! the phrases around them. Terminal, Markdown and HTML all take them from here.

pub(crate) mod alone;
pub(crate) mod curve;
pub(crate) mod described;
pub(crate) mod expectations;
pub(crate) mod failures;
pub(crate) mod faults;
pub(crate) mod figures;
pub(crate) mod findings;
pub(crate) mod fleet;
pub(crate) mod grid;
pub(crate) mod held;
pub(crate) mod history;
pub(crate) mod how_measured;
pub(crate) mod labels;
pub(crate) mod load;
pub(crate) mod marks;
pub(crate) mod metrics;
pub(crate) mod overview;
pub(crate) mod phases;
pub(crate) mod prose;
pub(crate) mod ratio;
pub(crate) mod run;
pub(crate) mod scenario;
pub(crate) mod scope;
pub(crate) mod server_times;
pub(crate) mod services;
pub(crate) mod style;
pub(crate) mod sweeps;
pub(crate) mod table;
pub(crate) mod terms;
pub(crate) mod times;
pub(crate) mod units;
pub(crate) mod verdict;
pub(crate) mod wrap;
