//! Services that a study file declares, and their placeholders in subjects.

use std::path::Path;
use std::time::Duration;

use abx_lab::study_file::{StudyFile, parse};
use abx_lab::{HealthCheck, ServiceRestart};

/// A cache in front of a database; one subject uses the cache, and one uses no service.
const GOOD: &str = r#"
[[service]]
name = "db"
command = ["./db", "{port}", "{port.admin}"]
ports = ["admin"]
ready = { check = ["./ping", "{port.admin}"], within = "9s" }
seed = ["./fill", "{dir}"]
seed_within = "7s"
[[service]]
name = "cache"
command = ["./cache", "{port}", "{service.db.port.admin}"]
ready = { path = "/up", status = 204 }
restart = "block"
[[subject]]
name = "cached"
command = ["./s", "{port}", "{service.cache.port}"]
[[subject]]
name = "plain"
command = ["./s", "{port}"]
[[load]]
name = "page"
requests = [{ path = "/" }]
"#;

fn parsed(text: &str) -> Result<StudyFile, String> {
    let read = parse(text, Path::new("study.toml"), &|_| Ok(String::new()));
    read.map_err(|error| error.to_string())
}

#[test]
fn a_service_has_the_values_of_its_table() {
    // Method: every key of services, and their defaults.
    let study = parsed(GOOD).unwrap();
    let [db, cache] = &study.services[..] else {
        panic!("{:?}", study.services)
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let ping = HealthCheck::Command(words(&["./ping", "{port.admin}"]));
    assert_eq!((&db.health, db.restart), (&ping, ServiceRestart::Study));
    let seed = db.seed.as_ref().unwrap();
    assert_eq!(seed.command, ["./fill", "{dir}"]);
    assert_eq!(seed.within, Duration::from_secs(7));
    assert_eq!(db.launch().ready.within, Duration::from_secs(9));
    assert_eq!(cache.health, HealthCheck::Request);
    assert_eq!(cache.restart, ServiceRestart::Block);
    assert_eq!(cache.launch().ready.status, Some(204));
    assert!(cache.seed.is_none());
}

#[test]
fn services_that_no_subject_needs_any_more_are_left_out() {
    // Method: only the subject that uses the cache, which uses the database; then only the other.
    let names = |subject: &str| -> Vec<String> {
        let mut study = parsed(GOOD).unwrap();
        study.keep_subjects(&[subject.to_owned()]).unwrap();
        study
            .services
            .into_iter()
            .map(|service| service.name)
            .collect()
    };
    assert_eq!(names("cached"), ["db", "cache"]);
    assert_eq!(names("plain"), [""; 0]);
}

#[test]
fn mistakes_in_services_are_refused_with_their_remedies() {
    // Method: one replacement in the good file for each mistake.
    for (right, wrong, message) in [
        (
            "{service.cache.port}",
            "x",
            "2: service \"db\": no subject uses it: write {service.db.port}",
        ),
        (
            "{service.cache.port}",
            "{service.cash.port}",
            "unknown placeholder {service.cash.port}; did you mean",
        ),
        (
            "{service.db.port.admin}",
            "{service.cache.port}",
            "unknown placeholder {service.cache.port}",
        ),
        (
            "\"plain\"",
            "\"db\"",
            "the name `db` is taken by the subject in line 17",
        ),
        (
            "name = \"cache\"",
            "name = \"db\"",
            "the name `db` is taken by the service in line 2",
        ),
        ("status = 204", "check = [\"x\"]", "both `check` and `path`"),
        ("path = \"/up\", ", "", "`status` is that of a request"),
        (
            "seed = [\"./fill\", \"{dir}\"]",
            "",
            "`seed_within` is for `seed`",
        ),
        (
            "restart = \"block\"",
            "restart = \"blocks\"",
            "did you mean `block`?",
        ),
        (
            "restart = \"block\"",
            "from = { stand_in_for = \"x\" }",
            "is only for subjects",
        ),
        (
            "[\"./cache\", \"{port}\"",
            "[\"./cache\"",
            "no {port} in the command",
        ),
        (
            "[\"admin\"]",
            "[\"admin\", \"admin\"]",
            "the name `admin` is taken",
        ),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = parsed(&GOOD.replacen(right, wrong, 1)).unwrap_err();
        assert!(error.contains(message), "{message}: {error}");
    }
}
