//! The pairs that a study file asks for: of subjects and loads that it has, each once.

use std::collections::BTreeSet;

use abx_evidence::record::Contrast;

use crate::servers::fault::Fault;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, Mistake, short};
use crate::study_file::model::{StudyRows, SubjectSpec};
use crate::study_file::nearest::meant;
use crate::study_file::raw::RawContrast;

/// The contrasts of a file, `list` being where they stand.
///
/// # Errors
/// The first that cannot be asked, or is asked twice.
pub fn contrasts(
    raw: Vec<RawContrast>,
    list: &KeyPosition,
    subjects: &[SubjectSpec],
    rows: &StudyRows,
    faults: &[Fault],
) -> Result<Vec<Contrast>, Diagnostic> {
    let names: Vec<&str> = subjects
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    let mut contrasts: Vec<Contrast> = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        check_known("subject", &raw.subject, &names, &here.key("subject"))?;
        check_known("subject", &raw.baseline, &names, &here.key("baseline"))?;
        if raw.subject == raw.baseline {
            return Err(here.fault(Mistake::ContrastWithItself(raw.subject)));
        }
        let loads = loads(&raw, &here, rows, faults)?;
        let is_same = |contrast: &Contrast| {
            let [subject, baseline] = contrast.pair();
            [[subject, baseline], [baseline, subject]].contains(&[&raw.subject, &raw.baseline])
        };
        if let Some(first) = contrasts.iter().position(is_same) {
            return Err(here.fault(Mistake::ContrastTwice {
                subject: short(&raw.subject),
                baseline: short(&raw.baseline),
                first_line: list.item(first).line(),
            }));
        }
        contrasts.push(Contrast {
            subject: raw.subject,
            baseline: raw.baseline,
            loads,
            question: raw.question,
        });
    }
    Ok(contrasts)
}

/// Refuses a name that nothing of this kind has.
///
/// # Errors
/// [`Mistake::NoSuchName`].
pub fn check_known(
    kind: &'static str,
    name: &str,
    known: &[&str],
    here: &KeyPosition,
) -> Result<(), Diagnostic> {
    if known.contains(&name) {
        Ok(())
    } else {
        Err(here.fault(Mistake::NoSuchName {
            key: here.name(),
            kind,
            name: name.to_owned(),
            meant: meant(name, known),
        }))
    }
}

/// The rows of those loads that are named: each by its own name, or all of a sweep by its
/// table's; a fault by its name.
fn loads(
    raw: &RawContrast,
    here: &KeyPosition,
    rows: &StudyRows,
    faults: &[Fault],
) -> Result<Vec<String>, Diagnostic> {
    let of_rows = rows.loads.iter().map(|load| load.name.as_str());
    let of_faults = faults
        .iter()
        .map(|fault| (fault.name.as_str(), &fault.name));
    let named = || of_rows.clone().zip(&rows.tables).chain(of_faults.clone());
    let of_tables: BTreeSet<&str> = rows.tables.iter().map(String::as_str).collect();
    let of_sweeps = of_rows.clone().filter(|name| !of_tables.contains(name));
    let known: Vec<&str> = of_tables
        .iter()
        .copied()
        .chain(of_sweeps)
        .chain(faults.iter().map(|fault| fault.name.as_str()))
        .collect();
    let mut loads: Vec<String> = Vec::new();
    for (index, name) in raw.loads.iter().flatten().enumerate() {
        check_known("load", name, &known, &here.key("loads").item(index))?;
        let is_meant = |row: &str, table: &String| row == name || table == name;
        let meant = named().filter(|(row, table)| is_meant(row, table));
        for (row, _) in meant {
            if !loads.iter().any(|load| load == row) {
                loads.push(row.to_owned());
            }
        }
    }
    Ok(loads)
}
