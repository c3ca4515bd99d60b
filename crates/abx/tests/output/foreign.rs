//! Servers that are not ours.

use crate::support::{Home, assert_honest, findings, slices};

#[test]
fn nginx_and_lighttpd_are_compared() {
    // Method: both serve one file, each by a command that gets its port in its own way. After each
    // block the port must be free again: a remaining worker would hold it.
    let home = Home::new();
    home.write("index.html", "the same file for both\n");
    let folder = home.path().display();
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path DIR/{name};"))
        .join(" ");
    home.write(
        "nginx.conf",
        &format!(
            "daemon off; pid DIR/pid; events {{}} http {{ {paths} access_log off; \
             server {{ listen 127.0.0.1:PORT; root {folder}; }} }}"
        ),
    );
    // nginx does not allow variables at this place of its configuration.
    let nginx = "nginx=sh -c 'sed \"s:PORT:{port}:; s:DIR:{dir}:g\" nginx.conf >{dir}/conf; \
                 exec nginx -p {dir} -e stderr -c {dir}/conf' {port}";
    let configuration = home.write(
        "lighttpd.conf",
        &format!(
            "server.document-root = \"{folder}\"\nserver.bind = \"127.0.0.1\"\n\
             server.port = env.PORT\nindex-file.names = ( \"index.html\" )\n"
        ),
    );
    let lighttpd = format!("lighttpd=env PORT={{port}} lighttpd -D -f {configuration}");
    let ended = home.run_abx(&[
        "compare", nginx, &lighttpd, "--blocks", "2", "--rounds", "4", "--slice", "20ms",
        "--pilot", "brief", "--json", "-",
    ]);
    let record = ended.json();
    ended.expect_measured(&record);
    for name in ["nginx", "lighttpd"] {
        let slices = slices(&record, name);
        assert!(!slices.is_empty());
        slices.iter().for_each(assert_honest);
        for block in record["blocks"].as_array().unwrap() {
            let subject = &block["subjects"][name];
            let end = subject["end"].as_str().unwrap();
            assert!(end.contains("when told"), "{name}: {end}");
            assert!(subject["port"].as_u64() >= Some(10_000), "{subject}");
        }
    }
    assert!(
        findings(&record, "failed_requests").is_empty(),
        "{ended:#?}"
    );
}

#[test]
fn a_server_that_cannot_start_is_quoted() {
    // Method: lighttpd without its configuration, and nginx with a wrong word in it.
    let home = Home::new();
    let good = crate::support::subject("good", "");
    home.run_abx(&["compare", &good, "lighttpd=lighttpd -D -f missing-{port}"])
        .expect(3, &["lighttpd ended before it was ready", "missing-"]);
    let nginx = "nginx=nginx -p {dir} -e stderr -c /dev/null -g 'daemon off; lisssten {port};'";
    home.run_abx(&["compare", &good, nginx])
        .expect(3, &["nginx ended before it was ready", "lisssten"]);
}
