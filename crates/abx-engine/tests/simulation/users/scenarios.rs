//! Users with sessions over the simulated network: carried values, pauses, failures, and counts
//! that add up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abx_engine::schedule::ScheduleShare;
use abx_engine::testing::{
    Io, ScenarioPlan, ScenarioPool, ScenarioRunner, SliceParticipants, WorkerSlice,
};
use abx_engine::{
    Extraction, LoadPlan, ScenarioScript, ScenarioStep, ScenarioTally, ScenarioUsers, SliceEnd,
    Stopper, TextTemplate, ThinkTime, ValueSource,
};
use abx_evidence::{CoursePlan, Outcome, Shape};
use abx_sys::Nanos;
use abx_twin::{Network, PeerStep, Sim};
use abx_wire::http1::{Persistence, Request, Version};

use crate::loads::{MS, SECOND};

/// The number of the value that steps extract.
const TOKEN: usize = 2;

fn text(text: &str) -> TextTemplate {
    let number = |name: &str| {
        ["user", "session", "token"]
            .iter()
            .position(|value| *value == name)
    };
    TextTemplate::parse(text, number).unwrap()
}

fn step(name: &str, method: &str, path: &str) -> ScenarioStep {
    ScenarioStep {
        name: name.to_owned(),
        method: method.to_owned(),
        path: text(path),
        headers: Vec::new(),
        body: text(""),
        status: 200_u16.into(),
        think: None,
        extract: Vec::new(),
    }
}

/// A login whose response has a token in JSON, and a request with that token.
fn steps() -> Vec<ScenarioStep> {
    vec![
        ScenarioStep {
            body: text("{\"name\":\"u{user}\"}"),
            extract: vec![Extraction {
                value: TOKEN,
                name: "token".to_owned(),
                source: ValueSource::Json("/data/token".to_owned()),
                after: String::new(),
                before: String::new(),
            }],
            ..step("login", "POST", "/login")
        },
        ScenarioStep {
            headers: vec![("Authorization".to_owned(), text("Bearer {token}"))],
            ..step("items", "GET", "/items/{token}")
        },
    ]
}

pub(crate) fn plan(users: u32, end: SliceEnd) -> ScenarioPlan {
    ScenarioPlan {
        address: Sim::ADDRESS.into(),
        tls: None,
        sources: Vec::new(),
        host: "a".to_owned(),
        users,
        end,
        values: vec![None; 3],
        steps: steps(),
        keeps_cookies: false,
        body_max: 1000,
        timeout: Nanos(SECOND),
        seed: 1,
    }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let request = Request {
        method: method.to_owned(),
        target: path.to_owned(),
        host: "a".to_owned(),
        headers: headers.collect(),
        body: body.as_bytes().to_vec(),
        version: Version::Http11,
        connection: Persistence::KeepAlive,
    };
    request.encode().unwrap()
}

fn response(status: u16, body: &str) -> Arc<[u8]> {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Arc::from((head + body).as_bytes())
}

/// The peer's responses to both requests, if it gives this token to every user.
fn choices(token: &str) -> PeerStep {
    let login = |user| request("POST", "/login", &[], &format!("{{\"name\":\"u{user}\"}}"));
    let bearer = format!("Bearer {token}");
    let items = request(
        "GET",
        &format!("/items/{token}"),
        &[("Authorization", &bearer)],
        "",
    );
    let granted = response(200, &format!("{{\"data\":{{\"token\":\"{token}\"}}}}"));
    let mut choices: Vec<_> = (0..5)
        .map(|user| (login(user), Arc::clone(&granted)))
        .collect();
    choices.push((items, response(200, "[]")));
    PeerStep::Choose(Arc::from(choices))
}

/// The tally of a load on a peer whose steps `script` gives for each connection, and how long the
/// load took.
fn ran(
    network: Network,
    plan: &ScenarioPlan,
    script: impl Fn(usize) -> Vec<PeerStep> + Send + Sync + 'static,
) -> (ScenarioTally, Nanos) {
    let sim = Sim::new(network, Box::new(script));
    let next = AtomicU64::new(1);
    let ran = ScenarioRunner::new(sim, plan, &next).run(&Stopper::default());
    assert_adds_up(&ran.0);
    ran
}

