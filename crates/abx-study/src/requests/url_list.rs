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
    ForeignCpu {
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

/// The paths of a list in its order, each once. Empty lines, and those that begin with #, are
/// skipped. With a server, URLs have to be its own; without one, of each the path is taken.
pub fn listed_paths(text: &str, server: Option<&Target>) -> Result<Vec<ListedPath>, UrlListError> {
    let mut paths: Vec<ListedPath> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let lines = units::without_mark(text).lines().map(str::trim).enumerate();
    for (index, text) in lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
        let path = path_in_list(text, index + 1, server)?;
        match places.get(&path) {
            Some(place) => {
                let (_, weight): &mut ListedPath = &mut paths[*place];
                *weight += 1;
            }
            None if paths.len() == REQUESTS_MAX as usize => return Err(UrlListError::TooMany),
            None => {
                places.insert(path.clone(), paths.len());
                // The source of a log that a list comes from must not choose a file to send.
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

/// The path that a path or URL in a line means.
///
/// # Errors
/// [`UrlListError::Unknown`], [`UrlListError::ForeignCpu`].
pub fn path_in_list(
    text: &str,
    line: usize,
    server: Option<&Target>,
) -> Result<String, UrlListError> {
    // A terminal must not obey the characters of a list.
    let shown = || text.replace(char::is_control, " ");
    let unknown = || UrlListError::Unknown {
        line,
        text: shown(),
    };
    let path = match (text.starts_with('/'), server) {
        (true, _) => units::percent_encoded(text),
        (false, None) => url_path(text).map_err(|_| unknown())?,
        (false, Some(server)) => {
            let own_text = server.path_of(text).map_err(|_| unknown())?;
            own_text.ok_or_else(|| UrlListError::ForeignCpu {
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

    #[test]
    fn a_list_has_no_placeholders() {
        // Method: a line that names a file of this machine; filled in, it is the same text.
        use crate::requests::request_placeholder::LineFiles;
        use crate::requests::request_spec::RequestSpec;
        let listed = super::listed_paths("/{line:/etc/passwd}?{seq}\n", None).unwrap();
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

    use super::*;

    #[test]
    fn a_list_has_each_path_once_with_how_often_it_stands_there() {
        // Method: paths and URLs, one of them thrice, among lines that are skipped; with a
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
    fn what_cannot_be_asked_for_is_named_by_its_line() {
        // Method: one list for each error, and as many paths as there may be.
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
            // Method: letters that paths and URLs are made of, by chance; the paths that are read
            // are valid.
            for (path, times) in listed_paths(&text, None).unwrap_or_default() {
                prop_assert!(units::is_url_path(&path) && times > 0, "{path}");
            }
        }

        #[test]
        fn a_message_has_no_control_characters(text in "[^\\n]{0,9}") {
            // Method: one line of any characters, which a terminal must not obey.
            if let Err(error) = listed_paths(&text, None) {
                prop_assert!(!error.to_string().contains(char::is_control), "{error}");
            }
        }
    }
}
