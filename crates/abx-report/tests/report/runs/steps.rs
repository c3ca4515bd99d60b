//! The steps of a scenario in the report of a run.

use std::collections::BTreeMap;

use abx_evidence::LoadShape;
use abx_evidence::record::{RequestSettings, ScenarioSettings};
use abx_report::{RecordPlace, ReportExtent, Style, study_html, study_text};
use abx_verdict::{StepSummary, StudyRecord};
use insta::assert_snapshot;

use crate::support::{figures, run, times};

/// A run of a login and the request after it, with some failed logins.
fn record() -> StudyRecord {
    let mut record = run();
    let settings = &mut record.measured.loads[0].settings;
    settings.exchange.shape = LoadShape::Scenario;
    settings.scenario = Some(ScenarioSettings {
        file: "<log>&.toml".to_owned(),
        sha256: "aa".to_owned(),
        steps: ["login", "home"].map(str::to_owned).into(),
    });
    let usual = settings.requests[0].clone();
    let request = |method: &str, path: &str| RequestSettings {
        method: method.to_owned(),
        path: path.to_owned(),
        ..usual.clone()
    };
    settings.requests = vec![request("POST", "/login"), request("GET", "/home?{token}")];
    let step = |name: &str, begun, failed: &[(&str, u64)], us| StepSummary {
        name: name.to_owned(),
        begun,
        resent: 0,
        ok: begun - failed.iter().map(|(_, times)| times).sum::<u64>(),
        failed: { failed.iter() }
            .map(|(reason, times)| ((*reason).to_owned(), *times))
            .collect::<BTreeMap<_, _>>(),
        first_failure: { failed.first() }.map(|(reason, _)| format!("session 7: {reason}")),
        response_time_us: times(us),
    };
    figures(&mut record).steps = vec![
        step(
            "login",
            1_200,
            &[("missing_value", 2), ("wrong_status", 1)],
            730,
        ),
        StepSummary {
            resent: 4,
            ..step("home", 1_197, &[], 210)
        },
    ];
    record
}

#[test]
fn a_run_shows_each_step_of_its_sessions() {
    // Method: the brief report of a run with failures in its first step.
    let text = study_text(&record(), ReportExtent::Brief, &Style::plain());
    assert_snapshot!(text);
}

#[test]
fn the_page_of_a_run_has_its_steps_and_no_markup_of_their_names() {
    // Method: the page of the run, whose scenario file has a name with markup.
    let page = study_html(&record(), &[], RecordPlace::default()).replace('\u{a0}', " ");
    for part in [
        "<caption>Response time by step</caption>",
        "<caption>Each step</caption>",
        "login failed: missing_value 2, wrong_status 1. One of them: session 7: missing_value.",
        "4 requests were sent again",
        "of &lt;log&gt;&amp;.toml",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<log>"));
}

#[test]
fn steps_without_a_response_have_no_picture() {
    // Method: sessions began, but no step had a response.
    let mut record = record();
    for step in &mut figures(&mut record).steps {
        step.response_time_us = Default::default();
    }
    let page = study_html(&record, &[], RecordPlace::default());
    assert!(!page.contains("Response time by step"), "{page}");
    assert!(page.contains("<caption>Each step</caption>"), "{page}");
}
