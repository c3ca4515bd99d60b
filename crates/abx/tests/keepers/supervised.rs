//! `abx serve --workers`: workers that crash, stop and are replaced, and a supervisor that is
//! killed. No listening socket is lost, no process stays, and nothing starts without a wait.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abx_sys::process::{Process, ProcessStat};
use abx_sys::tree::descendants;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{ABX, Home, Server, wait_for};

/// A server under a supervisor, with its output and its process, until it is dropped.
struct Supervised {
    child: Child,
    address: String,
    printed: Arc<Mutex<Vec<String>>>,
}

impl Supervised {
    fn start(words: &[&str]) -> Supervised {
        let mut child = Command::new(ABX)
            .args(["serve", "--port", "0", "--workers", "2"])
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.split_once("http://").expect(&first).1;
        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&printed);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                sink.lock().unwrap().push(line);
            }
        });
        Supervised {
            child,
            address: address.trim_end_matches('/').to_owned(),
            printed,
        }
    }

    /// Its running workers.
    fn workers(&self) -> BTreeSet<u32> {
        children_of(self.child.id())
            .into_iter()
            .map(|process| process.pid)
            .collect()
    }

    /// Waits for two workers that are both new.
    fn wait_for_new_workers(&self, before: &BTreeSet<u32>) -> BTreeSet<u32> {
        wait_for("two other workers", || {
            let now = self.workers();
            (now.len() == 2 && now.is_disjoint(before)).then_some(now)
        })
    }

    /// Its output after the first line.
    fn printed(&self) -> Vec<String> {
        self.printed.lock().unwrap().clone()
    }

    /// Waits until it has printed at least this many lines, and returns them.
    fn wait_for_lines(&self, count: usize) -> Vec<String> {
        wait_for("the supervisor's output", || {
            Some(self.printed()).filter(|lines| lines.len() >= count)
        })
    }

    /// Sends one request on a new connection.
    fn get(&self) -> std::io::Result<String> {
        get(&mut TcpStream::connect(&self.address)?, "close")
    }

    fn expect_responses(&self) {
        for _ in 0..20 {
            let response = self.get().unwrap();
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        }
    }

    /// Waits until the supervisor and these workers have ended.
    fn expect_gone(&mut self, workers: &[Process]) {
        wait_for("the end of all processes", || {
            let is_over = self.child.try_wait().unwrap().is_some();
            (is_over && !workers.iter().any(|worker| worker.is_alive())).then_some(())
        });
        // A listening socket that a process still had would accept the connection.
        assert!(TcpStream::connect(&self.address).is_err());
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process of this test, if it is still there.
fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = kill_process(pid, signal);
}

/// The children of a process, except for those that have ended.
fn children_of(pid: u32) -> Vec<Process> {
    let relatives = descendants(pid).unwrap();
    let children = relatives.into_iter().map(|relative| relative.process);
    children.filter(|child| child.is_alive()).collect()
}

/// Sends a GET and reads the response by its length.
fn get(stream: &mut TcpStream, connection: &str) -> std::io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let request = format!("GET / HTTP/1.1\r\nHost: h\r\nConnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    let head_end = |bytes: &[u8]| bytes.windows(4).position(|four| four == b"\r\n\r\n");
    // The page has 87 bytes.
    while head_end(&response).is_none_or(|end| response.len() < end + 4 + 87) {
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => response.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(String::from_utf8(response).unwrap())
}

#[test]
fn every_model_serves_with_workers_and_ends_with_them() {
    // Method: requests on separate connections, then the signal that ends all processes.
    for model in [
        "event",
        "thread",
        "thread-per-request",
        "hybrid",
        "prefork",
        "null",
    ] {
        for signal in [Signal::TERM, Signal::INT] {
            let mut server = Supervised::start(&["--model", model]);
            let workers = children_of(server.child.id());
            assert_eq!(workers.len(), 2, "{model}");
            for worker in &workers {
                assert_eq!(worker.name().as_deref(), Some("abx-worker"));
            }
            match model {
                // This model ignores `Connection: close`.
                "null" => drop(get(&mut TcpStream::connect(&server.address).unwrap(), "")),
                _ => server.expect_responses(),
            }
            send(server.child.id(), signal);
            server.expect_gone(&workers);
            let status = server.child.wait().unwrap();
            assert_eq!(
                (status.code(), server.printed()),
                (Some(0), vec![]),
                "{model}"
            );
        }
    }
}

#[test]
fn a_worker_that_crashes_is_replaced_and_no_connection_is_refused() {
    // Method: each worker in turn gets the signal of a crash. Workers must accept all connections
    // that are made meanwhile and later, and respond when the crash is over. A crashed worker must
    // not stay as a zombie.
    for model in ["event", "hybrid", "prefork"] {
        let server = Supervised::start(&["--model", model]);
        let before = server.workers();
        for worker in &before {
            send(*worker, Signal::SEGV);
            let _ = server.get();
            wait_for("another worker", || {
                let now = server.workers();
                (now.len() == 2 && !now.contains(worker)).then_some(())
            });
        }
        server.wait_for_new_workers(&before);
        server.expect_responses();
        for worker in before {
            assert_eq!(ProcessStat::read(worker).unwrap(), None, "{model}");
        }
        let lines = server.wait_for_lines(2);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].contains("ended: signal 11; another one starts in"),
            "{lines:?}"
        );
    }
}

