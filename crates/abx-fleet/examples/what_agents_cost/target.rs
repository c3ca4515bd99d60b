//! The server that is loaded, in a process of its own: it knows when requests came.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use abx_sys::Nanos;

use crate::Any;

/// A server that runs.
pub struct Target {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

/// Requests that came, on the monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrivals {
    pub count: u64,
    pub first: Nanos,
    pub last: Nanos,
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

impl Target {
    pub fn start() -> Result<Target, Any> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("target")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let mut output = BufReader::new(process.stdout.take().ok_or("no output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        Ok(Target {
            process,
            input,
            output,
            address: line.trim().parse()?,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Those since the last look.
    pub fn take_arrivals(&mut self) -> Result<Arrivals, Any> {
        self.input.as_mut().ok_or("no input")?.write_all(b"\n")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let numbers = { line.split_ascii_whitespace() }
            .map(str::parse)
            .collect::<Result<Vec<u64>, _>>()?;
        let [count, first, last] = numbers[..] else {
            return Err("the server that is loaded has ended".into());
        };
        Ok(Arrivals {
            count,
            first: Nanos(first),
            last: Nanos(last),
        })
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        drop(self.input.take());
        // It ends by itself, as its input has.
        let _ = self.process.wait();
    }
}

/// Is that server until standard input ends; each line there asks for the arrivals since
/// the line before.
pub fn be() -> Result<(), Any> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let arrivals: Arc<Mutex<Arrivals>> = Arc::default();
    let noted = Arc::clone(&arrivals);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let noted = Arc::clone(&noted);
            thread::spawn(move || serve(connection, &noted));
        }
    });
    for line in std::io::stdin().lines() {
        line?;
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let Arrivals { count, first, last } = std::mem::take(&mut *arrivals);
        println!("{count} {} {}", first.0, last.0);
    }
    Ok(())
}

/// Answers until the client goes.
fn serve(mut connection: TcpStream, arrivals: &Mutex<Arrivals>) {
    let mut head = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = connection.read(&mut chunk) {
        let now = Nanos::now();
        head.extend_from_slice(&chunk[..count]);
        // Requests have no body, and one is asked at a time.
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        head.clear();
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        if arrivals.count == 0 {
            arrivals.first = now;
        }
        arrivals.count += 1;
        arrivals.first = arrivals.first.min(now);
        arrivals.last = arrivals.last.max(now);
        drop(arrivals);
        if connection.write_all(ANSWER).is_err() {
            return;
        }
    }
}
