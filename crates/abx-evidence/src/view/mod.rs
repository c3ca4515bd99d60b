//! What was measured of one subject under one load, added up and described. No
//! comparison rests on a description; findings and comparisons read the sums.

pub(crate) mod ceilings;
pub(crate) mod summary;
