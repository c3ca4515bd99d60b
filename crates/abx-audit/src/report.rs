//! A report as read: the tool that printed it, and its figures with their lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::{PrintedFigure, Reach};

/// The tool that printed a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadTool {
    Ab,
    Httperf,
    Wrk,
    /// wrk2.
    Wrk2,
    Hey,
    Oha,
    /// h2load.
    H2load,
    Siege,
    /// No known tool: rows of a table under a rate.
    Table,
}

impl LoadTool {
    /// The name as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadTool::Ab => "ab",
            LoadTool::Httperf => "httperf",
            LoadTool::Wrk => "wrk",
            LoadTool::Wrk2 => "wrk2",
            LoadTool::Hey => "hey",
            LoadTool::Oha => "oha",
            LoadTool::H2load => "h2load",
            LoadTool::Siege => "siege",
            LoadTool::Table => "a table",
        }
    }
}

macro_rules! figure_keys {
    ($($(#[$doc:meta])* $key:ident $name:literal,)*) => {
        /// The kind of a figure: times are in seconds, sizes in bytes, rates in 1/s.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FigureKey {
            $($(#[$doc])* $key,)*
        }

        impl FigureKey {
            pub(crate) fn named(name: &str) -> Option<FigureKey> {
                match name {
                    $($name => Some(FigureKey::$key),)*
                    _ => None,
                }
            }
        }
    };
}

figure_keys! {
    /// Connections of a closed loop.
    Connections "connections",
    /// Requests sent.
    Sent "sent",
    /// Complete responses, correct or not.
    Completed "completed",
    /// Responses that the tool calls a success.
    Succeeded "succeeded",
    /// The duration.
    Elapsed "elapsed",
    /// Requests per second.
    Rate "rate",
    /// Requests that the tool calls failed.
    Failed "failed",
    /// Failed requests whose response differed in length from the first.
    FailedLength "failed_length",
    /// Failed requests that could not connect.
    FailedConnect "failed_connect",
    /// Failed requests whose response was cut off.
    FailedReceive "failed_receive",
    /// All other failed requests.
    FailedExceptions "failed_exceptions",
    /// Requests that got no response in time.
    TimedOut "timed_out",
    /// Responses with a status that is not 2xx.
    Not2xx "not_2xx",
    /// Responses with a status of 1xx.
    Status1xx "status_1xx",
    /// Responses with a status of 2xx.
    Status2xx "status_2xx",
    /// Responses with a status of 3xx.
    Status3xx "status_3xx",
    /// Responses with a status of 4xx.
    Status4xx "status_4xx",
    /// Responses with a status of 5xx.
    Status5xx "status_5xx",
    /// Responses over a reused connection.
    KeptAlive "kept_alive",
    /// The length of the first body.
    BodyLength "body_length",
    /// All bytes received.
    BytesTotal "bytes_total",
    /// The bytes of all bodies.
    BytesBodies "bytes_bodies",
    /// Bytes per second.
    Transfer "transfer",
    /// The mean time of a request as computed from connections, time and requests.
    MeanComputed "mean_computed",
    /// The time per request, over all connections.
    TimePerRequest "time_per_request",
    /// The shortest time of a request.
    Min "min",
    /// The mean time of a request.
    Mean "mean",
    /// The standard deviation of times.
    Spread "spread",
    /// The median time of a request.
    Median "median",
    /// The longest time of a request.
    Max "max",
    /// The shortest time until connected.
    ConnectMin "connect_min",
    /// The mean time until connected.
    ConnectMean "connect_mean",
    /// The mean time from the connection to the end of the response.
    ProcessingMean "processing_mean",
    /// The mean time until the first byte of a response.
    WaitingMean "waiting_mean",
    /// Connections per second.
    ConnectionRate "connection_rate",
    /// The time per connection, over all of them.
    TimePerConnection "time_per_connection",
    /// The largest number of concurrent connections.
    ConnectionsMost "connections_most",
    /// Responses per connection.
    CallsPerConnection "calls_per_connection",
    /// The size of a request.
    RequestSize "request_size",
    /// Samples of the rate.
    RateSamples "rate_samples",
    /// The standard deviation of these samples.
    RateSpread "rate_spread",
    /// The mean size of heads.
    HeadSize "head_size",
    /// The mean size of bodies.
    BodySize "body_size",
    /// The mean size of what follows bodies.
    FootSize "foot_size",
    /// The mean size of responses.
    ResponseSize "response_size",
    /// CPU time of the generator in its own code.
    CpuUser "cpu_user",
    /// CPU time of the generator in the kernel.
    CpuSystem "cpu_system",
    /// Share of a processor that the generator used, in percent.
    CpuShare "cpu_share",
    /// The mean number of requests in flight.
    Concurrency "concurrency",
    /// Connections set on the command line.
    AskedConnections "asked_connections",
    /// Requests set on the command line.
    AskedRequests "asked_requests",
    /// The rate set on the command line.
    AskedRate "asked_rate",
    /// Calls per connection set on the command line.
    AskedCalls "asked_calls",
    /// Requests after which the tool gave up.
    AbortedAfter "aborted_after",
    /// Streams per connection set on the command line.
    AskedStreams "asked_streams",
    /// The port of the server.
    Port "port",
    /// The duration set for the run, from the report or the command line.
    AskedDuration "asked_duration",
    /// Connections that were opened.
    ConnectionsMade "connections_made",
    /// The shortest lifetime of a connection with several requests.
    ConnectionTimeMin "connection_time_min",
    /// The mean lifetime of a connection with several requests.
    ConnectionTimeMean "connection_time_mean",
    /// The standard deviation of these lifetimes.
    ConnectionTimeSpread "connection_time_spread",
    /// The median of these lifetimes.
    ConnectionTimeMedian "connection_time_median",
    /// The longest of these lifetimes.
    ConnectionTimeMax "connection_time_max",
    /// The mean time from the first byte of a response to its last.
    TransferMean "transfer_mean",
    /// Connections for which the generator had no file descriptor.
    NoDescriptor "no_descriptor",
    /// Connections for which the generator had no local port.
    NoPort "no_port",
    /// Connections for which the generator's machine had no room in its file table.
    TableFull "table_full",
    /// Requests assigned to those threads of h2load that are listed.
    ThreadRequests "thread_requests",
    /// All requests that h2load had to send.
    RequestsTotal "requests_total",
}

/// The kind of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordKey {
    /// What the server calls itself.
    Software,
    Host,
    /// The path that was requested.
    Path,
    Url,
    Tls,
}

impl WordKey {
    pub(crate) fn named(name: &str) -> Option<WordKey> {
        match name {
            "software" => Some(WordKey::Software),
            "host" => Some(WordKey::Host),
            "path" => Some(WordKey::Path),
            "url" => Some(WordKey::Url),
            "tls" => Some(WordKey::Tls),
            _ => None,
        }
    }
}

/// A time that a share of requests did not exceed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrintedQuantile {
    /// The share in percent.
    pub percent: f64,
    pub time: PrintedFigure,
}

/// A word of a report and its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrintedWord {
    pub word: String,
    /// The line in the file, from 1.
    pub line: usize,
}