/// Asserts that every session and step that began has ended, and that steps ran in order.
fn assert_adds_up(tally: &ScenarioTally) {
    let sessions = tally.sessions;
    let ended = sessions.completed + sessions.failed + sessions.cut_off;
    assert_eq!(sessions.begun, ended, "{sessions:?}");
    let mut failed = 0;
    let mut before = sessions.begun;
    for step in &tally.steps {
        let failures: u64 = step.failed.values().sum();
        assert_eq!(step.begun, step.ok + failures + step.cut_off, "{step:?}");
        assert!(step.begun <= before, "{step:?}");
        assert!(step.sent >= step.ok, "{step:?}");
        (failed, before) = (failed + failures, step.ok);
    }
    assert_eq!((sessions.failed, sessions.completed), (failed, before));
}

#[test]
fn a_value_goes_from_one_response_into_the_next_request() {
    // Method: a peer that gives a different token on each connection, and responds only to requests
    // with that token. Each session has a separate connection, so 6 sessions of 2 users use 6.
    let plan = plan(2, SliceEnd::AfterRequests(6));
    let script = |connection: usize| vec![choices(&format!("t-{connection}")), PeerStep::Again];
    let (tally, _) = ran(Network::faultless(1), &plan, script);
    assert_eq!((tally.sessions.completed, tally.connections), (6, 6));
    for step in &tally.steps {
        assert_eq!((step.begun, step.sent, step.ok), (6, 6, 6));
    }
}

#[test]
fn pauses_are_in_the_time_of_a_load_and_in_no_steps() {
    // Method: 40 sessions one after the other, each with a connect, a pause of 30 ms, one of 10 to
    // 20 ms, and two responses, over a network with a round trip of 50 us.
    let mut plan = plan(1, SliceEnd::AfterRequests(40));
    let pause = |least, most| {
        Some(ThinkTime {
            least: Nanos(least * MS),
            most: Nanos(most * MS),
        })
    };
    (plan.steps[0].think, plan.steps[1].think) = (pause(30, 30), pause(10, 20));
    let script = |_: usize| vec![choices("t"), PeerStep::Again];
    let (tally, took) = ran(Network::faultless(1), &plan, script);
    let session_us = took.0 / 40_000;
    assert!((42_000..48_000).contains(&session_us), "{session_us}");
    assert_eq!(tally.steps[0].response.max_us(), Some(100));
    assert_eq!(tally.steps[1].response.max_us(), Some(50));
}

