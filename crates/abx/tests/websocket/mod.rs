//! WebSocket: our server with our client, and each with those of others.

mod driver;
mod foreign;
mod loads;
mod served;
