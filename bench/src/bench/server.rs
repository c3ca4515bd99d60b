//! The nginx that all generators load, with files of the requested sizes.

use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Ports to try, below those that the kernel assigns to clients.
const PORTS: std::ops::Range<u16> = 18_080..18_180;
/// The limit if the system sets none: more than any load here needs.
const DESCRIPTORS_MAX: u64 = 100_000;
/// How long nginx may take to respond, and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running nginx with one worker; it ends when this is dropped.
pub struct Server {
    child: Child,
    address: SocketAddr,
    http2_address: SocketAddr,
}

impl Server {
    /// Creates a file per size and starts nginx on the processor of this thread.
    ///
    /// # Errors
    /// If no ports are free, nginx is absent, or it does not respond in time.
    pub fn start(folder: &Path, sizes: &[usize], descriptors: u64) -> io::Result<Server> {
        let www = folder.join("www");
        fs::create_dir_all(&www)?;
        for size in sizes {
            // Not from memory, because the peak memory of this process counts for its children.
            let mut file = fs::File::create(www.join(size.to_string()))?;
            io::copy(&mut io::repeat(b'x').take(*size as u64), &mut file)?;
        }
        let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let mut free = PORTS.filter(is_free);
        let (Some(port), Some(http2_port)) = (free.next(), free.next()) else {
            return Err(io::Error::other(format!(
                "no two ports of {PORTS:?} are free"
            )));
        };
        let settings = folder.join("nginx.conf");
        fs::write(
            &settings,
            configuration(folder, [port, http2_port], descriptors),
        )?;
        let child = Command::new("nginx")
            .args(["-e", "stderr", "-p"])
            .arg(folder)
            .arg("-c")
            .arg(&settings)
            .stdin(Stdio::null())
            .stderr(fs::File::create(folder.join("nginx.log"))?)
            .spawn()
            .map_err(|error| io::Error::other(format!("nginx cannot be started: {error}")))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server {
            child,
            address,
            http2_address: SocketAddr::from(([127, 0, 0, 1], http2_port)),
        };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > deadline || server.child.try_wait()?.is_some() {
                let log = fs::read_to_string(folder.join("nginx.log")).unwrap_or_default();
                return Err(io::Error::other(format!("nginx does not respond: {log}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// The address for HTTP/1.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for HTTP/2 without TLS.
    pub fn http2_address(&self) -> SocketAddr {
        self.http2_address
    }

    /// CPU time of nginx so far, in µs: of its master and its worker, which have one thread each.
    ///
    /// # Errors
    /// If the CPU time cannot be read.
    pub fn cpu_us(&self) -> io::Result<f64> {
        let master = self.child.id();
        let workers = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
        let mut sum = 0.0;
        for pid in std::iter::once(master.to_string().as_str()).chain(workers.split_whitespace()) {
            let schedule = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
            let on_cpu_ns = schedule.split_whitespace().next();
            let on_cpu_ns = on_cpu_ns.and_then(|word| word.parse::<f64>().ok());
            sum += on_cpu_ns.ok_or(io::ErrorKind::InvalidData)? / 1e3;
        }
        Ok(sum)
    }

    /// The size of a response with a body of `size` bytes, head included.
    ///
    /// # Errors
    /// If the response is not that of the file.
    pub fn response_bytes(&self, size: usize, keep_alive: bool) -> io::Result<usize> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let close = if keep_alive {
            ""
        } else {
            "Connection: close\r\n"
        };
        let host = self.address;
        write!(
            stream,
            "GET /{size} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n"
        )?;
        let mut head = Vec::new();
        for byte in BufReader::new(&stream).bytes() {
            head.push(byte?);
            if head.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let length = format!("\r\nContent-Length: {size}\r\n");
        let text = String::from_utf8_lossy(&head);
        if text.starts_with("HTTP/1.1 200") && text.contains(&length) {
            return Ok(head.len() + size);
        }
        Err(io::Error::other(format!(
            "nginx responds for {size} bytes: {text}"
        )))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The master also ends its worker.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, [port, http2_port]: [u16; 2], descriptors: u64) -> String {
    let folder = folder.display();
    let descriptors = descriptors.min(DESCRIPTORS_MAX);
    format!(
        "# As root, workers must be able to read the folder; otherwise ignored.
user root;
daemon off;
worker_processes 1;
worker_rlimit_nofile {descriptors};
pid {folder}/nginx.pid;
error_log stderr;
# One accept for each round would leave many of 10,000 connections waiting for seconds.
events {{ worker_connections 12000; multi_accept on; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=12000;
        listen 127.0.0.1:{http2_port} http2;
        root {folder}/www;
    }}
}}
"
    )
}
