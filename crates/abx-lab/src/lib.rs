//! abx-lab.
