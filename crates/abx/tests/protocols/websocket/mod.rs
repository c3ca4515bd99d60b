//! WebSocket: our server and client with each other and with foreign ones, and the subjects of a
//! study.

mod driver;
mod foreign;
mod loads;
mod served;
mod subjects;
