//! The functions of the fuzz targets, on the inputs that fuzzing kept and on changes of these.

use abx_corpus::replay;

use crate::fuzz::{http1, http2, websocket};

#[test]
fn http1_handles_inputs_that_fuzzing_kept() {
    // Method: both sides, and several responses at a time.
    replay("http1_client", 2_000, http1::client);
    replay("http1_pipeline", 2_000, http1::pipeline);
    replay("http1_server", 2_000, http1::server);
}

#[test]
fn http2_handles_inputs_that_fuzzing_kept() {
    // Method: both sides.
    replay("http2_client", 2_000, http2::client);
    replay("http2_server", 2_000, http2::server);
}

#[test]
fn a_websocket_handles_inputs_that_fuzzing_kept() {
    // Method: both sides, and messages through both of them.
    replay("websocket_client", 2_000, websocket::client);
    replay("websocket_server", 2_000, websocket::server);
    replay("websocket_round_trip", 2_000, websocket::round_trip);
}
