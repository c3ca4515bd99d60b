//! abx-report.
