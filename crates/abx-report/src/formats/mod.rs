//! Reports for other programs: each file is one format. Markdown is for people,
//! but GitHub lays it out.

mod csv;
mod hgrm;
mod json;
mod junit;
mod markdown;
mod otlp;
mod prometheus;
mod series;

pub use self::csv::{comparisons_csv, slices_csv};
pub use self::hgrm::{Percentiles, study_hgrm, study_hlog};
pub use self::json::{run_json, scenario_json, study_json};
pub use self::junit::study_junit;
pub use self::markdown::{run_markdown, study_markdown, verdict_matrix};
pub use self::otlp::{run_otlp, study_otlp};
pub use self::prometheus::{run_openmetrics, study_openmetrics};
