//! The few headers that decide how a message is framed and whether the connection is kept.

use super::fault::Fault;

/// The framing that the headers of one head define.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) content_length: Option<u64>,
    pub(super) coding: Coding,
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    /// `Expect: 100-continue` is there.
    pub(super) expects_continue: bool,
    pub(super) host_count: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    #[default]
    Plain,
    /// It is `chunked` and nothing else.
    Chunked,
    Unknown,
}

impl Fields {
    /// Reads all headers of a head once.
    pub(super) fn read(headers: &[httparse::Header<'_>]) -> Result<Fields, Fault> {
        let mut fields = Fields::default();
        for header in headers {
            // The length excludes nearly every header before a letter is compared.
            match header.name.len() {
                4 if header.name.eq_ignore_ascii_case("host") => fields.host_count += 1,
                6 if header.name.eq_ignore_ascii_case("expect") => {
                    fields.expects_continue |= header.value.eq_ignore_ascii_case(b"100-continue");
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for option in elements(header.value) {
                        fields.close |= option.eq_ignore_ascii_case(b"close");
                        fields.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    fields.add_content_length(header.value)?;
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    fields.add_codings(header.value);
                }
                _ => {}
            }
        }
        Ok(fields)
    }

    /// Accepts `chunked` and nothing else, in any number of headers. Empty elements of a list are
    /// ignored (RFC 9110, section 5.6.1.2), but a list of nothing else is invalid.
    fn add_codings(&mut self, value: &[u8]) {
        let mut codings = elements(value).filter(|coding| !coding.is_empty());
        let is_chunked = codings
            .next()
            .is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"));
        self.coding = if self.coding == Coding::Plain && is_chunked && codings.next().is_none() {
            Coding::Chunked
        } else {
            Coding::Unknown
        };
    }

    /// Accepts one number, or several equal ones (RFC 9112, section 6.3).
    fn add_content_length(&mut self, value: &[u8]) -> Result<(), Fault> {
        for element in elements(value) {
            let length = decimal(element).ok_or(Fault::BadContentLength)?;
            if self.content_length.is_some_and(|known| known != length) {
                return Err(Fault::BadContentLength);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Reads digits only: `parse` of the standard library would accept a sign too.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
