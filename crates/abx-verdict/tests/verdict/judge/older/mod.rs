//! Subjects compared with one of an older record.

mod against;
mod older_side;
