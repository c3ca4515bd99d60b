//! Rules for the fields of requests and responses alike (RFC 9113, section 8.2).

/// Checks a field that is not a pseudo field.
pub(super) fn check_regular(name: &[u8], value: &[u8]) -> Result<(), &'static str> {
    let is_token = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    if name.is_empty() || !name.iter().all(is_token) {
        return Err("a field's name is not a lower-case token");
    }
    if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return Err("a field's value contains a line break or a NUL");
    }
    match name {
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
            Err("a field is connection-specific, which HTTP/2 forbids")
        }
        _ => Ok(()),
    }
}

/// Reads a `content-length`, after any earlier one.
pub(super) fn content_length(value: &[u8], before: Option<u64>) -> Result<u64, &'static str> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| digits);
    let length: Option<u64> = text.and_then(|text| text.parse().ok());
    match (length, before) {
        (Some(length), None) => Ok(length),
        (Some(length), Some(before)) if length == before => Ok(length),
        _ => Err("content-length is not a number, or several values differ"),
    }
}
