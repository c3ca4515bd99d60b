//! Targets of agents: servers over IPv4 and IPv6, and loads for one machine only, which are refused
//! by name before anything is sent.

use crate::fleet::agents::{Agent, Bus, fleet_of};
use crate::run::requests::Listener;
use crate::support::{Home, Server};

/// Two agents that may load this machine over IPv4 and IPv6.
fn agents(bus: &Bus) -> [Agent; 2] {
    ["a", "b"].map(|name| {
        let words = format!("--allow-target 127.0.0.1 --allow-target ::1 --name {name} -t 1");
        Agent::start(bus, &words)
    })
}

fn named(name: &str, url: &str) -> String {
    format!("{name}={url}")
}

#[test]
fn agents_load_servers_over_ipv4_and_ipv6() {
    // Method: the same number of requests to ::1 and 127.0.0.1, and a comparison of the two.
    // A machine without IPv6 skips the test.
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let bus = Bus::start();
    let _agents = agents(&bus);
    let servers = ["::1", "127.0.0.1"].map(|address| Server::start(&["--address", address]));
    let by_agents = ["--agents", "2", "--bus", &bus.url, "--json", "-"];
    for server in &servers {
        let home = Home::new();
        let run = ["run", &server.url, "-n", "101", "-c", "3", "--quiet"];
        let record = home.run_abx(&[&run[..], &by_agents].concat());
        let record = record.expect(0, &[]).json();
        assert_eq!(record["ok"], 101, "{}", server.url);
        assert_eq!(fleet_of(&record).len(), 2);
    }
    let home = Home::new();
    let [first, second] = servers.each_ref().map(|server| server.url.as_str());
    let compare = "-c 2 --slice 50ms --blocks 2 --pilot brief --quiet";
    let words = [
        &["compare", first, second][..],
        &compare.split(' ').collect::<Vec<_>>(),
    ];
    let ended = home.run_abx(&[words.concat(), by_agents.to_vec()].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    for agent in record["fleet"]["agents"].as_array().unwrap() {
        assert!(agent["slices"].as_u64().unwrap() >= 4, "{agent}");
    }
}

#[test]
fn an_agent_for_ipv4_alone_refuses_an_address_of_ipv6() {
    // Method: agents for networks of one kind only, and servers of the other kind.
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    for (allowed, address) in [("127.0.0.0/8", "::1"), ("::/0", "127.0.0.1")] {
        let server = Server::start(&["--address", address]);
        let bus = Bus::start();
        let _agent = Agent::start(&bus, &format!("--allow-target {allowed} --name one"));
        let home = Home::new();
        let run = [
            "run",
            &server.url,
            "-n",
            "10",
            "--agents",
            "1",
            "--bus",
            &bus.url,
        ];
        let message = format!("{address} is not among the targets");
        let ended = home.run_abx(&run);
        ended.expect(3, &["agent one (1 of 1) refuses: ", &message]);
    }
}

#[test]
fn a_unix_socket_is_not_loaded_by_agents() {
    // Method: a server on a Unix socket, loaded and compared with itself.
    let home = Home::new();
    let socket = home.join("x.sock");
    let server = Server::start_at(&socket, &[]);
    let url = format!("http://unix:{}:/", socket.display());
    let bus = Bus::start();
    let _agents = agents(&bus);
    for words in [
        &["run", &url, "-n", "10"][..],
        &["compare", &named("a", &url), &named("b", &url), "-c", "2"],
    ] {
        let by_agents = ["--agents", "2", "--bus", &bus.url];
        let ended = home.run_abx(&[words, &by_agents].concat());
        ended.expect(
            3,
            &[
                "is a local socket",
                "make the server listen on an IP address",
            ],
        );
    }
    drop(server);
}

#[test]
fn agents_do_not_replay_access_logs() {
    // Method: a log of one line, by `run` and by `compare`: both flags are named.
    let home = Home::new();
    let line = "127.0.0.1 - - [10/Oct/2000:13:55:05 -0700] \"GET /logged HTTP/1.1\" 200 87\n";
    home.write("access.log", line);
    let server = Listener::start();
    let bus = Bus::start();
    let _agents = agents(&bus);
    for command in [
        &["run", &server.url][..],
        &[
            "compare",
            &named("a", &server.url),
            &named("b", &server.url),
        ],
    ] {
        let replay = ["--replay", "access.log", "-c", "2"];
        let by_agents = ["--agents", "2", "--bus", &bus.url];
        let ended = home.run_abx(&[command, &replay, &by_agents].concat());
        ended.expect(
            3,
            &[
                "agents do not replay an access log",
                "`--bus` or `--replay`",
            ],
        );
    }
}
