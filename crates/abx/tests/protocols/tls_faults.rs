//! Handshakes that fail, with servers that are not ours. abx reports the cause and a remedy before
//! it measures anything.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use crate::protocols::tls::certify;
use crate::support::Home;

/// A running `openssl s_server`, which is ended when it is dropped.
struct OpenSsl {
    child: Child,
    url: String,
}

impl OpenSsl {
    /// Starts one with the files of `certify` in this folder, unless the words override them. It
    /// runs in another folder: a process in a home counts as left behind by abx.
    fn start(home: &Home, words: &str) -> OpenSsl {
        let file = |word: &str| {
            if word.ends_with(".pem") {
                home.join(word).display().to_string()
            } else {
                word.to_owned()
            }
        };
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-www"])
            .args(["-cert", &file("cert.pem"), "-key", &file("key.pem")])
            .args(words.split_whitespace().map(file))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is there: run scripts/install-test-servers");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let port = port_of(&mut stdout);
        // Its output about each connection must not fill the pipe.
        thread::spawn(move || io::copy(&mut stdout, &mut io::sink()));
        OpenSsl {
            child,
            url: format!("https://127.0.0.1:{port}/"),
        }
    }
}

/// The port that it listens on.
fn port_of(stdout: &mut BufReader<ChildStdout>) -> String {
    let lines = stdout.lines().map(|line| line.expect("it speaks text"));
    let mut accepting = lines.filter(|line| line.starts_with("ACCEPT "));
    let line = accepting.next().expect("it listens");
    line.rsplit(':').next().unwrap_or_default().to_owned()
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Signs a certificate for 127.0.0.1 that has expired, with the key of `certify`.
fn certify_the_past(home: &Home) {
    home.write("index.txt", "");
    home.write(
        "ca.conf",
        "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\nnew_certs_dir = .\nrand_serial = yes\n\
         default_md = sha256\npolicy = any\ncopy_extensions = copy\n[any]\ncommonName = supplied\n",
    );
    let script = "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
                  -keyout old-key.pem -subj /CN=old.test -addext subjectAltName=IP:127.0.0.1 \
                  -out old.csr && openssl ca -batch -notext -config ca.conf -cert cert.pem \
                  -keyfile key.pem -in old.csr -startdate 20200101000000Z \
                  -enddate 20200201000000Z -out old.pem";
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(home.path())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

#[test]
fn every_failure_of_a_handshake_is_named_with_a_remedy() {
    // Method: OpenSSL's own server, configured so that each handshake fails in one way. The last
    // two runs follow the remedy of the message.
    let home = Home::new();
    certify(&home);
    certify_the_past(&home);
    let run = |server: &str, flags: &[&str], code: i32, texts: &[&str]| {
        let server = OpenSsl::start(&home, server);
        let usual = ["run", &server.url, "-c", "1", "-n", "6"];
        home.run_abx(&[&usual[..], flags].concat())
            .expect(code, texts);
    };
    let refused = |server: &str, flags: &[&str], texts: &[&str]| {
        run(
            server,
            flags,
            2,
            &[&["the TLS handshake failed"], texts].concat(),
        );
    };
    let any = "--insecure";
    refused("", &[], &["--ca FILE", any]);
    let old = ["(--ca)", "the certificate has expired", "renew", any];
    run("", &["--ca", "old.pem"], 2, &old);
    run(
        "-cert old.pem -key old-key.pem",
        &["--ca", "old.pem"],
        2,
        &old,
    );
    refused(
        "-cert old.pem -key old-key.pem",
        &["--ca", "cert.pem"],
        &["expired", "renew the certificate", "clock", any],
    );
    refused("-tls1_2", &[any, "--tls-version", "1.3"], VERSION);
    refused("-tls1_3", &[any, "--tls-version", "1.2"], VERSION);
    refused("-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", &[any], CIPHER);
    refused(
        "-tls1_3 -ciphersuites TLS_AES_128_CCM_SHA256",
        &[any],
        CIPHER,
    );
    refused("-tls1_2 -Verify 1", &[any], CERTIFICATE);
    refused("-tls1_3 -Verify 1", &[any], CERTIFICATE);
    let with_cert = [any, "--cert", "cert.pem", "--key", "key.pem"];
    run("-tls1_2 -Verify 1", &with_cert, 0, &[]);
    run("-tls1_3 -Verify 1", &with_cert, 0, &[]);
}

const VERSION: &[&str] = &["does not support this version of TLS", "omit --tls-version"];
const CIPHER: &[&str] = &["HandshakeFailure", "no cipher in common", "ECDHE"];
const CERTIFICATE: &[&str] = &["requires a client certificate", "--cert FILE --key FILE"];

#[test]
fn an_aborted_handshake_differs_from_a_refused_connection() {
    // Method: a peer that reads the first bytes and closes the connection, and then no server.
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0; 4096];
        assert!(stream.read(&mut hello).unwrap() > 0);
    });
    home.run_abx(&["run", &url, "-n", "5"]).expect(
        2,
        &[
            "the TLS handshake failed: the server closed the connection in the handshake",
            "use http:// or ws://",
        ],
    );
    peer.join().unwrap();
    home.run_abx(&["run", &url, "-n", "5"])
        .expect(2, &["the connection was refused"]);
}
