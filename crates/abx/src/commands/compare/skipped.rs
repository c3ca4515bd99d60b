//! Subjects whose program only the user can bring: they are skipped if it is absent, and the user
//! sees before the measurement which comparisons that costs.

use std::path::Path;

use abx_evidence::record::{Contrast, SkippedSubject};
use abx_lab::provision::{self, Provision};
use abx_lab::study_file::StudyFile;

use super::extent::Absent;
use crate::ui::end::{Failure, notify};

/// Leaves out subjects whose program is absent and only the user can bring, and reports them. At
/// least one must be left.
pub fn skip(
    file: &mut StudyFile,
    folder: &Path,
    absent: Absent,
) -> Result<Vec<SkippedSubject>, Failure> {
    if absent == Absent::Refused {
        return Ok(Vec::new());
    }
    let needed = provision::survey(file, folder, &provision::cache_folder());
    // Without a service no subject can be measured, so a service is never skipped.
    let is_service = |name: &str| file.services.iter().any(|service| service.name == name);
    let subjects = needed
        .iter()
        .filter(|provision| !is_service(provision.subject()));
    let skipped: Vec<SkippedSubject> = subjects
        .filter_map(Provision::brought)
        .map(|missing| SkippedSubject {
            name: missing.subject.clone(),
            needs: missing.what.clone(),
            how: missing.remedy.to_string(),
        })
        .collect();
    for subject in &skipped {
        notify(&format!(
            "skipping {}: it needs {}; {}",
            subject.name, subject.needs, subject.how
        ));
    }
    let names: Vec<&str> = skipped
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    for line in leave_out(file, &names)? {
        notify(&line);
    }
    Ok(skipped)
}

/// Leaves out these subjects, and returns lines about the comparisons that the study then lacks.
fn leave_out(file: &mut StudyFile, names: &[&str]) -> Result<Vec<String>, Failure> {
    let left: Vec<String> = file
        .subjects
        .iter()
        .map(|subject| subject.name.clone())
        .filter(|name| !names.contains(&name.as_str()))
        .collect();
    if left.is_empty() {
        return Err(Failure::usage(format!(
            "{}: no subject is left to measure: provide one of the skipped ones",
            file.name
        )));
    }
    let contrasts = file.contrasts.clone();
    file.keep_subjects(&left)
        .expect("these are names of its own");
    Ok(lacks(file, &contrasts))
}

/// Lines about these contrasts as far as the study no longer has them.
fn lacks(file: &StudyFile, contrasts: &[Contrast]) -> Vec<String> {
    let left_out = contrasts
        .iter()
        .filter(|contrast| !file.contrasts.contains(contrast));
    let mut pairs: Vec<String> = left_out
        .map(|contrast| format!("{} / {}", contrast.subject, contrast.baseline))
        .collect();
    pairs.dedup();
    let order = file.in_order();
    match (&order[..], &file.contrasts[..]) {
        // A single subject is refused later.
        _ if pairs.is_empty() || order.len() < 2 => Vec::new(),
        ([baseline, ..], []) => vec![format!(
            "every comparison that {} declares needs a skipped subject: abx compares the others \
             with {} instead",
            file.name, baseline.name
        )],
        _ => {
            let pairs = pairs.join(", ");
            let line = format!("leaving out comparisons that need a skipped subject: {pairs}");
            let unpaired = unpaired(file, contrasts);
            std::iter::once(line).chain(unpaired).collect()
        }
    }
}

/// The subjects in these contrasts that no remaining contrast has, and how to leave them out.
fn unpaired(file: &StudyFile, contrasts: &[Contrast]) -> Option<String> {
    let is_in = |contrasts: &[Contrast], name: &str| {
        let mut pairs = contrasts.iter().map(Contrast::pair);
        pairs.any(|pair| pair.contains(&name))
    };
    let names = file.subjects.iter().map(|subject| subject.name.as_str());
    let (lone, compared): (Vec<&str>, Vec<&str>) =
        names.partition(|name| is_in(contrasts, name) && !is_in(&file.contrasts, name));
    (!lone.is_empty()).then(|| {
        format!(
            "measured, but compared with no other subject: {}. To leave them out: abx study run \
             {} --subjects {}",
            lone.join(", "),
            file.name,
            compared.join(",")
        )
    })
}

#[cfg(test)]
mod tests {
    use abx_lab::catalog;

    use super::*;

    /// The comparisons that a study of the catalog lacks without these subjects.
    fn without(study: &str, names: &[&str]) -> Vec<String> {
        let entry = catalog::entry(study).unwrap();
        leave_out(&mut entry.study().unwrap(), names).unwrap()
    }

    #[test]
    fn comparisons_that_are_skipped_are_named_before_the_measurement() {
        // Method: no subject is missing; the clients of an extension that was not built; a study
        // in which every contrast has a missing subject; a study of two subjects, one missing.
        assert_eq!(without("cassandra5-clients", &[]), [""; 0]);
        let extension = ["cql", "cql-disconnect", "fpm-cql"];
        assert_eq!(
            without("cassandra5-clients", &extension),
            [
                "leaving out comparisons that need a skipped subject: cql-disconnect / cql, \
                 fpm-cql / cql, no-database / cql",
                "measured, but compared with no other subject: no-database. To leave them out: abx \
                 study run cassandra5-clients --subjects python-compiled,python-pure",
            ]
        );
        let lines = without("worker-faults", &["inside", "nginx"]);
        let [line] = &lines[..] else {
            panic!("{lines:?}");
        };
        assert!(
            line.starts_with("every comparison that worker-faults declares"),
            "{line}"
        );
        assert!(
            line.ends_with("compares the others with outside instead"),
            "{line}"
        );
        assert_eq!(without("nginx-vs-lighttpd", &["nginx"]), [""; 0]);
    }

    #[test]
    fn a_study_without_a_subject_is_refused() {
        // Method: both subjects of a study.
        let entry = catalog::entry("nginx-vs-lighttpd").unwrap();
        let mut file = entry.study().unwrap();
        let refused = leave_out(&mut file, &["nginx", "lighttpd"]).unwrap_err();
        assert!(refused.message.contains("no subject is left"));
    }
}
