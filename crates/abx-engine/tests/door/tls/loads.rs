//! Loads and probes over TLS, against a peer that counts its handshakes.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use abx_engine::{
    EngineError, LoadPlan, ProbeError, TlsIdentity, TlsPlan, TlsTrust, TlsVersion, probe,
};
use abx_evidence::{Outcome, Phase, RequestLogPlan, SliceTally};
use abx_model::LoadOptions;

use super::peer::{BOTH, CLIENT, TlsPeer, trusting};
use crate::peers::peer::Peer;
use crate::{HELLO, engine, load};

fn over_tls(address: SocketAddr, connections: u32, tls: TlsPlan) -> LoadPlan {
    LoadPlan {
        tls: Some(tls),
        ..load(address, connections)
    }
}

/// One slice of this many requests; the engine is gone when it returns.
fn run(load: &LoadPlan, requests: u64) -> SliceTally {
    crate::run(2, load, &crate::requests(requests))
}

#[test]
fn a_load_is_verified_and_the_server_counts_the_same() {
    // Method: each version, with ten connections of two threads. Every body is compared, and the
    // server counts requests and handshakes separately.
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let peer = TlsPeer::start(BOTH, false);
        let tls = TlsPlan {
            version: Some(version),
            ..trusting()
        };
        let slice = run(&over_tls(peer.address, 10, tls), 500);
        assert_eq!(crate::outcomes(&slice), [(Outcome::Ok, 500)]);
        assert_eq!(peer.seen.requests.load(Ordering::SeqCst), 500);
        assert_eq!(peer.handshakes(), [10, 0]);
        // The connections were opened before the slice.
        assert_eq!(slice.tally.times.handshake.count(), 0);
    }
}

#[test]
fn each_request_may_have_a_new_connection() {
    // Method: loads without keep-alive, with and without resumption. The server counts as many
    // resumptions, and the time of each handshake is part of the time of its connect.
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        for resumption in [false, true] {
            let peer = TlsPeer::start(BOTH, false);
            let tls = TlsPlan {
                version: Some(version),
                resumption,
                ..trusting()
            };
            let load = LoadPlan {
                options: LoadOptions {
                    keep_alive: false,
                    verify_every: 1,
                    ..load(peer.address, 2).options
                },
                ..over_tls(peer.address, 2, tls)
            };
            let slice = crate::run(1, &load, &crate::requests(50));
            assert_eq!(slice.tally.outcomes.ok(), 50);
            let times = &slice.tally.times.handshake;
            let connects = slice.tally.times.phases.times(Phase::Connect).unwrap();
            assert_eq!([times.count(), connects.count()], [50, 50]);
            for quantile in [0.0, 0.5, 1.0] {
                let [handshake, connect] =
                    [times, connects].map(|histogram| histogram.quantile_us(quantile).unwrap());
                assert!(
                    0 < handshake && handshake <= connect,
                    "{handshake} of {connect} µs"
                );
            }
            let [full, resumed] = peer.handshakes();
            assert_eq!(full + resumed, 50);
            assert_eq!(slice.tally.resumed, resumed);
            if resumption {
                assert!(resumed >= 40, "{resumed} of 50 were resumed")
            } else {
                assert_eq!(resumed, 0)
            }
        }
    }
}

#[test]
fn connections_opened_together_all_find_a_session_to_resume() {
    // Method: twenty connections at a time, to a server that gives two tickets with each handshake.
    // In the first slice the first twenty have no ticket; in the next one every connection has one.
    let peer = TlsPeer::start(BOTH, false);
    let tls = TlsPlan {
        version: Some(TlsVersion::Tls13),
        resumption: true,
        ..trusting()
    };
    let load = LoadPlan {
        options: LoadOptions {
            keep_alive: false,
            ..load(peer.address, 20).options
        },
        ..over_tls(peer.address, 20, tls)
    };
    let mut engine = crate::engine(1);
    let (pool, _) = engine.open(&load).unwrap();
    let first = engine.slice(pool, &crate::requests(60)).unwrap().tally;
    assert!((40..60).contains(&first.resumed), "{} of 60", first.resumed);
    let next = engine.slice(pool, &crate::requests(60)).unwrap().tally;
    assert_eq!((next.times.handshake.count(), next.resumed), (60, 60));
}