#[test]
fn a_request_may_crash_a_worker_if_that_is_allowed() {
    // Method: the request that crashes a worker gets no response. Another worker must start and
    // serve pages. A server without that option has a page at this path, as at any other.
    for model in ["event", "thread", "thread-per-request", "hybrid", "prefork"] {
        let server = Supervised::start(&["--model", model, "--allow-crash"]);
        let before = server.workers();
        let response = {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream
                .write_all(b"GET /crash HTTP/1.1\r\nHost: h\r\n\r\n")
                .unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).map(|_| response)
        };
        assert!(response.is_err() || response.is_ok_and(|response| response.is_empty()));
        wait_for("another worker", || {
            let now = server.workers();
            (now.len() == 2 && now != before).then_some(())
        });
        server.expect_responses();
        assert!(
            server.wait_for_lines(1)[0].contains("ended: signal 11"),
            "{model}"
        );
    }
    let safe = Server::start(&[]);
    let response = curl(&format!("{}crash", safe.url));
    assert_eq!(response.len(), 87);
}

#[test]
fn every_model_serves_the_same_blog_page_of_421_bytes() {
    // Method: curl requests each model with and without rows, and next to it a page and a file.
    for model in ["event", "thread", "thread-per-request", "hybrid", "prefork"] {
        let words = ["--model", model, "--workers", "2", "--blog"];
        let server = Server::start(&words);
        for path in ["blog/index", "blog/index/", "blog/index?page=1"] {
            let page = curl(&format!("{}{path}", server.url));
            assert!(
                page.len() == 421 && page.contains("<h1>Listing Blog</h1>"),
                "{model} {path}"
            );
        }
        assert_eq!(curl(&format!("{}blog", server.url)).len(), 87, "{model}");
        let filled = Server::start(&[&words[..], &["--rows", "100"]].concat());
        let page = curl(&format!("{}blog/index", filled.url));
        assert!(
            page.matches("<tr>").count() == 101 && page.contains("Entry 100"),
            "{model}"
        );
    }
}

