//! Why a connection is closed, as one side reports to the other (RFC 6455, section 7.4).

use super::close_code::CloseCode;
use super::fault::Fault;

/// The contents of a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close<'a> {
    /// The code; `None` for a close without one.
    pub code: Option<CloseCode>,
    /// The reason for logs, mostly empty.
    pub reason: &'a str,
}

impl<'a> Close<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Close<'a>, Fault> {
        let [high, low, reason @ ..] = payload else {
            return if payload.is_empty() {
                Ok(Close {
                    code: None,
                    reason: "",
                })
            } else {
                Err(Fault::BadClose)
            };
        };
        let number = u16::from_be_bytes([*high, *low]);
        let code = CloseCode::new(number).ok_or(Fault::BadCloseCode(number))?;
        let reason = std::str::from_utf8(reason).map_err(|_| Fault::InvalidUtf8)?;
        Ok(Close {
            code: Some(code),
            reason,
        })
    }
}
