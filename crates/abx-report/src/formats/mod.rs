//! Records in the formats of other programs.

pub(crate) mod csv;
pub(crate) mod exporter;
pub(crate) mod folded;
pub(crate) mod hgrm;
pub(crate) mod junit;
pub(crate) mod otlp;
pub(crate) mod prometheus;
pub(crate) mod series;
