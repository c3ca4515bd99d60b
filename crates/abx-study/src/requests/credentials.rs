//! Credentials: a name with its password, a token, cookies, as headers of a request.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::requests::numbered::NUMBER;

/// A header's name and value.
pub type Header = (String, String);

/// Why a credential cannot be sent. It never contains the credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    #[error(
        "a user is NAME:PASSWORD, with a colon between the two; to send a file by PUT (ab's -u), \
         use -m PUT -b @FILE"
    )]
    NoPassword,
    #[error("a name or password cannot contain `{{n}}`: write a separate request for each")]
    Numbered,
    #[error(
        "a bearer token is visible ASCII without spaces: give the token alone, or @FILE for one \
         in a file"
    )]
    Token,
    #[error("a cookie is NAME=VALUE, and several are 'A=1; B=2'; abx does not read cookie files")]
    Cookie,
    #[error("a control character cannot be sent: remove it")]
    Control,
}

/// Credentials by name and password (RFC 7617).
pub fn basic(text: &str) -> Result<Header, CredentialError> {
    if !text.contains(':') {
        return Err(CredentialError::NoPassword);
    }
    if text.contains(NUMBER) {
        return Err(CredentialError::Numbered);
    }
    if text.chars().any(char::is_control) {
        return Err(CredentialError::Control);
    }
    Ok(authorization("Basic", &BASE64_STANDARD.encode(text)))
}

/// Credentials by a token (RFC 6750). Space around it, such as a line end in a file, is not part of
/// it.
///
/// # Errors
/// [`CredentialError::Token`].
pub fn bearer(token: &str) -> Result<Header, CredentialError> {
    let token = token.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token {
        Ok(authorization("Bearer", token))
    } else {
        Err(CredentialError::Token)
    }
}

/// Cookies, all in one header (RFC 6265, section 5.4).
///
/// # Errors
/// [`CredentialError::Cookie`], [`CredentialError::Control`].
pub fn cookies<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Header, CredentialError> {
    let mut cookies = Vec::new();
    for text in texts {
        if text.chars().any(char::is_control) {
            return Err(CredentialError::Control);
        }
        let pairs = text.split(';').map(str::trim);
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, _)) if !name.is_empty() => cookies.push(pair),
                _ => return Err(CredentialError::Cookie),
            }
        }
    }
    if cookies.is_empty() {
        Err(CredentialError::Cookie)
    } else {
        Ok(("Cookie".to_owned(), cookies.join("; ")))
    }
}

fn authorization(scheme: &str, text: &str) -> Header {
    ("Authorization".to_owned(), format!("{scheme} {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(header: Result<Header, CredentialError>) -> String {
        header.unwrap().1
    }

    #[test]
    fn a_credential_is_one_header() {
        // Method: the example of RFC 7617, a password with a colon, and tokens and cookies as
        // they are pasted.
        let aladdin = value(basic("Aladdin:open sesame"));
        assert_eq!(aladdin, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(value(basic("a:b:c")), "Basic YTpiOmM=");
        assert_eq!(value(basic(":")), "Basic Og==");
        assert_eq!(value(bearer("abc.d-e_f~+/=\n")), "Bearer abc.d-e_f~+/=");
        assert_eq!(value(cookies(["a=1;b=\"2\"", "c="])), "a=1; b=\"2\"; c=");
        assert_eq!(cookies(["a=1"]).unwrap().0, "Cookie");
    }

    #[test]
    fn an_invalid_credential_is_refused_without_repeating_it() {
        // Method: one wrong text per error; no message contains it.
        for (wrong, secret) in [
            (basic("hunter2"), "hunter2"),
            (basic("u:{n}hunter2"), "hunter2"),
            (basic("u:\nhunter2"), "hunter2"),
            (bearer("hunter 2"), "hunter"),
            (bearer(""), "hunter"),
            (cookies(["hunter2"]), "hunter2"),
            (cookies(["=hunter2"]), "hunter2"),
            (cookies([]), "hunter"),
            (cookies(["a=hunter2\r\nX: y"]), "hunter2"),
        ] {
            assert!(!wrong.unwrap_err().to_string().contains(secret));
        }
    }
}
