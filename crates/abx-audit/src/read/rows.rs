//! The lines that each tool prints.

use super::template::{RowText, again, row, weak};
use crate::report::LoadTool;

/// The lines of all tools.
pub(super) const ALL: &[(LoadTool, &[RowText])] = &[
    (LoadTool::Ab, AB),
    (LoadTool::Httperf, HTTPERF),
    (LoadTool::Wrk, WRK),
    (LoadTool::Wrk2, WRK2),
    (LoadTool::Hey, HEY),
    (LoadTool::Oha, OHA),
    (LoadTool::H2load, H2LOAD),
    (LoadTool::Siege, SIEGE),
];

const AB: &[RowText] = &[
    row(1, "This is ApacheBench, Version"),
    again(2, "Completed {:i} requests"),
    again(2, "Finished {:i} requests"),
    row(3, "Total of {aborted_after:i} requests completed"),
    row(5, "Server Software: Server Hostname: {host:w}"),
    row(5, "Server Software: {software:w}"),
    row(6, "Server Hostname: {host:w}"),
    row(7, "Server Port: {port:i}"),
    weak(8, "SSL/TLS Protocol: {tls:w}"),
    row(9, "Document Path: {path:w}"),
    row(10, "Document Length: {body_length:i} bytes"),
    row(10, "Document Length: Variable"),
    row(11, "Concurrency Level: {connections:i}"),
    row(12, "Time taken for tests: {elapsed:f3} seconds"),
    row(13, "Complete requests: {completed:i}"),
    row(14, "Failed requests: {failed:i}"),
    weak(
        15,
        "(Connect: {failed_connect:i}, Receive: {failed_receive:i}, Length: {failed_length:i}, \
         Exceptions: {failed_exceptions:i})",
    ),
    weak(
        15,
        "(Connect: {failed_connect:i}, Length: {failed_length:i}, Exceptions: \
         {failed_exceptions:i})",
    ),
    row(16, "Write errors: {:i}"),
    weak(16, "Broken pipe errors: {:i}"),
    row(17, "Non-2xx responses: {not_2xx:i}"),
    row(18, "Keep-Alive requests: {kept_alive:i}"),
    row(19, "Total transferred: {bytes_total:i} bytes"),
    weak(20, "Total body sent: {:i}"),
    row(21, "HTML transferred: {bytes_bodies:i} bytes"),
    row(22, "Requests per second: {rate:f2} [#/sec]"),
    row(23, "Time per request: {mean_computed:ms3} [ms] (mean)"),
    row(
        24,
        "Time per request: {time_per_request:ms3} [ms] (mean, across all concurrent requests)",
    ),
    row(25, "Transfer rate: {transfer:K2} [Kbytes/sec] received"),
    row(25, "Transfer rate: {:d} kb/s received"),
    row(30, "Connection Times (ms)"),
    row(30, "Connnection Times (ms)"),
    weak(
        31,
        "Connect: {connect_min:ms} {connect_mean:ms} {:ms} {:ms} {:ms}",
    ),
    weak(
        32,
        "Processing: {:ms} {processing_mean:ms} {:ms} {:ms} {:ms}",
    ),
    weak(33, "Waiting: {:ms} {waiting_mean:ms} {:ms} {:ms} {:ms}"),
    weak(
        34,
        "Total: {min:ms} {mean:ms} {spread:ms} {median:ms} {max:ms}",
    ),
    // Without standard deviations and medians, as with -S and in older versions.
    weak(31, "Connect: {connect_min:ms0} {connect_mean:ms0} {:ms0}"),
    weak(32, "Processing: {:ms0} {processing_mean:ms0} {:ms0}"),
    weak(34, "Total: {min:ms0} {mean:ms0} {max:ms0}"),
    weak(
        40,
        "Percentage of the requests served within a certain time (ms)",
    ),
    weak(41, "50% {q50:ms}"),
    weak(42, "66% {q66:ms}"),
    weak(43, "75% {q75:ms}"),
    weak(44, "80% {q80:ms}"),
    weak(45, "90% {q90:ms}"),
    weak(46, "95% {q95:ms}"),
    weak(47, "98% {q98:ms}"),
    weak(48, "99% {q99:ms}"),
    weak(49, "100% {q100:ms} (longest request)"),
    weak(49, "100% {q100:ms} (last request)"),
];