#[test]
fn a_server_without_proof_of_identity_gets_no_request() {
    // Method: an authority that did not sign, and another name; a client that trusts any
    // certificate is served.
    let peer = TlsPeer::start(BOTH, false);
    let stranger = TlsPlan {
        trust: TlsTrust::Given(vec![CLIENT.cert.der().to_vec()]),
        ..trusting()
    };
    let another = TlsPlan {
        server_name: "another.test".to_owned(),
        ..trusting()
    };
    for tls in [stranger, another] {
        let slice = run(&over_tls(peer.address, 2, tls), 6);
        assert_eq!(crate::outcomes(&slice), [(Outcome::TlsFailed, 6)]);
    }
    assert_eq!(peer.seen.requests.load(Ordering::SeqCst), 0);
    let anyone = TlsPlan {
        trust: TlsTrust::Anyone,
        server_name: "127.0.0.1".to_owned(),
        ..trusting()
    };
    let slice = run(&over_tls(peer.address, 2, anyone), 6);
    assert_eq!(crate::outcomes(&slice), [(Outcome::Ok, 6)]);
}

#[test]
fn a_server_without_tls_is_detected() {
    // Method: a peer that responds to anything with HTTP, and one with another version only.
    let plain = Peer::start(|mut connection| {
        connection.send(HELLO);
        connection.hold();
    });
    let old = TlsPeer::start(&[&rustls::version::TLS12], false);
    let new = TlsPlan {
        version: Some(TlsVersion::Tls13),
        ..trusting()
    };
    for (address, tls) in [(plain.address(), trusting()), (old.address, new)] {
        let slice = run(&over_tls(address, 2, tls), 4);
        assert_eq!(crate::outcomes(&slice), [(Outcome::TlsFailed, 4)]);
    }
}

#[test]
fn a_server_that_breaks_the_handshake_fails_its_requests() {
    // Method: peers that send nothing but the beginning of an invalid handshake message, complete
    // or cut, which once stopped the program, or an alert, or records that are no handshake.
    for bytes in [
        &b"\x16\x03\x03\x00\x04\x02\xff\xff\xff"[..],
        b"\x16\x03\x03\x00\x04\x02\x01\x00\x00",
        b"\x16\x03\x03\x00\x04\x02\xff\xff\xff\x16\x03\x03\x00\x04\x02\xff\xff\xff",
        b"\x16\x03\x03\x00\x01\x02\x15\x03\x03\x00\x02\x02\x28",
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"\x17\x03\x03\x00\x05hello",
        b"\x16\x03\x03\xff\xff",
    ] {
        let peer = Peer::start(move |mut connection| {
            connection.send(bytes);
            connection.hold();
        });
        let slice = run(&over_tls(peer.address(), 2, trusting()), 4);
        assert_eq!(
            crate::outcomes(&slice),
            [(Outcome::TlsFailed, 4)],
            "{bytes:x?}"
        );
        let request = load(peer.address(), 1).requests.remove(0).request;
        let probed = probe(
            peer.address(),
            Some(&trusting()),
            &request,
            Duration::from_secs(30),
        );
        assert!(
            matches!(probed, Err(ProbeError::Handshake(_))),
            "{bytes:x?}: {probed:?}"
        );
    }
}

#[test]
fn a_record_that_cannot_be_decrypted_fails_its_request_and_no_other() {
    // Method: after every third response of a connection comes an undecryptable record in the same
    // segment. Each response counts, and so does each request that meets such a record. A record
    // that comes while no request is in flight is unsolicited.
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let peer = TlsPeer::start(BOTH, false);
        peer.seen.breaks_after.store(3, Ordering::SeqCst);
        let tls = TlsPlan {
            version: Some(version),
            ..trusting()
        };
        let slice = run(&over_tls(peer.address, 1, tls.clone()), 30);
        let outcomes = &slice.tally.outcomes;
        assert_eq!(
            (outcomes.ok(), outcomes.failed()),
            (30, outcomes.count(Outcome::Unsolicited))
        );
        assert!(outcomes.count(Outcome::Unsolicited) >= 9, "{outcomes:?}");
        // Two at a time: the third of four is whole, and the fourth meets the record.
        let pipelined = LoadPlan {
            pipeline: 2,
            ..over_tls(peer.address, 1, tls)
        };
        let slice = run(&pipelined, 40);
        let failed = slice.tally.outcomes.count(Outcome::TlsFailed);
        assert!(failed > 0, "{:?}", crate::outcomes(&slice));
        assert_eq!(slice.tally.outcomes.failed(), failed);
        assert_eq!(slice.tally.outcomes.ok() + failed, 40);
    }
}

