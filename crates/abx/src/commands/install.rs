//! `abx study install`, and `--install` of `abx study check`: installs the needs of the subjects of
//! studies.

use std::path::Path;

use abx_lab::catalog::CheckedStudy;
use abx_lab::provision::{self, Provision};

use crate::ui::end::Failure;

/// Installs what the subjects of a study lack. Reports programs that only the user can bring, and
/// returns how many subjects lack such a program.
///
/// # Errors
/// A usage failure that lists what could not be installed and why.
pub fn install(
    study: &CheckedStudy,
    cache: &Path,
    notify: &mut dyn FnMut(&str),
) -> Result<usize, Failure> {
    let needed = provision::survey(&study.file, &study.folder, cache);
    let (to_bring, to_install): (Vec<Provision>, Vec<Provision>) = needed
        .into_iter()
        .partition(|provision| provision.brought().is_some());
    for missing in to_bring.iter().filter_map(Provision::brought) {
        notify(&format!("{}/{missing}", study.file.name));
    }
    provision::install(&to_install, notify).map_err(Failure::usage)?;
    Ok(to_bring.len())
}
