//! How a user can handle an unexpected status. abx never advises to expect a status that reports an
//! error (RFC 9110, section 15).

use abx_engine::HeadFields;
use abx_evidence::ExpectedStatus;

/// The status of a response, with its request.
pub struct WrongStatus<'a> {
    pub got: u16,
    pub method: &'a str,
    /// Whether the request was to open a WebSocket.
    pub is_websocket: bool,
    pub head_fields: &'a HeadFields,
}

/// Whether it was the server that failed, so that its output may show why.
pub fn is_server_failure(status: u16) -> bool {
    (500..=599).contains(&status)
}

impl WrongStatus<'_> {
    pub fn remedy(&self) -> String {
        match (
            self.got,
            &self.head_fields.location,
            &self.head_fields.allow,
        ) {
            // A 304 may name the location of its page, but does not lead there.
            (300..=303 | 305..=399, Some(location), _) => leads_to(location),
            (401, ..) => {
                "it requires credentials: send them (`--user NAME:PASSWORD` or `--bearer TOKEN`, \
                 or `user` or `bearer` in a study file)"
                    .to_owned()
            }
            (403, ..) => "it refuses this request: send what it requires, such as credentials \
                          (`-H`, or `headers` in a study file), or give a public path"
                .to_owned(),
            (405, _, Some(allowed)) if !allowed.is_empty() => format!(
                "it does not allow {} there, only {}: give the method (`-m`, or `method` in a \
                 study file)",
                self.method,
                allowed.escape_debug()
            ),
            (405, ..) => format!(
                "it does not allow {} there: give the method (`-m`, or `method` in a study file)",
                self.method
            ),
            (426, ..) if !self.is_websocket => {
                "it requires another protocol: for WebSocket, give the URL with ws:// or wss://"
                    .to_owned()
            }
            (429, ..) => {
                "it limits the requests per client: raise that limit before you measure".to_owned()
            }
            (got, ..) if got.to_string().parse::<ExpectedStatus>().is_err() => format!(
                "{got} is not an HTTP status (100 to 599): correct the server, or give another \
                 path (`--path`, or `path` in a study file)"
            ),
            (status, ..) if is_server_failure(status) => {
                "it failed: read its output or its log".to_owned()
            }
            _ if self.is_websocket => {
                "give its WebSocket path (that of the URL, `--path`, or `path` in a study file)"
                    .to_owned()
            }
            (got, ..) => format!(
                "give the correct path (`--path`, or `path` in a study file), or expect that \
                 status (`--expect-status {got}`, or `expect.status`)"
            ),
        }
    }
}

/// The remedy for a redirect: abx does not follow it, since it would measure two requests.
fn leads_to(location: &str) -> String {
    let location = location.escape_debug();
    let message = format!("it leads to {location}");
    if location.to_string().contains("://") {
        format!("{message}: give that URL")
    } else {
        format!("{message}: give that path (`--path`, or `path` in a study file)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(got: u16, head_fields: &HeadFields, is_websocket: bool) -> String {
        let wrong = WrongStatus {
            got,
            method: "GET",
            is_websocket,
            head_fields,
        };
        wrong.remedy()
    }

    #[test]
    fn each_status_has_the_remedy_of_its_meaning() {
        // Method: every kind of status, with a part of its remedy. Only a remedy for a status that
        // may be intended mentions how to expect it.
        let head_fields = HeadFields {
            server: None,
            location: Some("/new/".to_owned()),
            allow: Some("POST, PUT".to_owned()),
        };
        for (got, part, may_be_intended) in [
            (301, "/new/", false),
            (308, "`--path`", false),
            (401, "--bearer", false),
            (403, "`-H`", false),
            (405, "POST, PUT: give the method (`-m`", false),
            (500, "log", false),
            (503, "log", false),
            (404, "`--path`", true),
            (204, "`--expect-status 204`", true),
            (304, "`--expect-status 304`", true),
            (426, "ws://", false),
            (429, "limit", false),
            (999, "correct the server", false),
            (600, "correct the server", false),
            (99, "correct the server", false),
        ] {
            let text = remedy(got, &head_fields, false);
            assert!(text.contains(part), "{got}: {text}");
            assert_eq!(
                text.contains("--expect-status"),
                may_be_intended,
                "{got}: {text}"
            );
        }
        let no_fields = HeadFields::default();
        assert!(remedy(405, &no_fields, false).contains("`-m`"));
        assert!(remedy(404, &no_fields, true).contains("its WebSocket path"));
        assert!(remedy(426, &no_fields, true).contains("its WebSocket path"));
        assert!(remedy(401, &no_fields, true).contains("--bearer"));
    }

    #[test]
    fn the_remedy_for_a_redirect_names_its_location() {
        // Method: a path, URLs, and a path with a control character.
        let remedy_for = |location: &str| {
            let head_fields = HeadFields {
                location: Some(location.to_owned()),
                ..HeadFields::default()
            };
            remedy(302, &head_fields, false)
        };
        assert!(remedy_for("/a").contains("/a: give that path"));
        assert!(remedy_for("http://h/a").contains("http://h/a: give that URL"));
        assert!(remedy_for("https://h/a").contains("https://h/a: give that URL"));
        assert!(remedy_for("/\u{1b}[2J").contains("\\u{1b}"));
    }
}
