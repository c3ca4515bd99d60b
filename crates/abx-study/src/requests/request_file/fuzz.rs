//! Properties of any text, checked by the fuzz target and by property tests.

use super::requests_in;
use crate::requests::numbered::REQUESTS_MAX;
use crate::requests::url_list::listed_paths;
use crate::servers::target::Target;
use crate::units::{is_token, is_url_path};

/// Reads a text as a file of requests and as a list of paths, with a server and without one.
/// A request that is read can be sent; an error has a message on one line, with a line of the text.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    let server = Target::parse("http://127.0.0.1:81/").expect("it is a URL");
    let lines = text.lines().count();
    for server in [None, Some(&server)] {
        match requests_in(text, server) {
            Ok(requests) => {
                assert!((1..=REQUESTS_MAX as usize).contains(&requests.len()));
                for request in &requests {
                    let is_path = request.path.as_deref().is_none_or(is_url_path);
                    assert!(is_token(&request.method) && is_path, "{request:?}");
                    assert!(request.weight > 0, "{request:?}");
                    for (name, value) in &request.headers {
                        assert!(is_token(name) && !value.contains(['\r', '\n', '\0']));
                    }
                }
            }
            Err(error) => check_message(&error.to_string(), lines),
        }
        match listed_paths(text, server) {
            Ok(paths) => {
                for (path, times) in &paths {
                    assert!(is_url_path(path) && *times > 0, "{path}");
                }
            }
            Err(error) => check_message(&error.to_string(), lines),
        }
    }
}

/// A message is on one line, and names an existing line if any.
fn check_message(message: &str, lines: usize) {
    assert!(!message.contains(char::is_control), "{message:?}");
    if let Some(rest) = message.strip_prefix("line ") {
        let number = rest.split(':').next().and_then(|line| line.parse().ok());
        let number: usize = number.expect("a line has a number");
        assert!((1..=lines).contains(&number), "{message}");
    }
}