#[test]
fn a_failed_step_ends_its_session_with_a_reason() {
    // Method: a login without a token, one with too large a body, one with a wrong status, and a
    // correct login whose second step gets status 500.
    let login = || request("POST", "/login", &[], "{\"name\":\"u0\"}");
    let items = || request("GET", "/items/t", &[("Authorization", "Bearer t")], "");
    let choices = |first: Arc<[u8]>| vec![(login(), first), (items(), response(500, "oh"))];
    let token = r#"{"data":{"token":"t"}}"#;
    for (first, step, name, sentence) in [
        (
            response(200, r#"{"data":{}}"#),
            0,
            "missing_value",
            "session 1: no value for `token`: JSON at \"/data/token\"",
        ),
        (
            response(200, &"x".repeat(1001)),
            0,
            "body_too_large",
            "session 1: a body of more than 1000 bytes",
        ),
        (
            response(302, token),
            0,
            "wrong_status",
            "session 1: status 302 instead of 200",
        ),
        (
            response(200, token),
            1,
            "wrong_status",
            "session 1: status 500 instead of 200",
        ),
    ] {
        let plan = plan(1, SliceEnd::AfterRequests(3));
        let choose = PeerStep::Choose(Arc::from(choices(first)));
        let script = move |_: usize| vec![choose.clone(), PeerStep::Again];
        let (tally, _) = ran(Network::faultless(1), &plan, script);
        assert_eq!((tally.sessions.failed, tally.connections), (3, 3));
        let failed = &tally.steps[step];
        assert_eq!(failed.failed.get(name), Some(&3), "{failed:?}");
        assert_eq!(failed.first_failure.as_deref(), Some(sentence));
        // The time of a complete response counts, whether it is correct or not.
        assert_eq!(failed.response.count(), 3);
    }
}

#[test]
fn a_user_without_a_response_rests_before_the_next_session() {
    // Method: a second of refusals, of resets, and of a silent peer with a timeout of 300 ms. The
    // counts follow from rests of 100 ms.
    let reset = |_: usize| vec![PeerStep::Await(10), PeerStep::Reset];
    let silent = |_: usize| vec![PeerStep::Await(1_000_000)];
    let mut refusing = Network::faultless(1);
    refusing.faults.refused = 1000;
    let mut plan = plan(1, SliceEnd::AfterNs(SECOND));
    plan.timeout = Nanos(300 * MS);
    let failures = |network, script: fn(usize) -> Vec<PeerStep>| {
        let (tally, elapsed) = ran(network, &plan, script);
        assert_eq!(tally.sessions.completed, 0);
        let step = &tally.steps[0];
        (step.failed.clone(), step.response_at_least.count(), elapsed)
    };
    let (refused, _, _) = failures(refusing, silent);
    assert_eq!(refused.get("refused"), Some(&10), "{refused:?}");
    let (lost, bounds, _) = failures(Network::faultless(1), reset);
    assert_eq!((lost.get("reset"), bounds), (Some(&10), 0), "{lost:?}");
    let (late, bounds, elapsed) = failures(Network::faultless(1), silent);
    // Sent at 0, 0.4 and 0.8 s; the last one is awaited beyond the end.
    assert_eq!((late.get("timeout"), bounds), (Some(&3), 3), "{late:?}");
    assert!(
        elapsed >= Nanos(1_100 * MS) && elapsed < Nanos(1_150 * MS),
        "{elapsed:?}"
    );
}

#[test]
fn a_connection_closed_while_idle_is_made_again() {
    // Method: a peer that closes after each response. With a pause the close is known before the
    // next request. Without a pause it crosses with the request, which is sent again if it is safe.
    let script = |_: usize| vec![choices("t"), PeerStep::Close];
    let mut rested = plan(1, SliceEnd::AfterRequests(5));
    rested.steps[1].think = Some(ThinkTime {
        least: Nanos(MS),
        most: Nanos(MS),
    });
    let (tally, _) = ran(Network::faultless(1), &rested, script);
    assert_eq!((tally.sessions.completed, tally.connections), (5, 10));
    assert_eq!((tally.steps[1].sent, tally.steps[1].resent), (5, 0));
    let (tally, _) = ran(
        Network::faultless(1),
        &plan(1, SliceEnd::AfterRequests(5)),
        script,
    );
    assert_eq!(tally.sessions.completed, 5);
    let items = &tally.steps[1];
    assert_eq!((items.sent, items.resent), (5 + items.resent, items.resent));
}

#[test]
fn every_session_is_accounted_for_on_any_network() {
    // Method: 5 users for a second over networks of 200 seeds that refuse connections, cut sends
    // short, split responses, reset, close and are slow. `ran` checks that counts add up.
    let (mut completed, mut failed, mut cut_off) = (0, 0, 0);
    for seed in 0..200 {
        let mut network = Network::faultless(seed);
        let faults = &mut network.faults;
        (faults.refused, faults.short_send, faults.split) = (50, 300, 300);
        (faults.reset, faults.idle_close, faults.slow) = (50, 50, 20);
        let mut plan = plan(5, SliceEnd::AfterNs(SECOND));
        plan.seed = seed;
        plan.timeout = Nanos(200 * MS);
        plan.steps[1].think = Some(ThinkTime {
            least: Nanos(MS),
            most: Nanos(40 * MS),
        });
        let script = |_: usize| vec![choices("t"), PeerStep::Again];
        let (tally, elapsed) = ran(network, &plan, script);
        assert!(
            elapsed < Nanos(SECOND + 250 * MS),
            "seed {seed}: {elapsed:?}"
        );
        completed += tally.sessions.completed;
        failed += tally.sessions.failed;
        cut_off += tally.sessions.cut_off;
    }
    assert!(completed > 0 && failed > 0 && cut_off > 0);
}

/// Two users of a pool with this plan; their first session has the number 7.
fn users_of(plan: ScenarioPlan) -> (ScenarioUsers, LoadPlan) {
    let script = ScenarioScript {
        values: plan.values,
        steps: plan.steps,
        keeps_cookies: false,
        body_max: 1000,
        next_session: Arc::new(AtomicU64::new(7)),
    };
    let load = LoadPlan {
        requests: Vec::new(),
        shape: Shape::Scenario,
        ..crate::loads::plan(2, b"", 1)
    };
    let script = Arc::new(script);
    let host = "a".to_owned();
    (ScenarioUsers { script, host }, load)
}

#[test]
fn slices_count_whole_sessions_and_users_continue_in_the_next_slice() {
    // Method: users whose sessions take 20.15 ms, which includes a pause of 20 ms, in two slices of
    // one pool, without the first tenth of each. The time per session is exactly that.
    let mut plan = plan(2, SliceEnd::AfterRequests(0));
    plan.steps[1].think = Some(ThinkTime {
        least: Nanos(20 * MS),
        most: Nanos(20 * MS),
    });
    let (scenario, load) = users_of(plan);
    let script = |_: usize| vec![choices("t"), PeerStep::Again];
    let sim = Sim::new(Network::faultless(1), Box::new(script));
    let mut pool = ScenarioPool::new(sim, load, &scenario, (0, 2));
    for _ in 0..2 {
        let start = pool.now();
        let slice = WorkerSlice {
            start,
            end: start.plus(Nanos(SECOND)),
            counted_from: start.plus(Nanos(SECOND / 10)),
            requests_max: u64::MAX,
            share: ScheduleShare::WHOLE,
            course: None,
        };
        let ran = pool.run(slice, SliceParticipants::alone(), &Arc::default());
        assert!(!ran.stopped_responding);
        assert!(ran.end < slice.end.plus(Nanos(60 * MS)), "{ran:?}");
        let tally = pool.tally();
        assert_eq!(tally.outcomes.failed() + tally.discarded.failed(), 0);
        assert_eq!(tally.outcomes.count(Outcome::Unfinished), 0);
        let session_ns = tally.connection_ns / tally.clocked;
        assert!(session_ns.abs_diff(20_150_000) < 10_000, "{session_ns}");
        assert_eq!(tally.times.response.max_us(), Some(150));
        assert_eq!(tally.times.steps.len(), 2);
        let counted = tally.outcomes.ok();
        assert!((80..=92).contains(&counted), "{counted}");
        for step in &tally.times.steps {
            assert_eq!((step.ok, step.response.count()), (counted, counted));
        }
    }
}

#[test]
fn a_slice_of_a_number_of_sessions_counts_each_of_them() {
    // Method: 7 sessions of two users that take 20.15 ms each, with a course in intervals of 10 ms.
    let mut base = plan(2, SliceEnd::AfterRequests(0));
    base.steps[1].think = Some(ThinkTime {
        least: Nanos(20 * MS),
        most: Nanos(20 * MS),
    });
    let (scenario, load) = users_of(base);
    let script = |_: usize| vec![choices("t"), PeerStep::Again];
    let sim = Sim::new(Network::faultless(1), Box::new(script));
    let mut pool = ScenarioPool::new(sim, load, &scenario, (0, 2));
    let start = pool.now();
    let slice = WorkerSlice {
        start,
        end: Nanos::MAX,
        counted_from: start,
        requests_max: 7,
        share: ScheduleShare::WHOLE,
        course: Some(CoursePlan {
            interval_ns: 10 * MS,
            is_told: false,
        }),
    };
    let ran = pool.run(slice, SliceParticipants::alone(), &Arc::default());
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (7, 7));
    assert_eq!((tally.clocked, tally.clocks), (7, 2));
    // One user makes four sessions, the other three.
    assert_eq!(tally.connection_ns, 7 * 20_150_000);
    assert_eq!(ran.end.since(start), Nanos(4 * 20_150_000));
    let course = tally.course.as_ref().unwrap().finish();
    assert_eq!(course.ok, [0, 0, 2, 0, 2, 0, 2, 0, 1]);
    assert_eq!(scenario.script.next_session.load(Ordering::Relaxed), 14);
}

