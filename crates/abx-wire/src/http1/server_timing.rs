//! The times that a server reports in the head of a response (W3C, Server Timing).

use memchr::{memchr, memchr_iter};

const HEADER: &[u8] = b"server-timing:";
/// The longest name that is read.
const NAME_BYTES_MAX: usize = 40;
/// The longest duration that is read: eleven days.
const DURATION_MS_MAX: f64 = 1e9;

/// A duration that a server reports in `Server-Timing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTiming<'a> {
    /// The name: visible ASCII, at most 40 bytes.
    pub name: &'a str,
    /// The duration in ns.
    pub span_ns: u64,
}

/// The durations in the head of a response, in their order. Metrics without one, and those that
/// break the grammar, are left out; bytes after the head are ignored.
pub fn server_timings(head: &[u8]) -> impl Iterator<Item = ServerTiming<'_>> {
    fields(head)
        .flat_map(|value| parts(value, b','))
        .filter_map(timing)
}

/// The values of all headers of that name.
fn fields(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    // Most heads have none, so this only compares the beginning of each line.
    let lines = memchr_iter(b'\n', head).map(|end| &head[end + 1..]);
    let lines = lines.take_while(|rest| !rest.starts_with(b"\r\n") && !rest.starts_with(b"\n"));
    lines.filter_map(|rest| {
        let (name, value) = rest.split_at_checked(HEADER.len())?;
        let is_meant = name.eq_ignore_ascii_case(HEADER);
        is_meant.then(|| memchr(b'\n', value).map(|end| &value[..end]))?
    })
}

fn timing(metric: &[u8]) -> Option<ServerTiming<'_>> {
    let mut parts = parts(metric, b';');
    let name = parts.next()?.trim_ascii();
    let is_name =
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic);
    let duration_ms = parts.find_map(duration_ms)?;
    Some(ServerTiming {
        name: std::str::from_utf8(name).ok().filter(|_| is_name)?,
        span_ns: (duration_ms * 1e6).round() as u64,
    })
}

/// The value of a parameter in ms, if it is the duration.
fn duration_ms(parameter: &[u8]) -> Option<f64> {
    let equals = parameter.iter().position(|byte| *byte == b'=')?;
    let (key, value) = parameter.split_at(equals);
    if !key.trim_ascii().eq_ignore_ascii_case(b"dur") {
        return None;
    }
    let value = value[1..].trim_ascii();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let value = value.strip_suffix(b"\"").unwrap_or(value);
    let ms: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (0.0..=DURATION_MS_MAX).contains(&ms).then_some(ms)
}

/// The parts between separators outside of quoted strings.
fn parts(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |byte| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match *byte {
            b'\\' if is_quoted => is_escaped = !was_escaped,
            b'"' if !was_escaped => is_quoted = !is_quoted,
            _ => return *byte == separator && !is_quoted,
        }
        false
    })
}
