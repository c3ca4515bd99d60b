//! Cipher suites by their names in OpenSSL.

use abx_engine::TlsSuite;

/// The cipher suites with these names in OpenSSL.
///
/// # Errors
/// The first unknown name, and all known ones.
pub fn suites<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<TlsSuite>, String> {
    let suite = |name: &str| {
        let suite = TlsSuite::ALL.into_iter().find(|suite| suite.name() == name);
        suite.ok_or_else(|| {
            let known = TlsSuite::ALL.map(TlsSuite::name).join(":");
            format!("`{name}` is not one of {known}")
        })
    };
    names.map(suite).collect()
}
