//! The cookies of a session, as far as a single server needs them (RFC 6265).

/// The cookies of one session.
///
/// Cookies are kept by name and path. `Max-Age` of zero or less, or an `Expires` in 1970, deletes a
/// cookie; other expiry times are beyond the end of a session. `Domain` and `Secure` do not matter
/// here, since there is only one server, and the user chose its URL.
#[derive(Debug, Default)]
pub(super) struct CookieJar(Vec<Cookie>);

#[derive(Debug)]
struct Cookie {
    name: String,
    value: String,
    path: String,
}

impl CookieJar {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Applies a `Set-Cookie` line in the response to a request with this path and query.
    pub(super) fn set(&mut self, line: &str, request: &str) {
        let mut parts = line.split(';');
        let pair = parts.next().and_then(|pair| pair.split_once('='));
        let Some((name, value)) = pair.map(|(name, value)| (name.trim(), value.trim())) else {
            return;
        };
        if name.is_empty() {
            return;
        }
        let mut path = default_path(request).to_owned();
        let (mut is_deleted, mut has_age) = (false, false);
        for attribute in parts {
            let (key, text) = attribute.split_once('=').unwrap_or((attribute, ""));
            let (key, text) = (key.trim(), text.trim());
            if key.eq_ignore_ascii_case("path") && text.starts_with('/') {
                text.clone_into(&mut path);
            } else if key.eq_ignore_ascii_case("max-age")
                && let Ok(age) = text.parse::<i64>()
            {
                (is_deleted, has_age) = (age <= 0, true);
            } else if key.eq_ignore_ascii_case("expires") && !has_age {
                is_deleted = text.contains("1970");
            }
        }
        self.0
            .retain(|cookie| (cookie.name.as_str(), cookie.path.as_str()) != (name, path.as_str()));
        if !is_deleted {
            self.0.push(Cookie {
                name: name.to_owned(),
                value: value.to_owned(),
                path,
            });
        }
    }

    /// The header for a request of this path and query; `None` for no cookies. Longer paths
    /// come first.
    pub(super) fn header(&self, request: &str) -> Option<String> {
        let mut matching: Vec<&Cookie> = self
            .0
            .iter()
            .filter(|cookie| is_below(path_of(request), &cookie.path))
            .collect();
        matching.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = matching
            .iter()
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

fn path_of(request: &str) -> &str {
    request.split('?').next().unwrap_or_default()
}

/// The path of a cookie that does not set one: RFC 6265, section 5.1.4.
fn default_path(request: &str) -> &str {
    match path_of(request).rfind('/') {
        None | Some(0) => "/",
        Some(last) => &request[..last],
    }
}

/// Whether a request's path matches that of a cookie: RFC 6265, section 5.1.4.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_sent_to_their_paths_until_they_are_deleted() {
        // Method: by hand from RFC 6265: paths, a newer value, both ways to delete a cookie, and
        // invalid lines.
        let mut jar = CookieJar::default();
        jar.set("sid=1; Path=/; HttpOnly", "/login");
        jar.set("cart=a=b", "/shop/cart?x=/y");
        jar.set("theme=dark; path=/shop; max-age=60", "/login");
        assert_eq!(jar.header("/").as_deref(), Some("sid=1"));
        assert_eq!(
            jar.header("/shop/pay?q").as_deref(),
            Some("cart=a=b; theme=dark; sid=1")
        );
        assert_eq!(jar.header("/shopping").as_deref(), Some("sid=1"));
        jar.set("sid=2; Path=/", "/other");
        assert_eq!(jar.header("/").as_deref(), Some("sid=2"));
        jar.set(
            "theme=; Path=/shop; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "/",
        );
        jar.set("cart=; Path=/shop; Max-Age=0", "/");
        assert_eq!(jar.header("/shop/pay").as_deref(), Some("sid=2"));
        for invalid in ["", "a", "=b", " ; Path=/"] {
            jar.set(invalid, "/");
        }
        assert_eq!(jar.0.len(), 1);
        jar.clear();
        assert_eq!(jar.header("/"), None);
    }
}
