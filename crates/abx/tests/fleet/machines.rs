//! Three machines as far as networks are concerned: each agent runs in its own network namespace,
//! behind a link that can be cut.

use std::fs;

use crate::support::{ABX, Home, findings, read_json};

/// Three namespaces with an agent each, linked to the one with the bus and the server. `cut N
/// SECONDS` waits for load on the link of one agent and takes the link down for this time.
const MACHINES: &str = r#"
mount -t tmpfs none /run
mkdir /run/netns
ip link set lo up
ip address add 10.77.0.1/32 dev lo
all=""
finish() { kill $all 2>/dev/null || true; wait; }
trap finish EXIT
listens() {
    until grep -q "01004D0A:$1 00000000:0000 0A" /proc/net/tcp; do
        kill -0 $2
        sleep 0.02
    done
}
nats-server --addr 10.77.0.1 --port 4222 >nats.log 2>&1 &
all="$!"
listens 107E $!
nginx -p "$PWD" -c "$PWD/nginx.conf" 2>nginx.log &
all="$all $!"
listens 1F90 $!
for k in 1 2 3; do
    ip netns add m$k
    ip link add v$k type veth peer name far netns m$k
    ip address add 10.77.$k.1/30 dev v$k
    ip link set v$k up
    ip -n m$k address add 10.77.$k.2/30 dev far
    ip -n m$k link set far up
    ip -n m$k route add default via 10.77.$k.1
    nsenter --net=/run/netns/m$k abx agent --bus nats://10.77.0.1:4222 \
        --allow-target 10.77.0.1 --name m$k --slot $k -t 1 >said.$k 2>&1 &
    all="$all $!"
done
cut() {
    until [ "$(awk -v link="v$1:" '$1 == link { print $2 }' /proc/net/dev)" -gt 200000 ]; do
        kill -0 $load
        sleep 0.02
    done
    ip link set v$1 down
    sleep $2
    ip link set v$1 up
    echo cut >was.cut
}
"#;

/// The configuration of an nginx that logs each request.
const SERVER: &str = "daemon off; user root; pid FOLDER/pid; error_log FOLDER/error.log; \
    events {} http { access_log FOLDER/access.log; keepalive_requests 1000000; \
    client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy; \
    fastcgi_temp_path FOLDER/fastcgi; uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi; \
    server { listen 10.77.0.1:8080; location / { return 200 hello; } } }";

#[test]
fn a_short_network_interruption_loses_nothing() {
    // Method: 30,000 requests by agents in three network namespaces, and the link of the second one
    // is down for 1.3 s once it carries load. No agent is lost, and the server has logged as many
    // requests as the record has.
    let home = Home::new();
    fs::create_dir(home.join("bin")).unwrap();
    std::os::unix::fs::symlink(ABX, home.join("bin/abx")).unwrap();
    home.write(
        "nginx.conf",
        &SERVER.replace("FOLDER", &home.path().display().to_string()),
    );
    let script = format!(
        "{MACHINES}
abx run http://10.77.0.1:8080/ -n 30000 -c 9 --think 1ms --bus nats://10.77.0.1:4222 \
    --agents 3 --json record.json --quiet >report 2>said &
load=$!
cut 2 1.3
wait $load || {{ cat said said.*; exit 1; }}
"
    );
    let ended = home.run(&mut home.shell_apart("nm", &script));
    ended.expect(0, &[]);
    assert!(home.join("was.cut").exists());
    let record = read_json(&home.join("record.json"));
    assert_eq!(record["ok"], 30_000, "{ended:#?}");
    assert_eq!(record["sent"], 30_000);
    let agents = record["fleet"]["agents"].as_array().unwrap();
    let names: Vec<&str> = agents
        .iter()
        .map(|agent| agent["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["m1", "m2", "m3"]);
    for agent in agents {
        assert_eq!(agent["is_here"], false, "{agent}");
        assert_eq!(agent["slices"], 1, "{agent}");
        assert!(agent["lost"].is_null(), "{agent}");
    }
    assert!(findings(&record, "agent_lost").is_empty());
    let logged = fs::read_to_string(home.join("access.log")).unwrap();
    // The requests that verify the server's responses before the load are in it too.
    assert!((30_000..30_010).contains(&logged.lines().count()));
}
