//! Fields of a response's head that are reported to users, apart from its status.

use abx_wire::http1::response_header;

/// Bytes of a response that are kept to read its headers.
pub(super) const START_BYTES: usize = 16 * 1024;

/// Fields of a response's head, each `None` if it is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadFields {
    /// Usually the server's name and version (`Server`).
    pub server: Option<String>,
    /// The target of a redirection (`Location`).
    pub location: Option<String>,
    /// The allowed methods (`Allow`).
    pub allow: Option<String>,
}

impl HeadFields {
    /// The fields of a response that begins with these bytes.
    pub(super) fn of(start: &[u8]) -> HeadFields {
        let field = |name| response_header(start, name).map(shortened);
        HeadFields {
            server: field("server"),
            location: field("location"),
            allow: field("allow"),
        }
    }
}

/// The most characters of a field that are kept: reports show a field on one line.
const FIELD_MAX: usize = 200;

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(FIELD_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_fields_are_shortened() {
        // Method: a field of 20,000 bytes, a field of the maximum length, and characters of several
        // bytes.
        assert_eq!(
            shortened("x".repeat(20_000)),
            format!("{}…", "x".repeat(200))
        );
        assert_eq!(shortened("x".repeat(200)), "x".repeat(200));
        assert_eq!(shortened("ü".repeat(201)), format!("{}…", "ü".repeat(200)));
    }

    #[test]
    fn each_field_is_found_by_its_name_in_any_case() {
        // Method: a response with all fields, and one with none.
        let start = b"HTTP/1.1 405 No\r\nserver: s/1\r\nLOCATION: /a\r\nAllow: GET, HEAD\r\n\r\n";
        let head_fields = HeadFields {
            server: Some("s/1".to_owned()),
            location: Some("/a".to_owned()),
            allow: Some("GET, HEAD".to_owned()),
        };
        assert_eq!(HeadFields::of(start), head_fields);
        let none = HeadFields::of(b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(none, HeadFields::default());
    }
}