const HTTPERF: &[RowText] = &[
    RowText {
        repeats: true,
        ..row(1, "httperf --")
    },
    again(1, "port={port:i}"),
    again(1, "server={host:w}"),
    again(1, "uri={path:w}"),
    again(1, "rate={asked_rate:d}"),
    again(1, "num-conns={asked_requests:i}"),
    again(1, "num-calls={asked_calls:i}"),
    row(2, "Maximum connect burst length: {:i}"),
    row(
        3,
        "Total: connections {connections_made:i} requests {sent:i} replies {completed:i} test-duration {elapsed:f3} s",
    ),
    row(
        4,
        "Connection rate: {connection_rate:f1} conn/s ({time_per_connection:ms1} ms/conn, \
         <={connections_most:i} concurrent connections)",
    ),
    row(
        5,
        "Connection time [ms]: min {min:ms1} avg {mean:ms1} max {max:ms1} median {median:ms1} \
         stddev {spread:ms1}",
    ),
    row(6, "Connection time [ms]: connect {connect_mean:ms1}"),
    row(
        7,
        "Connection length [replies/conn]: {calls_per_connection:f3}",
    ),
    row(
        8,
        "Request rate: {rate:f1} req/s ({time_per_request:ms1} ms/req)",
    ),
    row(9, "Request size [B]: {request_size:f1}"),
    row(
        10,
        "Reply rate [replies/s]: min {:f1} avg {:f1} max {:f1} stddev {rate_spread:f1} \
         ({rate_samples:i} samples)",
    ),
    row(
        11,
        "Reply time [ms]: response {waiting_mean:ms1} transfer {transfer_mean:ms1}",
    ),
    row(
        12,
        "Reply size [B]: header {head_size:f1} content {body_size:f1} footer {foot_size:f1} \
         (total {response_size:f1})",
    ),
    row(
        13,
        "Reply status: 1xx={status_1xx:i} 2xx={status_2xx:i} 3xx={status_3xx:i} \
         4xx={status_4xx:i} 5xx={status_5xx:i}",
    ),
    row(
        14,
        "CPU time [s]: user {cpu_user:f2} system {cpu_system:f2} (user {:f1}% system {:f1}% total \
         {cpu_share:f1}%)",
    ),
    row(15, "Net I/O: {transfer:K1} KB/s ({:f1}*10^6 bps)"),
    row(
        16,
        "Errors: total {failed:i} client-timo {timed_out:i} socket-timo {:i} connrefused {:i} \
         connreset {:i}",
    ),
    row(
        17,
        "Errors: fd-unavail {no_descriptor:i} addrunavail {no_port:i} ftab-full {table_full:i} other {:i}",
    ),
];

const WRK: &[RowText] = &[
    row(1, "Running {asked_duration:t} test @ {url:w}"),
    row(2, "{:i} threads and {connections:i} connections"),
    row(3, "Thread Stats Avg Stdev Max +/- Stdev"),
    weak(4, "Latency {mean:t} {spread:t} {max:t} {:d}%"),
    weak(6, "Latency Distribution"),
    weak(7, "50% {q50:t}"),
    weak(8, "75% {q75:t}"),
    weak(9, "90% {q90:t}"),
    weak(10, "99% {q99:t}"),
    row(20, "{completed:i} requests in {elapsed:t}, {:b} read"),
    row(
        21,
        "Socket errors: connect {failed_connect:i}, read {failed_receive:i}, write \
         {failed_exceptions:i}, timeout {timed_out:i}",
    ),
    row(22, "Non-2xx or 3xx responses: {not_2xx:i}"),
    row(23, "Requests/sec: {rate:f2}"),
    row(24, "Transfer/sec: {:b}"),
];

