//! Runs the hot path over memory: `hot_path LOAD REQUESTS`, for
//! `scripts/instruction-counts`, which has the names of the loads.

use std::process::ExitCode;

use abx_engine::counts::{Responses, exchange};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [load, requests] = &words[..] else {
        return ExitCode::from(2);
    };
    let (responses, pipeline) = match load.as_str() {
        "length_87" => (Responses::Sized(87), 1),
        "chunked_87" => (Responses::Chunked(87), 1),
        "length_34569" => (Responses::Sized(34_569), 1),
        "pipelined_16" => (Responses::Sized(87), 16),
        "streamed_32" => (Responses::Streamed(87), 32),
        _ => return ExitCode::from(2),
    };
    let Ok(requests) = requests.parse() else {
        return ExitCode::from(2);
    };
    // An incorrect response takes another path, and counts nothing.
    if exchange(responses, pipeline, requests) == requests {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
