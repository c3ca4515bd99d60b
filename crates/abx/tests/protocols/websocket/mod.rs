//! WebSocket: our server with our client, each with those of others, and the subjects
//! of a study.

mod driver;
mod foreign;
mod loads;
mod served;
mod subjects;