const WRK2: &[RowText] = &[
    row(1, "Running {asked_duration:t} test @ {url:w}"),
    row(2, "{:i} threads and {connections:i} connections"),
    RowText {
        repeats: true,
        ..row(2, "Thread calibration: mean lat.:")
    },
    row(3, "Thread Stats Avg Stdev Max +/- Stdev"),
    weak(4, "Latency {mean:t} {spread:t} {max:t} {:d}%"),
    weak(6, "Latency Distribution (HdrHistogram - Recorded Latency)"),
    weak(7, "50.000% {q50:t}"),
    weak(8, "75.000% {q75:t}"),
    weak(9, "90.000% {q90:t}"),
    weak(10, "99.000% {q99:t}"),
    weak(11, "99.900% {q99.9:t}"),
    weak(12, "99.990% {q99.99:t}"),
    weak(13, "99.999% {q99.999:t}"),
    weak(14, "100.000% {q100:t}"),
    again(15, "Detailed Percentile spectrum:"),
    weak(16, "#[Mean = {:d}, StdDeviation = {:d}]"),
    weak(17, "#[Max = {:d}, Total count = {:i}]"),
    weak(
        18,
        "Latency Distribution (HdrHistogram - Uncorrected Latency",
    ),
    row(20, "{completed:i} requests in {elapsed:t}, {:b} read"),
    row(
        21,
        "Socket errors: connect {failed_connect:i}, read {failed_receive:i}, write \
         {failed_exceptions:i}, timeout {timed_out:i}",
    ),
    row(22, "Non-2xx or 3xx responses: {not_2xx:i}"),
    row(23, "Requests/sec: {rate:f2}"),
    row(24, "Transfer/sec: {:b}"),
];

const HEY: &[RowText] = &[
    row(2, "Summary: Total: {elapsed:t}"),
    weak(2, "Total: {elapsed:t}"),
    row(3, "Slowest: {max:t}"),
    row(4, "Fastest: {min:t}"),
    row(5, "Average: {mean:t}"),
    row(6, "Requests/sec: {rate:f4}"),
    weak(7, "Total data: {bytes_bodies:i} bytes"),
    weak(8, "Size/request: {body_length:i} bytes"),
    weak(9, "Response time histogram:"),
    row(10, "Latency distribution:"),
    weak(11, "10% in {q10:t}"),
    weak(12, "25% in {q25:t}"),
    weak(13, "50% in {q50:t}"),
    weak(14, "75% in {q75:t}"),
    weak(15, "90% in {q90:t}"),
    weak(16, "95% in {q95:t}"),
    weak(17, "99% in {q99:t}"),
    weak(11, "10%% in {q10:t}"),
    weak(12, "25%% in {q25:t}"),
    weak(13, "50%% in {q50:t}"),
    weak(14, "75%% in {q75:t}"),
    weak(15, "90%% in {q90:t}"),
    weak(16, "95%% in {q95:t}"),
    weak(17, "99%% in {q99:t}"),
    weak(20, "Details (average, fastest, slowest):"),
    weak(21, "DNS+dialup: {connect_mean:t}, {:t}, {:t}"),
    weak(22, "DNS-lookup: {:t}, {:t}, {:t}"),
    weak(23, "req write: {:t}, {:t}, {:t}"),
    weak(24, "resp wait: {waiting_mean:t}, {:t}, {:t}"),
    weak(25, "resp read: {:t}, {:t}, {:t}"),
    weak(30, "Status code distribution:"),
    again(31, "[{status:i}] {responses:i} responses"),
    weak(40, "Error distribution: [{failed:i}]"),
    again(41, "[{failed:i}] Get"),
    again(41, "[{failed:i}] Post"),
    again(41, "[{failed:i}] Put"),
];

const OHA: &[RowText] = &[
    row(1, "Summary: Success rate: {:d}% Total: {elapsed:t}"),
    row(1, "Success rate: {:d}% Total: {elapsed:t}"),
    row(1, "Summary: Success rate: {:d} Total: {elapsed:t}"),
    row(1, "Success rate: {:d} Total: {elapsed:t}"),
    weak(2, "Total: {elapsed:t}"),
    row(3, "Slowest: {max:t}"),
    row(4, "Fastest: {min:t}"),
    row(5, "Average: {mean:t}"),
    row(6, "Requests/sec: {rate:f4}"),
    weak(7, "Total data: {:b}"),
    weak(8, "Size/request: {:b}"),
    weak(8, "Size/sec: {:b}"),
    weak(9, "Response time histogram:"),
    row(10, "Response time distribution:"),
    row(10, "Latency distribution:"),
    weak(11, "10.00% in {q10:t}"),
    weak(12, "25.00% in {q25:t}"),
    weak(13, "50.00% in {q50:t}"),
    weak(14, "75.00% in {q75:t}"),
    weak(15, "90.00% in {q90:t}"),
    weak(16, "95.00% in {q95:t}"),
    weak(17, "99.00% in {q99:t}"),
    weak(18, "99.90% in {q99.9:t}"),
    weak(19, "99.99% in {q99.99:t}"),
    weak(11, "10% in {q10:t}"),
    weak(12, "25% in {q25:t}"),
    weak(13, "50% in {q50:t}"),
    weak(14, "75% in {q75:t}"),
    weak(15, "90% in {q90:t}"),
    weak(16, "95% in {q95:t}"),
    weak(17, "99% in {q99:t}"),
    weak(20, "Details (average, fastest, slowest)"),
    weak(21, "DNS+dialup: {connect_mean:t}, {:t}, {:t}"),
    weak(22, "DNS-lookup: {:t}, {:t}, {:t}"),
    weak(30, "Status code distribution:"),
    again(31, "[{status:i}] {responses:i} responses"),
    weak(40, "Error distribution: [{failed:i}]"),
    again(41, "[{failed:i}] aborted due to deadline"),
    again(41, "[{failed:i}] connection error"),
    again(41, "[{failed:i}] error"),
];

