//! abx.
fn main() {}