/// A report of a tool, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReport {
    /// Named after the file, and after the line if the file has several reports.
    pub name: String,
    pub tool: LoadTool,
    pub file: String,
    /// The first line, from 1.
    pub line: usize,
    pub last_line: usize,
    /// Whether the command line requests keep-alive; `None` if it is not shown.
    pub asked_keep_alive: Option<bool>,
    /// The first line that counts failures and cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_unread: Option<usize>,
    pub figures: BTreeMap<FigureKey, PrintedFigure>,
    pub words: BTreeMap<WordKey, PrintedWord>,
    /// Quantiles, ascending by share.
    pub quantiles: Vec<PrintedQuantile>,
    /// Responses by status, if the tool lists each status.
    pub statuses: BTreeMap<u16, PrintedFigure>,
}

impl ToolReport {
    /// A report without figures that begins at this line.
    pub(crate) fn empty(tool: LoadTool, file: &str, line: usize) -> ToolReport {
        ToolReport {
            name: String::new(),
            tool,
            file: file.to_owned(),
            line,
            last_line: line,
            asked_keep_alive: None,
            failures_unread: None,
            figures: BTreeMap::new(),
            words: BTreeMap::new(),
            quantiles: Vec::new(),
            statuses: BTreeMap::new(),
        }
    }

    pub(crate) fn figure(&self, key: FigureKey) -> Option<&PrintedFigure> {
        self.figures.get(&key)
    }

    /// The range of values that this figure may have.
    pub(crate) fn reach(&self, key: FigureKey) -> Option<Reach> {
        self.figure(key).map(PrintedFigure::reach)
    }

    pub(crate) fn value(&self, key: FigureKey) -> Option<f64> {
        self.figure(key).map(|figure| figure.value)
    }

    pub(crate) fn printed(&self, key: FigureKey) -> Option<&str> {
        self.figure(key).map(|figure| figure.printed.as_str())
    }

    pub(crate) fn word(&self, key: WordKey) -> Option<&str> {
        self.words.get(&key).map(|word| word.word.as_str())
    }

    /// Responses that the rate counts.
    pub(crate) fn counted(&self) -> Option<&PrintedFigure> {
        use FigureKey::{Completed, Sent};
        match self.tool {
            LoadTool::Httperf => self.figure(Sent),
            _ => self.figure(Completed),
        }
    }

