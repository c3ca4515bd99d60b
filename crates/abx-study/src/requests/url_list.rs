//! A list of requests: a path or a URL on each line, as access logs and other tools have them.

use crate::requests::numbered::REQUESTS_MAX;
use crate::requests::request_placeholder::without_placeholders;
use crate::servers::subject::{Target, url_path};
use crate::units;

/// A path, and how often the list has it.
pub type ListedPath = (String, u32);

/// Why a list cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlListError {
    #[error(
        "line {line}: `{text}` is neither a path, which begins with /, nor a URL: correct it, or begin the line with # to leave it out"
    )]
    Unknown {
        /// The line, from 1.
        line: usize,
        text: String,
    },
    #[error(
        "line {line}: `{text}` is not a URL of {server}: a load goes to one server, so leave the \
         line out, or give paths alone"
    )]
    ForeignUrl {
        /// The line, from 1.
        line: usize,
        text: String,
        /// The server that is loaded.
        server: String,
    },
    #[error("there is no path in it: write one on each line")]
    Empty,
    #[error("it has more than {REQUESTS_MAX} different paths: leave some out")]
    TooMany,
}

/// The paths of a list in its order, each once. Empty lines and lines that begin with # are
/// skipped. With a server, URLs must be of that server; without one, only their paths are used.
pub fn listed_paths(text: &str, server: Option<&Target>) -> Result<Vec<ListedPath>, UrlListError> {
    let mut paths: Vec<ListedPath> = Vec::new();
    let mut indexes = std::collections::HashMap::new();
    let lines = units::without_mark(text).lines().map(str::trim).enumerate();
    for (index, text) in lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
        let path = path_in_list(text, index + 1, server)?;
        match indexes.get(&path) {
            Some(index) => {
                let (_, weight): &mut ListedPath = &mut paths[*index];
                *weight += 1;
            }
            None if paths.len() == REQUESTS_MAX as usize => return Err(UrlListError::TooMany),
            None => {
                indexes.insert(path.clone(), paths.len());
                // The clients whose requests a list records must not choose a file to send.
                paths.push((without_placeholders(&path), 1));
            }
        }
    }
    if paths.is_empty() {
        Err(UrlListError::Empty)
    } else {
        Ok(paths)
    }
}

/// The path of a line, which is a path or a URL.
///
/// # Errors
/// [`UrlListError::Unknown`], [`UrlListError::ForeignUrl`].
pub fn path_in_list(
    text: &str,
    line: usize,
    server: Option<&Target>,
) -> Result<String, UrlListError> {
    // Control characters of a list must not reach the terminal.
    let shown = || text.replace(char::is_control, " ");
    let unknown = || UrlListError::Unknown {
        line,
        text: shown(),
    };
    let path = match (text.starts_with('/'), server) {
        (true, _) => units::percent_encoded(text),
        (false, None) => url_path(text).map_err(|_| unknown())?,
        (false, Some(server)) => {
            let path = server.path_of(text).map_err(|_| unknown())?;
            path.ok_or_else(|| UrlListError::ForeignUrl {
                line,
                text: shown(),
                server: server.host.clone(),
            })?
        }
    };
    units::is_url_path(&path)
        .then_some(path)
        .ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::requests::request_placeholder::LineFiles;
    use crate::requests::request_spec::RequestSpec;

    #[test]
    fn a_list_has_no_placeholders() {
        // Method: a line that names a file of this machine; filled in, it is the same text.
        let listed = listed_paths("/{line:/etc/passwd}?{seq}\n", None).unwrap();
        let read = |file: &str| panic!("{file} is read");
        let request = RequestSpec {
            path: Some(listed[0].0.clone()),
            ..RequestSpec::default()
        };
        let filled = request
            .with_placeholders(&mut LineFiles::read_by(&read))
            .unwrap();
        assert_eq!(filled.path.as_deref(), Some("/{line:/etc/passwd}?{seq}"));
        assert!(!filled.has_placeholders());
    }

    #[test]
    fn a_list_has_each_path_once_with_its_count() {
        // Method: paths and URLs, one of them three times, among lines that are skipped; with a
        // byte-order mark and without.
        let text = "# of Monday\n/a\n\n http://127.0.0.1:81/b?c \n/a\r\nhttp://127.0.0.1:81/a\n";
        let server = Target::parse("http://127.0.0.1:81/").unwrap();
        let paths = [("/a".to_owned(), 3), ("/b?c".to_owned(), 1)];
        let marked = format!("\u{feff}{}", text.trim_start_matches("# of Monday\n"));
        for server in [None, Some(&server)] {
            assert_eq!(listed_paths(text, server).unwrap(), paths);
            assert_eq!(listed_paths(&marked, server).unwrap(), paths);
        }
    }

    #[test]
    fn an_invalid_line_is_named_by_its_number() {
        // Method: lists for each error, and one with the largest number of paths.
        let server = Target::parse("http://127.0.0.1:81/").unwrap();
        let message = |text: &str| listed_paths(text, Some(&server)).unwrap_err().to_string();
        for (text, part) in [
            ("/a\nb", "line 2: `b` is neither"),
            ("/a b", "line 1: `/a b` is neither"),
            ("ftp://127.0.0.1:81/", "neither"),
            ("http://127.0.0.1:81/a b", "line 1: "),
            (
                "http://127.0.0.1:82/",
                "line 1: `http://127.0.0.1:82/` is not a URL of 127.0.0.1:81",
            ),
            ("# none", "no path in it"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
        let many: String = (0..=REQUESTS_MAX)
            .map(|number| format!("/{number}\n"))
            .collect();
        assert_eq!(listed_paths(&many, None), Err(UrlListError::TooMany));
        let cut = &many[..many.trim_end().rfind('\n').unwrap()];
        assert_eq!(
            listed_paths(cut, None).unwrap().len(),
            REQUESTS_MAX as usize
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[/a-c:.#?% \\nht\u{e9}]{0,60}") {
            // Method: random characters of paths and URLs; the paths that are read are valid.
            for (path, times) in listed_paths(&text, None).unwrap_or_default() {
                prop_assert!(units::is_url_path(&path) && times > 0, "{path}");
            }
        }

        #[test]
        fn a_message_has_no_control_characters(text in "[^\\n]{0,9}") {
            // Method: one line of random characters, which may control a terminal.
            if let Err(error) = listed_paths(&text, None) {
                prop_assert!(!error.to_string().contains(char::is_control), "{error}");
            }
        }
    }
}
