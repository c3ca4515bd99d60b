//! `abx study install`, and `--install` of `abx study check`: installs the needs of the subjects of
//! studies.

use std::path::Path;

use abx_lab::catalog::CheckedStudy;
use abx_lab::provision::{self, Provision};

use crate::ui::end::Failure;

/// Installs what is missing of a study. Reports programs that only the user can bring; returns how
/// many subjects lack such a program.
///
/// # Errors
/// A usage failure that lists what could not be installed and why.
pub fn install(
    study: &CheckedStudy,
    cache: &Path,
    notify: &mut dyn FnMut(&str),
) -> Result<usize, Failure> {
    let needed = provision::survey(&study.file, &study.folder, cache);
    let (brought, others): (Vec<Provision>, Vec<Provision>) = needed
        .into_iter()
        .partition(|provision| provision.brought().is_some());
    for missing in brought.iter().filter_map(Provision::brought) {
        notify(&format!("{}/{missing}", study.file.name));
    }
    provision::install(&others, notify).map_err(Failure::usage)?;
    Ok(brought.len())
}