#[test]
fn a_client_proves_its_identity_on_request() {
    // Method: a server that accepts no other client, with and without the client certificate.
    // In TLS 1.3 it refuses when the client's handshake is over, and the probe reports why.
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let peer = TlsPeer::start(BOTH, true);
        let unknown = TlsPlan {
            version: Some(version),
            ..trusting()
        };
        let slice = run(&over_tls(peer.address, 2, unknown.clone()), 6);
        assert_eq!(crate::outcomes(&slice), [(Outcome::TlsFailed, 6)]);
        let request = load(peer.address, 1).requests.remove(0).request;
        let probed = probe(
            peer.address,
            Some(&unknown),
            &request,
            Duration::from_secs(30),
        );
        let why = probed.unwrap_err().to_string();
        assert!(
            why.contains("CertificateRequired") && why.contains("--cert FILE"),
            "{why}"
        );
    }
    let peer = TlsPeer::start(BOTH, true);
    let known = TlsPlan {
        identity: Some(TlsIdentity {
            certificates: vec![CLIENT.cert.der().to_vec()],
            key: CLIENT.signing_key.serialize_der(),
        }),
        ..trusting()
    };
    let slice = run(&over_tls(peer.address, 2, known), 6);
    assert_eq!(crate::outcomes(&slice), [(Outcome::Ok, 6)]);
    assert_eq!(peer.seen.requests.load(Ordering::SeqCst), 6);
}

#[test]
fn a_probe_reports_the_agreed_parameters_and_failures() {
    // Method: each version; then a name that the certificate is not for.
    let peer = TlsPeer::start(BOTH, false);
    let request = load(peer.address, 1).requests.remove(0).request;
    let ask = |tls: &TlsPlan| probe(peer.address, Some(tls), &request, Duration::from_secs(30));
    for (version, name, cipher) in [
        (TlsVersion::Tls12, "TLSv1.2", "TLS_ECDHE_"),
        (TlsVersion::Tls13, "TLSv1.3", "TLS13_"),
    ] {
        let response = ask(&TlsPlan {
            version: Some(version),
            ..trusting()
        });
        let response = response.unwrap();
        assert_eq!(
            (response.status, response.body),
            (200, crate::identity(b"hello"))
        );
        let agreed = response.tls.unwrap();
        assert_eq!(agreed.version, name);
        assert!(agreed.cipher.starts_with(cipher), "{}", agreed.cipher);
    }
    let failed = ask(&TlsPlan {
        server_name: "another.test".to_owned(),
        ..trusting()
    });
    let Err(ProbeError::Handshake(why)) = failed else {
        panic!("{failed:?}");
    };
    assert!(why.to_string().contains("not valid for name"), "{why}");
}

#[test]
fn unusable_names_and_certificates_are_refused_before_any_connection() {
    // Method: a name that no server can have, and bytes that are no certificate.
    let peer = Peer::responding(HELLO);
    let nameless = TlsPlan {
        server_name: "no name".to_owned(),
        ..trusting()
    };
    let broken = TlsPlan {
        trust: TlsTrust::Given(vec![vec![1, 2, 3]]),
        ..trusting()
    };
    for tls in [nameless, broken] {
        let opened = engine(1).open(&over_tls(peer.address(), 1, tls));
        assert!(matches!(opened, Err(EngineError::Tls(_))), "{opened:?}");
    }
    assert_eq!(peer.connections(), 0);
}

#[test]
fn a_log_has_the_agreed_parameters() {
    // Method: each version, with and without the name, and a peer whose key has 256 bits.
    for (version, name) in [
        (TlsVersion::Tls12, "TLSv1.2"),
        (TlsVersion::Tls13, "TLSv1.3"),
    ] {
        for hides_name in [false, true] {
            let peer = TlsPeer::start(BOTH, false);
            let tls = TlsPlan {
                version: Some(version),
                hides_name,
                ..trusting()
            };
            let plan = LoadPlan {
                options: LoadOptions {
                    keep_alive: false,
                    ..load(peer.address, 2).options
                },
                log: Some(RequestLogPlan {
                    most: 100,
                    ..RequestLogPlan::default()
                }),
                ..over_tls(peer.address, 2, tls)
            };
            let slice = run(&plan, 6);
            let log = slice.tally.log.unwrap();
            let terms = log.tls().unwrap();
            assert_eq!((&*terms.version, terms.server_key_bits), (name, Some(256)));
            assert!(
                terms.group.is_some() && terms.cipher.starts_with("TLS"),
                "{terms:?}"
            );
            assert!(
                log.requests()
                    .iter()
                    .all(|logged_request| logged_request.connect_ns > 0)
            );
            let named = peer.seen.named.load(Ordering::SeqCst);
            assert_eq!(named, if hides_name { 0 } else { 6 });
        }
    }
}
