//! Several subjects, several loads, and rates that depend on the capacity of subjects.

use serde_json::Value;

use crate::support::{Home, Server, read_json, subject};

/// The record of a short comparison.
fn compared(subjects: &[String], more: &[&str]) -> Value {
    messages_and_record(subjects, more).1
}

/// The messages and the record of a short comparison.
fn messages_and_record(subjects: &[String], more: &[&str]) -> (String, Value) {
    let home = Home::new();
    let mut words = vec!["compare"];
    words.extend(subjects.iter().map(String::as_str));
    words.extend([
        "--blocks", "1", "--rounds", "4", "--slice", "20ms", "--pilot", "brief", "--wait",
        "asleep", "--json", "-",
    ]);
    words.extend(more);
    let ended = home.run_abx(&words);
    let record = ended.json();
    assert_eq!(record["end"]["reason"], "blocks", "{ended:#?}");
    (ended.stderr, record)
}

fn two_subjects() -> Vec<String> {
    vec![subject("one", ""), subject("other", "")]
}

fn list<'a>(record: &'a Value, key: &str) -> &'a [Value] {
    record[key].as_array().expect("a list")
}

fn primary(record: &Value) -> Vec<&Value> {
    let values = list(record, "comparisons").iter();
    values.filter(|value| value["role"] == "primary").collect()
}

#[test]
fn eight_subjects_are_compared_ranked_and_checked_against_the_ceiling() {
    // Method: the same server eight times. Each is compared with the first, the ranking has every
    // pair, and the server of the ceiling, which does nothing, is not a subject.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let subjects: Vec<String> = names.iter().map(|name| subject(name, "")).collect();
    let record = compared(&subjects, &["-c", "2"]);
    assert_eq!(primary(&record).len(), 7);
    let ranking = &record["conclusions"]["rankings"][0];
    assert_eq!(list(ranking, "places").len(), 8);
    assert_eq!(list(ranking, "pairs").len(), 28);
    assert!(
        list(ranking, "places")
            .iter()
            .all(|value| value["worst"] == 8)
    );
    let ceiling = &record["conclusions"]["ceilings"][0];
    assert!(
        ceiling["throughput_per_s"].as_f64() > Some(0.0),
        "{ceiling}"
    );
    assert_eq!(list(&record, "subjects").len(), 8);
    assert_eq!(list(&record["conclusions"], "summaries").len(), 8);
    let block = &record["blocks"][0];
    assert_eq!(block["subjects"].as_object().unwrap().len(), 8);
}

#[test]
fn a_list_of_connections_is_a_sweep() {
    // Method: four numbers of connections. The sweep and the loads are in the order of the axis,
    // and the block has all loads. Without a ceiling nothing else is loaded.
    let record = compared(&two_subjects(), &["-c", "4,1,2,8", "--no-ceiling"]);
    let sweep = &record["conclusions"]["sweeps"][0];
    assert_eq!(sweep["axis"], "connections");
    assert_eq!(sweep["at"], serde_json::json!([1.0, 2.0, 4.0, 8.0]));
    for law in list(sweep, "scalability") {
        assert!(law["r2"].as_f64() >= Some(0.9), "{law}");
    }
    assert_eq!(list(&record["blocks"][0], "loads").len(), 4);
    let names = list(&record, "loads").iter().map(|load| &load["name"]);
    let names: Vec<&Value> = names.collect();
    assert_eq!(
        names,
        ["c1", "c2", "c4", "c8"],
        "tables are in the order of the curve"
    );
    assert_eq!(list(&record["conclusions"], "ceilings").len(), 0);
}

#[test]
fn shares_become_rates_of_the_slowest() {
    // Method: a server that takes 2 ms for each response serves fewer than 500 a second over one
    // connection; its shares are lower rates, in this order. Two pilots never have the same
    // results, so loads with the same results share a pilot.
    let subjects = [subject("quick", ""), subject("slow", "--delay 2ms")];
    let record = compared(&subjects, &["-r", "20%,40%", "-c", "1,2"]);
    let loads = list(&record, "loads");
    let names: Vec<&str> = loads
        .iter()
        .filter_map(|load| load["name"].as_str())
        .collect();
    assert_eq!(names, ["c1-r20pct", "c1-r40pct", "c2-r20pct", "c2-r40pct"]);
    assert_eq!(loads[0]["pilot"], loads[1]["pilot"]);
    assert_ne!(loads[0]["pilot"], loads[2]["pilot"]);
    let rate = |load: &Value| load["settings"]["arrivals"]["rate_per_s"].as_f64().unwrap();
    // Both are shares of one capacity, rounded to whole requests per second.
    assert!(rate(&loads[0]) > 0.0);
    assert!((2.0 * rate(&loads[0]) - rate(&loads[1])).abs() <= 2.0);
    assert!(rate(&loads[1]) < 250.0, "{}", rate(&loads[1]));
    assert_eq!(loads[1]["settings"]["share_of_slowest"], 0.4);
}