/// The response to a foreign client.
fn curl(url: &str) -> String {
    let output = Command::new("curl")
        .args(["-sS", "--fail", "--max-time", "60", url])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn restarts_are_delayed_while_workers_keep_crashing() {
    // Method: all workers are killed again and again, until both report a wait of 640 ms. All
    // connections must be accepted. The reported waits must double from 10 ms on. Only on a very
    // slow machine does a worker run for a second, and then the waits start again.
    let server = Supervised::start(&[]);
    let waits = |number: u32| -> Vec<u64> {
        let name = format!("worker {number} ");
        let printed = server.printed();
        let lines = printed.iter().filter(|line| line.contains(&name));
        let waits =
            lines.filter_map(|line| line.rsplit_once(" in ")?.1.split(' ').next()?.parse().ok());
        waits.collect()
    };
    let mut connections = Vec::new();
    wait_for("long waits", || {
        for worker in server.workers() {
            send(worker, Signal::KILL);
        }
        connections.push(TcpStream::connect(&server.address).unwrap());
        (1..=2)
            .all(|number| waits(number).contains(&640))
            .then_some(())
    });
    for number in 1..=2 {
        let mut previous = 0;
        for wait in waits(number) {
            let expected = match previous {
                0 => 10,
                _ => (previous * 2).min(1_000),
            };
            assert!(wait == expected || wait == 0, "{number} {wait}");
            previous = wait;
        }
    }
    drop(connections);
    server.wait_for_new_workers(&BTreeSet::new());
    server.expect_responses();
}

#[test]
fn workers_do_not_outlive_a_killed_supervisor() {
    // Method: the supervisor is killed; its children must be gone, and the port free.
    for model in ["event", "thread", "prefork"] {
        let mut server = Supervised::start(&["--model", model]);
        let workers = children_of(server.child.id());
        assert_eq!(workers.len(), 2);
        send(server.child.id(), Signal::KILL);
        server.expect_gone(&workers);
    }
}

#[test]
fn others_serve_while_a_worker_is_stopped_and_all_end_together() {
    // Method: one of two workers is stopped. Clients that connect afterwards get a response from
    // the other one. Then all receive the signal to end, which a stopped process does not handle.
    for model in ["event", "thread", "thread-per-request", "hybrid", "prefork"] {
        let mut server = Supervised::start(&["--model", model]);
        let workers = children_of(server.child.id());
        send(workers[0].pid, Signal::STOP);
        wait_for("the stop", || {
            let stat = ProcessStat::read(workers[0].pid).unwrap()?;
            (stat.state == 'T').then_some(())
        });
        server.expect_responses();
        send(server.child.id(), Signal::TERM);
        server.expect_gone(&workers);
        let message = server.wait_for_lines(1).join("\n");
        assert!(
            message.contains("was killed: it did not end"),
            "{model} {message}"
        );
    }
}

#[test]
fn replacing_all_workers_loses_no_request() {
    // Method: a client that keeps its connection, and one with a connection per request, keep
    // sending requests while all workers are replaced three times. A kept connection may end only
    // with a response that announces it. Every worker must be new.
    for model in ["event", "thread", "thread-per-request", "hybrid", "prefork"] {
        let server = Supervised::start(&["--model", model]);
        let is_over = AtomicBool::new(false);
        let keep = || {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                let mut stream = TcpStream::connect(&server.address).unwrap();
                loop {
                    let response = get(&mut stream, "keep-alive").unwrap();
                    count += 1;
                    if response.contains("\r\nConnection: close\r\n")
                        || is_over.load(Ordering::Relaxed)
                    {
                        break;
                    }
                }
            }
            count
        };
        let connect = || {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                server.get().unwrap();
                count += 1;
            }
            count
        };
        std::thread::scope(|scope| {
            let clients = [scope.spawn(keep), scope.spawn(connect)];
            for _ in 0..3 {
                let before = server.workers();
                send(server.child.id(), Signal::HUP);
                server.wait_for_new_workers(&before);
            }
            is_over.store(true, Ordering::Relaxed);
            for client in clients {
                assert!(client.join().unwrap() > 0, "{model}");
            }
        });
        assert_eq!(server.printed(), Vec::<String>::new(), "{model}");
    }
}

#[test]
fn a_worker_that_is_replaced_finishes_its_response() {
    // Method: other workers take over while a response takes a second.
    let server = Supervised::start(&["--delay", "1s"]);
    let before = server.workers();
    let sockets = || {
        before
            .iter()
            .map(|worker| sockets_of(*worker))
            .sum::<usize>()
    };
    let sockets_before = sockets();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    std::thread::scope(|scope| {
        let response = scope.spawn(|| get(&mut stream, "keep-alive").unwrap());
        wait_for("the connection to be accepted", || {
            (sockets() > sockets_before).then_some(())
        });
        send(server.child.id(), Signal::HUP);
        server.wait_for_new_workers(&before);
        assert!(response.join().unwrap().contains("200 OK"));
    });
}

/// How many sockets a process has open.
fn sockets_of(pid: u32) -> usize {
    let Ok(read_dir) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return 0;
    };
    let links = read_dir.filter_map(|result| std::fs::read_link(result.ok()?.path()).ok());
    links
        .filter(|link| link.to_string_lossy().starts_with("socket:"))
        .count()
}

#[test]
fn unsupported_options_of_workers_are_refused_once() {
    // Method: rooms with several processes, no worker at all, and a missing root, which each worker
    // would otherwise report.
    let home = Home::new();
    let serve = ["serve", "--port", "0", "--workers"];
    let run = |words: &[&str]| home.run_abx(&[&serve[..], words].concat());
    run(&["2", "--websocket"]).expect(2, &["members must be in one process", "--websocket=echo"]);
    run(&["0"]).expect(2, &["--workers"]);
    run(&["2", "--root", "/nowhere"]).expect(2, &["root /nowhere"]);
    let taken = Server::start(&[]);
    home.run_abx(&["serve", "--workers", "2", "--port", taken.port()])
        .expect(2, &["cannot listen on"]);
    let supervised = Supervised::start(&["--websocket=echo"]);
    supervised.expect_responses();
}
