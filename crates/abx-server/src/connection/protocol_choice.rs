//! Determines the protocol of a connection, by ALPN or by its first bytes.

use abx_wire::http2::PREFACE;

use crate::tls::TlsStream;

/// What is known about the protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolChoice {
    /// This number of bytes has arrived, which match the beginning of HTTP/2's preface.
    Undecided(usize),
    /// HTTP/1, a protocol that replaced it, or HTTP/2.
    Decided,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstBytes {
    /// Not enough bytes, all of which are used.
    TooFew,
    /// HTTP/1, after these bytes, which were used before and match the preface.
    Http1 { before: &'static [u8] },
    /// HTTP/2, after these bytes of the preface, which were used before.
    Http2 { before: &'static [u8] },
}

impl ProtocolChoice {
    /// Examines further bytes; `None` if the protocol is already decided.
    pub(crate) fn look(&mut self, bytes: &[u8], tls: Option<&TlsStream>) -> Option<FirstBytes> {
        let ProtocolChoice::Undecided(matched) = self else {
            return None;
        };
        let agreed = tls.and_then(TlsStream::agreed_on_http2);
        let (before, expected) = PREFACE.split_at(*matched);
        let shared = bytes.len().min(expected.len());
        let first_bytes = match agreed {
            Some(true) => FirstBytes::Http2 { before },
            Some(false) => FirstBytes::Http1 { before },
            None if bytes[..shared] != expected[..shared] => FirstBytes::Http1 { before },
            None if shared == expected.len() => FirstBytes::Http2 { before },
            None => {
                *matched += shared;
                return Some(FirstBytes::TooFew);
            }
        };
        *self = ProtocolChoice::Decided;
        Some(first_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preface_is_recognised_wherever_it_is_split_and_no_bytes_are_lost() {
        // Method: the preface and requests that begin like it, split at each place; the decision
        // returns the bytes that were used before.
        let cases: [(&[u8], bool); 4] = [
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxyz", true),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX and more than that", false),
            (b"POST / HTTP/1.1\r\nHost: h\r\n\r\n-", false),
            (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n--", false),
        ];
        for (bytes, is_http2) in cases {
            for cut in 1..bytes.len() {
                let mut choice = ProtocolChoice::Undecided(0);
                let mut seen = choice.look(&bytes[..cut], None).unwrap();
                let mut rest = &bytes[..cut];
                if seen == FirstBytes::TooFew {
                    rest = &bytes[cut..];
                    seen = choice.look(rest, None).unwrap();
                }
                let (before, is_chosen) = match seen {
                    FirstBytes::Http1 { before } => (before, false),
                    FirstBytes::Http2 { before } => (before, true),
                    FirstBytes::TooFew => panic!("nothing is decided"),
                };
                assert_eq!(is_chosen, is_http2, "{cut}");
                assert!(bytes.starts_with(&[before, rest].concat()), "{cut}");
                assert_eq!(choice.look(rest, None), None);
            }
        }
    }
}