#[test]
fn an_objective_finds_its_own_rates() {
    // Method: an objective that a server of 5 ms meets up to its capacity. All rates of the grid
    // have the objective, and both subjects have a capacity, by short tries and by the only block.
    let subjects = [
        subject("one", "--delay 5ms"),
        subject("other", "--delay 5ms"),
    ];
    let slo = "p50<200ms,errors<50%";
    let (messages, record) = messages_and_record(&subjects, &["--slo", slo, "-c", "1"]);
    let tries = format!("{slo} was met in short tries by one up to about ");
    assert!(messages.contains(&tries), "{messages}");
    let capacities = list(&record["conclusions"], "capacities");
    assert_eq!(capacities.len(), 2);
    for capacity in capacities {
        let bounds = ["rate_per_s", "low", "high"].map(|key| capacity[key].is_number());
        assert!(bounds.contains(&true), "{capacity}");
    }
    let loads = list(&record, "loads");
    assert!(loads.len() >= 7, "{} rates", loads.len());
    for load in loads {
        assert_eq!(load["settings"]["objective"], slo);
    }
    assert_eq!(list(&record["conclusions"], "sweeps").len(), 0);
    let primary = primary(&record);
    assert!(
        primary.iter().all(|value| value["metric"] == "capacity"),
        "{primary:?}"
    );
}

/// Measures one server alone; returns its record and its report.
fn alone(server: &Server, words: &[&str]) -> (Value, String) {
    let home = Home::new();
    let run = ["run", &server.url, "--json", "record.json"];
    let ended = home.run_abx(&[&run[..], words].concat());
    let record = read_json(&home.join("record.json"));
    // Blocks that added further rates may be fewer than planned.
    let reason = record["end"]["reason"].as_str();
    assert!(matches!(reason, Some("blocks" | "budget")), "{ended:#?}");
    assert_eq!(list(&record, "comparisons").len(), 0);
    // On a busy machine the result may be void, and the record states that.
    let is_void = record["validity"]["status"] == "invalid";
    ended.expect(if is_void { 3 } else { 0 }, &["Record: ", "abx report"]);
    let again = home.run_abx(&["report", "last"]);
    assert_eq!(
        (again.stdout, again.status),
        (ended.stdout.clone(), ended.status)
    );
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    (record, words.join(" "))
}

#[test]
fn one_server_alone_has_a_curve_over_connections() {
    // Method: a server that takes 2 ms for each response has eight times the throughput over eight
    // connections as over one, so its highest throughput may need more connections.
    let server = Server::start(&["--delay", "2ms"]);
    let (record, report) = alone(&server, &["-c", "8,1", "-d", "2s"]);
    // Each load is measured for as long as requested, in six blocks.
    for load in list(&record, "loads") {
        let of_pilot = |key: &str| load["pilot"][key].as_u64().unwrap();
        let planned_ns = 6 * of_pilot("rounds") * of_pilot("slice_ns");
        assert!(planned_ns.abs_diff(2_000_000_000) < 100, "{load}");
    }
    let sweep = &record["conclusions"]["sweeps"][0];
    assert_eq!(sweep["at"], serde_json::json!([1.0, 8.0]));
    let knee = &list(sweep, "knees")[0];
    assert_eq!(knee["connections"], Value::Null);
    assert!(knee["highest_per_s"].as_f64() > Some(0.0), "{knee}");
    for part in [
        "c1 ",
        "c8 ",
        "with the most connections",
        "requests/s, from zero:",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(
        !report.contains("compared") && !report.contains("crossover"),
        "{report}"
    );
}

#[test]
fn one_server_alone_is_loaded_by_shares_of_its_capacity() {
    // Method: 20 % and 40 % of the capacity of a server that serves fewer than 500 a second.
    let server = Server::start(&["--delay", "2ms"]);
    let (record, report) = alone(&server, &["-r", "20%,40%", "-c", "1", "-d", "2s"]);
    let loads = list(&record, "loads");
    let rate = |load: &Value| load["settings"]["arrivals"]["rate_per_s"].as_f64().unwrap();
    assert!(
        rate(&loads[0]) > 0.0 && rate(&loads[1]) < 250.0,
        "{loads:?}"
    );
    assert!((2.0 * rate(&loads[0]) - rate(&loads[1])).abs() <= 2.0);
    assert!(report.contains("c1-r40pct"), "{report}");
}

#[test]
fn one_server_alone_has_a_capacity() {
    // Method: an objective that a server of 5 ms meets up to its capacity; every block continues
    // until one rate holds and another fails.
    let server = Server::start(&["--delay", "5ms"]);
    let slo = "p50<200ms,errors<50%";
    let (record, report) = alone(&server, &["--slo", slo, "-c", "1", "-d", "10s"]);
    let capacity = &list(&record["conclusions"], "capacities")[0];
    assert_eq!(capacity["objective"], slo);
    let [rate, held, missed] = ["rate_per_s", "held_per_s", "missed_per_s"]
        .map(|key| capacity[key].as_f64().expect("a rate"));
    assert!(held <= rate && rate <= missed, "{capacity}");
    assert!(report.contains(&format!("meets {slo} up to")), "{report}");
    assert!(report.contains("It holds in every block at"), "{report}");
}

#[test]
fn flags_for_one_load_are_refused_for_several() {
    // Method: a number of requests, stages, and a number of connections that is listed twice.
    let home = Home::new();
    let run = ["run", "http://127.0.0.1:1/", "-c", "1,2"];
    for (flags, message) in [(["-n", "9"], "-d"), (["--stages", "9@1s"], "slice")] {
        home.run_abx(&[&run[..], &flags].concat())
            .expect(2, &[message]);
    }
    for command in [["run", "http://127.0.0.1:1/"], ["compare", "--quiet"]] {
        home.run_abx(&[&command[..], &["-c", "5,5"]].concat())
            .expect(2, &["`c5`", "twice"]);
    }
}
