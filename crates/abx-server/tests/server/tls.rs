//! The server over TLS, with the `ssl` module of Python as client, and with a client without TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use abx_server::{Content, ServerCertificate, ServerConfig};

use crate::support::{page, real_models, start};

/// Sends a number of requests for a page of a given size on one connection, all at once, then
/// reads to the end, which must be a close_notify. Each body is compared with the pattern of pages.
const CLIENT: &str = r#"
import socket, ssl, sys
port, count, size, version = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
context = ssl._create_unverified_context()
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
raw = socket.create_connection(("127.0.0.1", port), 30)
tls = context.wrap_socket(raw, suppress_ragged_eofs=False)
request = b"GET / HTTP/1.1\r\nHost: h\r\n"
tls.sendall((request + b"\r\n") * (count - 1) + request + b"Connection: close\r\n\r\n")
data = bytearray()
while part := tls.recv(65536):
    data += part
pattern = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
page = (pattern * (size // 64 + 1))[:size]
offset = 0
for number in range(count):
    assert data.startswith(b"HTTP/1.1 200 OK\r\n", offset), (number, data[offset:offset + 80])
    offset = data.index(b"\r\n\r\n", offset) + 4
    assert data.startswith(page, offset), number
    offset += size
assert offset == len(data), (offset, len(data))
print(tls.version())
"#;

/// The TLS version that the client printed after it had checked all responses.
fn request(address: SocketAddr, count: usize, bytes: u64, version: &str) -> String {
    let output = Command::new("python3")
        .args(["-c", CLIENT, &address.port().to_string()])
        .args([&count.to_string(), &bytes.to_string(), version])
        .output()
        .expect("Python is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn every_model_encrypts_its_responses() {
    // Method: each version; thousands of pipelined requests, whose responses fill the sockets'
    // buffers, so that records must wait; and pages of many records.
    for model in real_models() {
        for (count, bytes) in [(3_000, 1_000), (2, 3_000_000)] {
            let address = start(ServerConfig {
                certificate: Some(ServerCertificate::SelfSigned),
                content: Content::Page { bytes: Some(bytes) },
                ..page(model)
            });
            for (version, name) in [("TLSv1_2", "TLSv1.2"), ("TLSv1_3", "TLSv1.3")] {
                assert_eq!(request(address, count, bytes, version), name, "{model:?}");
            }
        }
    }
}

#[test]
fn a_client_without_tls_gets_an_alert_and_does_not_affect_others() {
    // Method: plain HTTP gets an alert (RFC 8446, section 6) and the end of the connection; the
    // next client is served.
    for model in real_models() {
        let address = start(ServerConfig {
            certificate: Some(ServerCertificate::SelfSigned),
            content: Content::Page { bytes: Some(10) },
            ..page(model)
        });
        let mut plain = TcpStream::connect(address).unwrap();
        plain
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        plain
            .write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        let mut bytes = Vec::new();
        plain.read_to_end(&mut bytes).expect("the end is orderly");
        let is_fatal_alert = bytes.first() == Some(&21) && bytes.get(5) == Some(&2);
        assert!(is_fatal_alert, "{model:?}: {bytes:?}");
        assert_eq!(request(address, 2, 10, "TLSv1_3"), "TLSv1.3", "{model:?}");
    }
}