    /// Responses per second: as printed, or else the counted requests divided by the time.
    #[must_use]
    pub fn rate(&self) -> Option<PrintedFigure> {
        if let Some(rate) = self.figure(FigureKey::Rate) {
            return Some(rate.clone());
        }
        let elapsed = self.figure(FigureKey::Elapsed)?;
        let count = self.counted()?;
        if elapsed.low <= 0.0 {
            return None;
        }
        let value = count.value / elapsed.value;
        let reach = count.reach().over(elapsed.reach());
        Some(PrintedFigure {
            printed: format!("{value:.2}"),
            value,
            low: reach.low,
            high: reach.high,
            line: count.line,
        })
    }

    /// Whether httperf's connections have several requests, so lifetimes are not response times.
    fn has_calls(&self) -> bool {
        use FigureKey::{AskedCalls, CallsPerConnection, ConnectionsMade, Sent};
        let is_several = |key| self.value(key).is_some_and(|calls| calls > 1.01);
        let made = self.value(ConnectionsMade).zip(self.value(Sent));
        is_several(AskedCalls)
            || is_several(CallsPerConnection)
            || made.is_some_and(|(made, sent)| sent > 1.01 * made)
    }

    /// Corrects the keys of figures after the whole report has been read.
    pub(crate) fn settle(&mut self) {
        use FigureKey as Key;
        let is_httperf = self.tool == LoadTool::Httperf;
        if is_httperf && self.has_calls() && self.figure(Key::ConnectionTimeMean).is_none() {
            for (from, to) in [
                (Key::Min, Key::ConnectionTimeMin),
                (Key::Mean, Key::ConnectionTimeMean),
                (Key::Spread, Key::ConnectionTimeSpread),
                (Key::Median, Key::ConnectionTimeMedian),
                (Key::Max, Key::ConnectionTimeMax),
            ] {
                let moved = self.figures.remove(&from);
                self.figures.extend(moved.map(|figure| (to, figure)));
            }
            let mean = self.mean_of_parts();
            self.figures.extend(mean.map(|mean| (Key::Mean, mean)));
        }
        // If thread lines are missing, their sum is not the number of connections.
        let is_elided = self
            .value(Key::ThreadRequests)
            .zip(self.value(Key::RequestsTotal))
            .is_some_and(|(listed, total)| listed > 0.0 && listed < total);
        let is_less = self
            .value(Key::Connections)
            .zip(self.value(Key::AskedConnections))
            .is_some_and(|(opened, requested)| opened < requested);
        if self.tool == LoadTool::H2load && (is_elided || is_less) {
            self.figures.remove(&Key::Connections);
        }
    }

    /// The mean time of a request of httperf: until the first byte, and from there to the last.
    fn mean_of_parts(&self) -> Option<PrintedFigure> {
        let waiting = self.figure(FigureKey::WaitingMean)?;
        let transfer = self.figure(FigureKey::TransferMean)?;
        if self.value(FigureKey::Completed) == Some(0.0) {
            return None;
        }
        let value = waiting.value + transfer.value;
        let reach = waiting.reach().plus(transfer.reach());
        Some(PrintedFigure {
            printed: format!("{:.1}", 1e3 * value),
            value,
            low: reach.low,
            high: reach.high,
            line: waiting.line,
        })
    }

    /// The server's host, if the requests came from the same machine.
    pub(crate) fn own_host(&self) -> Option<&str> {
        let host = self.word(WordKey::Host)?;
        let is_own = host == "localhost" || host.starts_with("127.") || host == "[::1]";
        is_own.then_some(host)
    }

    /// The path that was requested.
    pub(crate) fn path(&self) -> Option<&str> {
        if let Some(path) = self.word(WordKey::Path) {
            return Some(path);
        }
        let url = self.word(WordKey::Url)?;
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        rest.find('/').map(|start| &rest[start..])
    }

    /// Whether every request opened a connection; `None` if the report does not show it.
    pub(crate) fn opens_for_each(&self) -> Option<bool> {
        use FigureKey::{AskedCalls, BytesTotal, CallsPerConnection, Failed, KeptAlive};
        match self.tool {
            LoadTool::Ab => match self.value(KeptAlive) {
                Some(kept) => Some(kept == 0.0),
                // With keep-alive, that line is printed between these two.
                None if self.figure(Failed).is_some() && self.figure(BytesTotal).is_some() => {
                    Some(true)
                }
                None => None,
            },
            LoadTool::Httperf => match self.value(AskedCalls) {
                Some(requested) => Some(requested <= 1.0),
                // A connection without a response shows nothing.
                None => self
                    .reach(CallsPerConnection)
                    .filter(|calls| calls.high >= 0.5)
                    .map(|calls| calls.high < 1.01),
            },
            _ => self.asked_keep_alive.map(|keeps| !keeps),
        }
    }
}
