//! Options of httperf for sockets, for TLS and for the end of a load, compared with the system's
//! httperf if it has them too.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use abx_sys::process::Signal;

use crate::classic::httperf::{Responding, assert_alike, both};
use crate::protocols::tls::{HELLO, Nginx};
use crate::support::{ABX, Home, Server, send, wait_for};

#[test]
fn connections_are_reset_on_request() {
    // Method: how a server sees connections and sessions of both tools end, with and without the
    // option.
    let home = Home::new();
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    for load in ["--num-conns=3 --num-calls=2", "--wsess=3,2,0.01"] {
        for (flag, expected) in [
            ("", None),
            ("--close-with-reset", Some(ErrorKind::ConnectionReset)),
        ] {
            let server = Responding::start(response, false);
            let to = ["--server", "127.0.0.1", "--port", &server.port];
            let words = to
                .into_iter()
                .chain(load.split(' '))
                .chain(flag.split_whitespace());
            assert_alike(&home, &words.collect::<Vec<_>>()).expect(0, &[]);
            let errors = wait_for("the last end", || {
                let ends = server.ends.lock().unwrap();
                let errors = ends
                    .iter()
                    .map(|end| end.as_ref().err().map(|error| error.kind()));
                (ends.len() == 6).then(|| errors.collect::<Vec<_>>())
            });
            assert_eq!(errors, vec![expected; 6], "{load} {flag}");
        }
    }
}

#[test]
fn socket_buffers_have_the_sizes_of_httperf() {
    // Method: what the kernel reports about a connection to a server that never responds, while
    // each tool waits: with the default sizes, and with others.
    let sizes_of = |program: &str, flags: &[&str]| {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port().to_string();
        let mut command = Command::new(program);
        command.args((program == ABX).then_some("httperf"));
        command.args(["--server", "127.0.0.1", "--port", &port, "--timeout=60"]);
        let home = Home::new();
        home.settle(command.args(flags));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let sizes = wait_for("a connection", || {
            let listed = Command::new("ss")
                .args(["-Hntm", "dst", &format!("127.0.0.1:{port}")])
                .output()
                .expect("ss is missing: run scripts/install-test-servers");
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            let memory = listed.split_once("skmem:(")?.1;
            let parts = memory.split([',', ')']);
            let sizes = parts.filter(|part| part.starts_with("rb") || part.starts_with("tb"));
            Some(sizes.map(str::to_owned).collect::<Vec<_>>())
        });
        send(child.id(), Signal::Kill);
        child.wait().unwrap();
        sizes
    };
    for (flags, expected) in [
        (&[][..], ["rb32768", "tb8192"]),
        (
            &["--recv-buffer=9000", "--send-buffer=30000"],
            ["rb18000", "tb60000"],
        ),
    ] {
        for program in ["httperf", ABX] {
            assert_eq!(sizes_of(program, flags), expected, "{program} {flags:?}");
        }
    }
}

#[test]
fn a_cipher_is_chosen_by_its_name() {
    // Method: a server of TLS 1.2 that logs the cipher that it negotiates with each tool; then two
    // ciphers, separated by a colon, neither of which the server supports.
    let home = Home::new();
    let nginx = Nginx::logging(&home, "TLSv1.2", HELLO, "$ssl_protocol $ssl_cipher");
    let port = nginx.port.to_string();
    let to = ["--ssl", "--server", "127.0.0.1", "--port", &port];
    let chacha = "ECDHE-ECDSA-CHACHA20-POLY1305";
    let chosen = format!("--ssl-ciphers={chacha}");
    let words = [&to[..], &[&chosen, "--num-conns=2", "--num-calls=2"]].concat();
    assert_alike(&home, &words).expect(0, &[]);
    // httperf ends without a report here.
    let rsa = "--ssl-ciphers=ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384";
    let (system, ended) = both(&home, &[&to[..], &[rsa]].concat());
    assert!(
        system.stderr.contains("failed to connect to SSL"),
        "{system:#?}"
    );
    ended.expect(0, &["the server refused with alert HandshakeFailure"]);
    assert!(ended.stdout.contains("ftab-full 0 other 1\n"), "{ended:#?}");
    let log = nginx.log(&home);
    assert_eq!(log, vec![format!("TLSv1.2 {chacha}"); 8]);
}

#[test]
fn newer_tls_options_take_effect() {
    // Method: each version of TLS, a server that requests a certificate from clients with one and
    // without, and a certificate of the server that is trusted or not.
    let home = Home::new();
    let locations = format!("ssl_verify_client on; ssl_client_certificate cert.pem; {HELLO}");
    let logged = "$ssl_protocol $ssl_client_verify $ssl_server_name";
    let nginx = Nginx::logging(&home, "TLSv1.2 TLSv1.3", &locations, logged);
    let port = nginx.port.to_string();
    let load = |words: &[&str]| {
        let to = ["httperf", "--ssl", "--server", "127.0.0.1", "--port", &port];
        home.run_abx(&[&to[..], words].concat())
    };
    let certificate = ["--ssl-certificate=cert.pem", "--ssl-key=key.pem"];
    let load_certified = |more: &[&str]| load(&[&certificate[..], more].concat());
    for version in ["TLSv1.2", "tlsv1_3"] {
        let ended = load_certified(&[
            "--ssl-protocol",
            version,
            "--ssl-verify",
            "--ssl-ca-file=cert.pem",
        ]);
        assert!(ended.stdout.contains(" 2xx=1 "), "{ended:#?}");
    }
    let named = load_certified(&["--tls-server-name=server.test", "--ssl-protocol=auto"]);
    assert!(named.stdout.contains(" 2xx=1 "), "{named:#?}");
    assert!(load(&[]).stdout.contains(" 4xx=1 "));
    let untrusted = load_certified(&["--ssl-verify"]);
    untrusted.expect(0, &["the first of the other errors: "]);
    assert!(untrusted.stdout.contains(" other 1\n"), "{untrusted:#?}");
    let log = nginx.log(&home);
    let expected = [
        "TLSv1.2 SUCCESS -",
        "TLSv1.3 SUCCESS -",
        "TLSv1.3 SUCCESS server.test",
        "TLSv1.3 NONE -",
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_load_ends_at_its_time_limit() {
    // Method: far more connections and sessions than fit into the limit, at a rate, in turn, and at
    // a rate in steps. Each load ends with its report; a load that is done earlier is complete.
    let home = Home::new();
    let server = Server::start(&[]);
    let to = ["httperf", "--server", "127.0.0.1", "--port", server.port()];
    for (load, is_complete) in [
        ("--runtime=0.5 --rate=20 --num-conns=100000", false),
        ("--runtime=0.5 --num-conns=100000000", false),
        ("--runtime=0.5 --wsess=100000,5,0.1 --rate=20", false),
        (
            "--runtime=0.5 --period=v0.05,0.2,0.01,0.1 --num-conns=100000",
            false,
        ),
        (
            "--runtime=60 --period=v0.01,0.05,0.001,0.05 --num-conns=30",
            true,
        ),
    ] {
        let words: Vec<&str> = to.into_iter().chain(load.split(' ')).collect();
        let ended = home.run_abx(&words);
        ended.expect(0, &[]);
        let total = ended
            .stdout
            .lines()
            .find(|line| line.starts_with("Total: "));
        let total = total.unwrap();
        assert_eq!(
            total.starts_with("Total: connections 30 "),
            is_complete,
            "{total}"
        );
        assert!(ended.stdout.contains("Errors: total 0 "), "{ended:#?}");
    }
}
