//! Properties for any bytes of a TLS server, for the fuzz target and for property tests.

use std::sync::LazyLock;

use super::config::TlsClient;
use super::connection::TlsConnection;
use crate::plan::{TlsPlan, TlsTrust};

/// Takes bytes as the response to a new connection's first record. The first byte of `data`
/// chooses the length of the pieces. Bytes that are not TLS, or cannot be decrypted, end the
/// connection and give no plain bytes, however they are split.
///
/// # Panics
/// If a property does not hold.
pub fn any_records(data: &[u8]) {
    let [seed, records @ ..] = data else {
        return;
    };
    let whole = has_failed(&[records]);
    let split = has_failed(&pieces(records, *seed));
    assert_eq!(whole, split, "pieces change what becomes of the connection");
}

/// Takes handshake messages in well-formed records. The first two bytes of `data` choose the
/// hello before the messages, the length of the pieces, and that of the records.
///
/// # Panics
/// If a property does not hold.
pub fn any_handshake(data: &[u8]) {
    let [choice, record_bytes, messages @ ..] = data else {
        return;
    };
    let hello: &[u8] = match choice % 3 {
        0 => &[],
        1 => &SERVER_HELLO_12,
        _ => &SERVER_HELLO_13,
    };
    let mut stream = vec![*choice];
    for part in [hello, messages]
        .concat()
        .chunks(usize::from(*record_bytes) + 1)
    {
        let length = u16::try_from(part.len()).expect("at most 256 bytes");
        stream.extend_from_slice(&[HANDSHAKE, 3, 3]);
        stream.extend_from_slice(&length.to_be_bytes());
        stream.extend_from_slice(part);
    }
    any_records(&stream);
}

/// The kind of a record with a part of a handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// Hellos of servers that choose a suite and a key, without random parts.
const SERVER_HELLO_12: [u8; 52] = {
    let mut hello = [7; 52];
    (hello[0], hello[1], hello[2], hello[3]) = (2, 0, 0, 48);
    (hello[4], hello[5]) = (3, 3);
    // No session, ECDHE-RSA with AES-128-GCM, no compression, one extension.
    (hello[38], hello[39], hello[40], hello[41]) = (0, 0xc0, 0x2f, 0);
    (hello[42], hello[43], hello[44], hello[45]) = (0, 8, 0, 11);
    (hello[46], hello[47], hello[48], hello[49]) = (0, 4, 3, 0);
    (hello[50], hello[51]) = (1, 2);
    hello
};
const SERVER_HELLO_13: [u8; 90] = {
    let mut hello = [7; 90];
    (hello[0], hello[1], hello[2], hello[3]) = (2, 0, 0, 86);
    (hello[4], hello[5]) = (3, 3);
    // No session, AES-128-GCM, no compression, 46 bytes of extensions.
    (hello[38], hello[39], hello[40], hello[41]) = (0, 0x13, 0x01, 0);
    (hello[42], hello[43]) = (0, 46);
    // TLS 1.3, and a share of X25519.
    (hello[44], hello[45], hello[46], hello[47]) = (0, 43, 0, 2);
    (hello[48], hello[49], hello[50], hello[51]) = (3, 4, 0, 51);
    (hello[52], hello[53], hello[54], hello[55]) = (0, 36, 0, 29);
    (hello[56], hello[57]) = (0, 32);
    hello
};

/// Cuts bytes into pieces of 1 to 64 bytes.
fn pieces(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    bytes.chunks(usize::from(seed % 64) + 1).collect()
}

/// Whether the connection failed over these pieces.
fn has_failed(pieces: &[&[u8]]) -> bool {
    let mut connection = TlsConnection::new(&CLIENT).expect("the plan is usable");
    let mut plain = Vec::new();
    let begun = connection.take(&[], &mut plain);
    begun.expect("a connection begins with bytes of ours");
    let has_failed = pieces
        .iter()
        .any(|piece| connection.take(piece, &mut plain).is_err());
    assert!(
        plain.is_empty(),
        "plain bytes came of what nobody encrypted"
    );
    assert!(
        !connection.is_open,
        "a handshake came to its end without a server"
    );
    has_failed
}

static CLIENT: LazyLock<TlsClient> = LazyLock::new(|| {
    let plan = TlsPlan {
        server_name: "server.test".to_owned(),
        hides_name: false,
        trust: TlsTrust::Anyone,
        version: None,
        suites: Vec::new(),
        resumption: false,
        protocols: Vec::new(),
        identity: None,
    };
    TlsClient::of(&plan, 1).expect("the plan is usable")
});

#[cfg(test)]
mod tests {
    use std::io::Write;

    use abx_twin::certificate;
    use proptest::prelude::*;
    use rustls::ServerConnection;

    use super::*;
    use crate::io::tls::tickets::tests::trusting;
    use crate::plan::TlsVersion;

