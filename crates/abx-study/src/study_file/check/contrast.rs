//! The pairs that a study file requests: of subjects and loads that it has, each once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use abx_evidence::record::Contrast;

use crate::servers::fault::Fault;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::model::{StudyRows, SubjectSpec};
use crate::study_file::nearest::meant;
use crate::study_file::raw::RawContrast;

/// The contrasts of a file; `list` is their place in it.
///
/// # Errors
/// The first that is not possible, or is requested twice.
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
    let named = ContrastNames::of(rows, faults);
    let mut pairs = BTreeMap::new();
    let mut contrasts: Vec<Contrast> = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let here = list.item(index);
        check_known("subject", &raw.subject, &names, &here.key("subject"))?;
        check_known("subject", &raw.baseline, &names, &here.key("baseline"))?;
        if raw.subject == raw.baseline {
            return Err(here.fault(format!(
                "`{}` is compared with itself: name two subjects",
                short(&raw.subject)
            )));
        }
        let loads = named.of_contrast(&raw, &here)?;
        let mut pair = [raw.subject.clone(), raw.baseline.clone()];
        pair.sort();
        if let Some(first) = pairs.insert(pair, index) {
            return Err(here.fault(format!(
                "the contrast in line {} already compares `{}` and `{}`: keep one of the two, with \
                 all of its `loads`",
                list.item(first).line(),
                short(&raw.subject),
                short(&raw.baseline)
            )));
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

/// Refuses an unknown name; `kind` says what it should name.
///
/// # Errors
/// The name, and the known one that may be meant.
pub fn check_known(
    kind: &str,
    name: &str,
    known: &[&str],
    here: &KeyPosition,
) -> Result<(), Diagnostic> {
    if known.contains(&name) {
        Ok(())
    } else {
        Err(no_such_name(kind, name, known, here))
    }
}

fn no_such_name(kind: &str, name: &str, known: &[&str], here: &KeyPosition) -> Diagnostic {
    here.fault(format!(
        "`{}` is `{}`, and no {kind} has that name; {}",
        here.name(),
        short(name),
        meant(name, known)
    ))
}

/// The names of loads and faults that a contrast may list.
struct ContrastNames<'a> {
    /// The rows by name: all rows of a sweep by the name of its table, others by their own.
    rows: HashMap<&'a str, Vec<&'a str>>,
    /// The names of tables, of the rows of sweeps, and of faults, in this order.
    known: Vec<&'a str>,
}

impl<'a> ContrastNames<'a> {
    fn of(rows: &'a StudyRows, faults: &'a [Fault]) -> ContrastNames<'a> {
        let tables: BTreeSet<&str> = rows.tables.iter().map(String::as_str).collect();
        let row_names = rows.loads.iter().map(|load| load.name.as_str());
        let fault_names = faults.iter().map(|fault| fault.name.as_str());
        let sweep_rows = row_names.clone().filter(|name| !tables.contains(name));
        let known = tables.iter().copied().chain(sweep_rows);
        let known = known.chain(fault_names.clone()).collect();
        let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
        for (row, table) in row_names.zip(&rows.tables) {
            by_name.entry(row).or_default().push(row);
            if row != table {
                by_name.entry(table).or_default().push(row);
            }
        }
        for fault in fault_names {
            by_name.entry(fault).or_default().push(fault);
        }
        ContrastNames {
            rows: by_name,
            known,
        }
    }

    /// The rows of the loads that a contrast names, each once.
    fn of_contrast(
        &self,
        raw: &RawContrast,
        here: &KeyPosition,
    ) -> Result<Vec<String>, Diagnostic> {
        let (mut seen, mut loads) = (HashSet::new(), Vec::new());
        for (index, name) in raw.loads.iter().flatten().enumerate() {
            let Some(rows) = self.rows.get(name.as_str()) else {
                let here = here.key("loads").item(index);
                return Err(no_such_name("load", name, &self.known, &here));
            };
            let unseen = rows.iter().filter(|row| seen.insert(**row));
            loads.extend(unseen.map(|row| (*row).to_owned()));
        }
        Ok(loads)
    }
}