#[test]
fn a_slice_ends_when_no_user_has_a_response_any_more() {
    // Method: a peer that closes every connection without sending a byte.
    let base = plan(2, SliceEnd::AfterRequests(0));
    let (scenario, load) = users_of(base);
    let sim = Sim::new(Network::faultless(1), Box::new(|_| vec![PeerStep::Close]));
    let mut pool = ScenarioPool::new(sim, load, &scenario, (0, 2));
    let start = pool.now();
    let slice = WorkerSlice {
        start,
        end: start.plus(Nanos(100 * SECOND)),
        counted_from: start,
        requests_max: u64::MAX,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    let ran = pool.run(slice, SliceParticipants::alone(), &Arc::default());
    assert!(ran.stopped_responding);
    assert!(ran.end < start.plus(Nanos(2 * SECOND)), "{ran:?}");
    assert_eq!(pool.tally().outcomes.ok(), 0);
}

/// A peer that responds on its first connection with `begins` and then endlessly with `piece`, and
/// serves the other connections.
fn endless(begins: &'static str, piece: &'static str) -> impl Fn(usize) -> Vec<PeerStep> {
    move |connection| match connection {
        0 => vec![
            PeerStep::Await(10),
            PeerStep::Send(begins.as_bytes().into()),
            PeerStep::Flood(piece.as_bytes().into()),
        ],
        _ => vec![choices("t"), PeerStep::Again],
    }
}

#[test]
fn an_endless_response_fails_its_step_and_leaves_other_users_their_turns() {
    // Method: a load of 300 ms by two users, with a timeout of 200 ms. The login of one user gets
    // each kind of endless response.
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (begins, piece, failure) in [
        (chunked, "1\r\nx\r\n", "timeout"),
        (chunked, "11\r\ndata: 123456789\n\n\r\n", "timeout"),
        ("HTTP/1.1 200 OK\r\n\r\n", "x", "timeout"),
        ("", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", "malformed"),
        ("", "\r\n", "head_too_large"),
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n", "head_too_large"),
    ] {
        let mut plan = plan(2, SliceEnd::AfterNs(300 * MS));
        plan.timeout = Nanos(200 * MS);
        let (tally, took) = ran(Network::faultless(1), &plan, endless(begins, piece));
        let login = &tally.steps[0];
        assert_eq!(login.failed.get(failure), Some(&1), "{piece}: {login:?}");
        assert_eq!(tally.sessions.failed, 1, "{piece}");
        assert!(
            tally.sessions.completed > 40,
            "{piece}: {:?}",
            tally.sessions
        );
        assert!(took < Nanos(320 * MS), "{piece}: {took:?}");
    }
}

#[test]
fn a_stop_is_noticed_while_a_response_does_not_end() {
    // Method: a user whose login gets an endless response, with a timeout of a minute, stopped
    // after 50 ms.
    let mut plan = plan(1, SliceEnd::AfterRequests(1));
    plan.timeout = Nanos(60 * SECOND);
    let begins = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut sim = Sim::new(
        Network::faultless(1),
        Box::new(endless(begins, "1\r\nx\r\n")),
    );
    let stop = Arc::default();
    let at = sim.now().plus(Nanos(50 * MS));
    sim.stops_at(at, &stop);
    let next = AtomicU64::new(1);
    let runner = ScenarioRunner::new(sim, &plan, &next);
    let (tally, took) = runner.run(&Stopper::of(&stop));
    assert!(took < Nanos(70 * MS), "{took:?}");
    assert_eq!(tally.sessions.cut_off, 1);
}
