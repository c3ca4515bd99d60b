//! Unix sockets: abx loads and compares servers that listen on one, and reads their CPU time.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::{Home, Server, send, wait_for};

/// A running nginx on a Unix socket, which is ended when it is dropped.
struct Nginx(Child);

impl Nginx {
    /// Starts one that logs the host, status and path of each request.
    fn start(home: &Home, socket: &Path) -> Nginx {
        let folder = home.path().display();
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name};"))
            .join(" ");
        let text = format!(
            "daemon off; pid {folder}/pid; events {{}} http {{ {paths} \
             log_format all '$host $status $request_uri'; access_log {folder}/log all; \
             server {{ listen unix:{}; location / {{ return 200 hello; }} }} }}",
            socket.display()
        );
        let file = home.write("nginx.conf", &text);
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-p", &folder.to_string(), "-c", &file]);
        let nginx = Nginx(command.spawn().unwrap());
        wait_for("the socket", || socket.exists().then_some(()));
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        send(self.0.id(), Signal::Quit);
        self.0.wait().unwrap();
    }
}

/// The name of the process whose CPU time counts as the server's.
fn accounted(record: &Value) -> &Value {
    let subjects = &record["blocks"][0]["subjects"];
    let first = subjects
        .as_object()
        .and_then(|subjects| subjects.values().next());
    &first.unwrap_or(&subjects[0])["listener"]["name"]
}

#[test]
fn a_run_on_a_unix_socket_agrees_with_the_log_of_nginx() {
    // Method: both ways to name a socket. nginx logs the requests with their host, including those
    // before the load.
    let home = Home::new();
    let socket = home.join("x.sock");
    let nginx = Nginx::start(&home, &socket);
    let socket = socket.display().to_string();
    let url = format!("http://unix:{socket}:/a?b");
    for (words, host) in [
        (&[url.as_str()][..], "localhost"),
        (
            &["--unix-socket", &socket, "http://nowhere.invalid/a?b"],
            "nowhere.invalid",
        ),
    ] {
        fs::write(home.join("log"), "").unwrap();
        let fixed = ["-c", "4", "-n", "200", "--quiet", "--json", "-"];
        let ended = home.run_abx(&[&["run"][..], words, &fixed].concat());
        let record = ended.expect(0, &[]).json();
        assert_eq!(record["ok"], 200, "{words:?}");
        let subject = &record["subjects"][0];
        assert_eq!(subject["connected_to"], format!("unix:{socket}"));
        assert_eq!(accounted(&record), "nginx", "{words:?}");
        let logged = wait_for("the log", || {
            let log = fs::read_to_string(home.join("log")).unwrap();
            (log.lines().count() >= 203).then_some(log)
        });
        let expected = format!("{host} 200 /a?b");
        let matching = logged.lines().filter(|line| *line == expected);
        assert_eq!(matching.count(), 203, "{words:?}");
        assert_eq!(logged.lines().count(), 203, "{words:?}");
    }
    drop(nginx);
    home.run_abx(&["run", &url, "-n", "1"])
        .expect(2, &["did not respond"]);
}

#[test]
fn our_server_listens_on_a_unix_socket_in_every_model() {
    // Method: curl and abx request a page longer than a socket's buffer from each model. Each
    // server is killed, and the next one takes over the file that it leaves.
    let home = Home::new();
    let socket = home.join("x.sock");
    let path = socket.display().to_string();
    for words in [
        &["--model", "event"][..],
        &["--model", "thread"],
        &["--model", "thread-per-request"],
        &["--model", "hybrid"],
        &["--model", "prefork"],
        &["--model", "event", "--workers", "2"],
        &["--model", "null"],
    ] {
        let bytes = "400000";
        let server = Server::start_at(&socket, &[words, &["--page-bytes", bytes]].concat());
        assert_eq!(server.url, format!("http://unix:{path}:/"));
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "-o", "/dev/null"]);
        curl.args(["-w", "%{http_code} %{size_download}", "--unix-socket"]);
        let output = curl.args([&path, "http://localhost/"]).output().unwrap();
        let message = String::from_utf8(output.stdout).unwrap();
        assert_eq!(message, format!("200 {bytes}"), "{words:?}");
        let ended = home.run_abx(&["run", &server.url, "-c", "3", "-n", "60", "--json", "-"]);
        let record = ended.expect(0, &["unix:"]).json();
        assert_eq!(record["ok"], 60, "{words:?}");
        assert!(accounted(&record).is_string(), "{words:?}");
        if words.contains(&"--workers") {
            // After SIGKILL its workers would hold the socket for a moment.
            send(server.id(), Signal::Term);
            wait_for("the end of the supervisor", || {
                let connection = std::os::unix::net::UnixStream::connect(&socket);
                connection.is_err().then_some(())
            });
        }
    }
}

#[test]
fn servers_on_unix_sockets_are_compared() {
    // Method: two servers named on the command line, and the same in a study file.
    let home = Home::new();
    let sockets = ["a.sock", "b.sock"].map(|name| home.join(name));
    let servers = sockets
        .each_ref()
        .map(|socket| Server::start_at(socket, &[]));
    let [a, b] = servers.each_ref().map(|server| server.url.as_str());
    home.write(
        "s.toml",
        &format!(
            "[[subject]]\nname = \"a\"\naddress = \"{a}\"\n\
             [[subject]]\nname = \"b\"\naddress = \"{b}\"\n\
             [[load]]\nname = \"l\"\nconnections = 2\nrequests = [{{ path = \"/x\" }}]\n"
        ),
    );
    let (first, second) = (format!("a={a}"), format!("b={b}"));
    let fixed = [
        "--pilot", "brief", "--slice", "5ms", "--blocks", "2", "--rounds", "3",
    ];
    for words in [&[first.as_str(), &second, "-c", "2"][..], &["s.toml"]] {
        let words = [&["compare"][..], words, &fixed, &["--quiet", "--json", "-"]].concat();
        let ended = home.run_abx(&words);
        let record = ended.json();
        ended.expect_measured(&record);
        for subject in record["subjects"].as_array().unwrap() {
            let address = subject["connected_to"].as_str().unwrap();
            assert!(address.starts_with("unix:/"), "{address}");
        }
    }
}

#[test]
fn an_invalid_unix_socket_is_refused_with_a_remedy() {
    // Method: one wrong word each. Nothing is looked up or started.
    let home = Home::new();
    for (words, part) in [
        (&["run", "http://unix:x.sock:/"][..], "not an absolute path"),
        (&["run", "http://unix:/x.sock:a"], "does not begin with /"),
        (&["run", "http://unix:/nowhere.sock"], "did not respond"),
        (&["serve", "--listen", "x.sock"], "unix:/PATH"),
        (&["serve", "--listen", "unix:/x", "--port", "1"], "--port"),
    ] {
        home.run_abx(words).expect(2, &[part]);
    }
}
