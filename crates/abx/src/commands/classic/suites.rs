//! Cipher suites by the names that OpenSSL has for them.

use abx_engine::TlsSuite;

/// The cipher suites of these names, which are OpenSSL's.
///
/// # Errors
/// The first name that is none, with all that are.
pub fn suites<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<TlsSuite>, String> {
    let named = |name: &str| {
        let suite = TlsSuite::ALL.into_iter().find(|suite| suite.name() == name);
        suite.ok_or_else(|| {
            let text = TlsSuite::ALL.map(TlsSuite::name).join(":");
            format!("`{name}` is not one of {text}")
        })
    };
    names.map(named).collect()
}