const H2LOAD: &[RowText] = &[
    row(1, "starting benchmark..."),
    again(
        2,
        "spawning thread #{:i}: {connections:i} total client(s). {thread_requests:i} total requests",
    ),
    weak(3, "Application protocol: {:w}"),
    again(4, "progress: {:i}% done"),
    row(5, "finished in {elapsed:t}, {rate:f2} req/s, {:b}/s"),
    row(
        6,
        "requests: {requests_total:i} total, {sent:i} started, {completed:i} done, {succeeded:i} succeeded, \
         {failed:i} failed, {:i} errored, {timed_out:i} timeout",
    ),
    row(
        7,
        "status codes: {status_2xx:i} 2xx, {status_3xx:i} 3xx, {status_4xx:i} 4xx, {status_5xx:i} 5xx",
    ),
    row(
        8,
        "traffic: {bytes_total:i} bytes total, {:i} bytes headers (space savings {:d}%), \
         {bytes_bodies:i} bytes data",
    ),
    row(
        8,
        "traffic: {:b} ({bytes_total:i}) total, {:b} ({:i}) headers (space savings {:d}%), {:b} \
         ({bytes_bodies:i}) data",
    ),
    weak(9, "min max mean sd +/- sd"),
    weak(9, "min max median p95 p99 mean sd +/- sd"),
    weak(
        10,
        "time for request: {min:t} {max:t} {mean:t} {spread:t} {:d}%",
    ),
    weak(
        10,
        "time for request: {min:t} {max:t} {median:t} {q95:t} {q99:t} {mean:t} {spread:t} {:d}%",
    ),
    weak(
        11,
        "time for connect: {:t} {:t} {connect_mean:t} {:t} {:d}%",
    ),
    weak(
        12,
        "time to 1st byte: {:t} {:t} {waiting_mean:t} {:t} {:d}%",
    ),
    weak(13, "req/s : {:d} {:d} {:d} {:d} {:d}%"),
];

const SIEGE: &[RowText] = &[
    row(1, "** SIEGE"),
    row(
        2,
        "** Preparing {connections:i} concurrent users for battle.",
    ),
    weak(3, "The server is now under siege..."),
    weak(4, "Lifting the server siege..."),
    row(5, "Transactions: {completed:i} hits"),
    row(6, "Availability: {:f2} %"),
    row(7, "Elapsed time: {elapsed:f2} secs"),
    row(8, "Data transferred: {:f2} MB"),
    weak(9, "Response time: {mean:t}"),
    row(10, "Transaction rate: {rate:f2} trans/sec"),
    weak(11, "Throughput: {:f2} MB/sec"),
    weak(12, "Concurrency: {concurrency:f2}"),
    row(13, "Successful transactions: {succeeded:i}"),
    row(14, "Failed transactions: {failed:i}"),
    row(15, "Longest transaction: {max:f2}"),
    row(16, "Shortest transaction: {min:f2}"),
    row(5, "\"transactions\": {completed:i},"),
    row(6, "\"availability\": {:f2},"),
    row(7, "\"elapsed_time\": {elapsed:f2},"),
    row(8, "\"data_transferred\": {:f2},"),
    row(9, "\"response_time\": {mean:f2},"),
    row(10, "\"transaction_rate\": {rate:f2},"),
    weak(11, "\"throughput\": {:f2},"),
    weak(12, "\"concurrency\": {concurrency:f2},"),
    row(13, "\"successful_transactions\": {succeeded:i},"),
    row(14, "\"failed_transactions\": {failed:i},"),
    row(15, "\"longest_transaction\": {max:f2},"),
    row(16, "\"shortest_transaction\": {min:f2}"),
];