    /// A server's record, now and then with a wrong length.
    fn record() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop::sample::select(vec![20, 21, 22, 22, 22, 23, 0]);
        let length = prop_oneof![9 => Just(None), 1 => any::<u16>().prop_map(Some)];
        (kind, length, payload()).prop_map(|(kind, length, payload)| {
            let length = length.unwrap_or(u16::try_from(payload.len()).unwrap());
            [&[kind, 3, 3], &length.to_be_bytes()[..], &payload].concat()
        })
    }

    /// Parts of handshake messages and alerts, and bytes without a meaning.
    fn payload() -> impl Strategy<Value = Vec<u8>> {
        let parts: Vec<&[u8]> = vec![
            &[2],
            &[2, 0xff, 0xff, 0xff],
            &[2, 1, 0, 0],
            &[2, 0, 0, 4, 3, 3, 0, 0],
            &SERVER_HELLO_12,
            &SERVER_HELLO_13,
            &[11, 0, 0, 3, 0, 0, 0],
            &[12, 0, 0, 0],
            &[14, 0, 0, 0],
            &[4, 0, 0, 0],
            &[24, 0, 0, 1, 1],
            &[0, 0, 0, 0],
            &[1],
            &[2, 40],
            &[1, 0],
            &[0xff; 7],
            &[],
        ];
        prop::collection::vec(prop::sample::select(parts), 0..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_records_end_a_connection_and_nothing_else(
            seed in any::<u8>(),
            records in prop::collection::vec(record(), 0..6),
        ) {
            // Method: the fuzz target's body, on random records of handshakes and alerts, among
            // them messages that continue over several records.
            any_records(&[&[seed], &records.concat()[..]].concat());
        }

        #[test]
        fn any_bytes_end_a_connection_and_nothing_else(
            data in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            // Method: the fuzz target's body, on any bytes.
            any_records(&data);
        }
    }

    #[test]
    fn inputs_of_the_fuzzing_corpus_end_a_connection_and_nothing_else() {
        // Method: the fuzz targets' bodies, on the corpora and mutations of them.
        abx_corpus::replay("tls_records", 500, any_records);
        abx_corpus::replay("tls_handshake", 500, any_handshake);
    }

    #[test]
    fn a_message_that_does_not_end_breaks_nothing() {
        // Method: beginnings of a message whose length is no length of a handshake message, on
        // which the TLS library once stopped the program; cut at each byte.
        for records in [
            &b"\x16\x03\x03\x00\x04\x02\xff\xff\xff"[..],
            b"\x16\x03\x03\x00\x04\x02\x01\x00\x00",
            b"\x16\x03\x03\x00\x01\x02\x16\x03\x03\x00\x03\x01\x00\x00",
            b"\x16\x03\x03\x00\x04\x02\x00\xff\xff\x16\x03\x03\x00\x00",
        ] {
            for end in 0..=records.len() {
                (0..8).for_each(|seed| any_records(&[&[seed], &records[..end]].concat()));
            }
        }
    }

    /// A change to the bytes of a real server at some place.
    #[derive(Debug, Clone)]
    enum Change {
        Flip(u8),
        Insert(Vec<u8>),
        Remove(usize),
        Repeat(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (1..=255_u8).prop_map(Change::Flip),
            prop_oneof![record(), prop::collection::vec(any::<u8>(), 1..30)]
                .prop_map(Change::Insert),
            (1..60_usize).prop_map(Change::Remove),
            (1..60_usize).prop_map(Change::Repeat),
        ]
    }

    impl Change {
        fn apply(&self, bytes: &mut Vec<u8>, at: usize) {
            match self {
                Change::Flip(bits) => bytes[at] ^= bits,
                Change::Insert(more) => drop(bytes.splice(at..at, more.iter().copied())),
                Change::Remove(count) => drop(bytes.drain(at..bytes.len().min(at + count))),
                Change::Repeat(count) => {
                    let part = bytes[at..bytes.len().min(at + count)].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
    }

    /// Runs a real server with its stream changed at this place. Returns the bytes that the server
    /// sent and those that the client delivered.
    fn changed(version: TlsVersion, place: usize, change: &Change, seed: u8) -> [Vec<u8>; 2] {
        let plan = TlsPlan {
            version: Some(version),
            ..trusting()
        };
        let mut client = TlsConnection::new(&TlsClient::of(&plan, 1).unwrap()).unwrap();
        let mut server = ServerConnection::new(certificate::server()).unwrap();
        let (mut sent, mut plain) = (Vec::new(), Vec::new());
        let (mut position, mut has_failed) = (0, client.take(&[], &mut plain).is_err());
        for round in 0..6_u8 {
            let from_client = std::mem::take(&mut client.outgoing);
            let mut from_client = &from_client[..];
            while !from_client.is_empty() && server.read_tls(&mut from_client).unwrap() > 0 {
                if server.process_new_packets().is_err() {
                    return [sent, plain];
                }
            }
            if !server.is_handshaking() {
                let body = vec![round; 1 + usize::from(round) * 300];
                server.writer().write_all(&body).unwrap();
                sent.extend(body);
            }
            let mut from_server = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut from_server).unwrap();
            }
            let begin = position;
            position += from_server.len();
            if (begin..position).contains(&place) {
                change.apply(&mut from_server, place - begin);
            }
            let mut parts = pieces(&from_server, seed).into_iter();
            has_failed |= parts.any(|part| client.take(part, &mut plain).is_err());
            if has_failed {
                assert!(
                    client.encrypt(b"more").is_err(),
                    "nothing is sent behind a fault"
                );
                break;
            }
        }
        [sent, plain]
    }

    proptest! {
        #[test]
        fn a_changed_stream_delivers_only_bytes_that_the_server_sent(
            is_new in any::<bool>(),
            place in 0..4_000_usize,
            change in change(),
            seed in any::<u8>(),
        ) {
            // Method: a real server's handshake and responses with some bytes changed, left out,
            // doubled or inserted, in any pieces. The delivered bytes are a prefix of the sent
            // bytes.
            let version = if is_new { TlsVersion::Tls13 } else { TlsVersion::Tls12 };
            let [sent, plain] = changed(version, place, &change, seed);
            prop_assert!(sent.starts_with(&plain));
        }
    }

    #[test]
    fn an_unchanged_stream_is_delivered_completely() {
        // Method: the exchange of the property test with a change after its end.
        for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
            let [sent, plain] = changed(version, usize::MAX, &Change::Flip(1), 5);
            assert!(
                sent.len() > 3_000 && sent == plain,
                "{} {}",
                sent.len(),
                plain.len()
            );
        }
    }
}
