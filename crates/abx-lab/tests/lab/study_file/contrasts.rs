//! The pairs that a study file declares.

use abx_evidence::record::Contrast;
use abx_lab::study_file::StudyFile;

use super::{GOOD, parsed};

/// A contrast under all loads of the study.
const EVERYWHERE: &str = "\n[[contrast]]\nsubject = \"one\"\nbaseline = \"three\"\n";

#[test]
fn contrasts_are_pairs_under_the_loads_that_they_name() {
    // Method: a contrast under a sweep, by its name, and another load; one under all loads; then
    // one under a single row of the sweep.
    let contrast = |subject: &str, baseline: &str, loads: &[&str]| Contrast {
        subject: subject.to_owned(),
        baseline: baseline.to_owned(),
        loads: loads.iter().map(|&name| name.to_owned()).collect(),
        question: None,
    };
    let of_all = contrast("two", "one", &["small-c10", "small-c100", "one"]);
    let everywhere = contrast("one", "three", &[]);
    let two = format!("{GOOD}{EVERYWHERE}");
    assert_eq!(parsed(&two).unwrap().contrasts, [of_all, everywhere]);
    let row = GOOD.replace(r#"["small", "one"]"#, r#"["small-c100"]"#);
    let of_row = contrast("two", "one", &["small-c100"]);
    assert_eq!(parsed(&row).unwrap().contrasts, [of_row]);
}

#[test]
fn subjects_and_loads_that_are_left_out_leave_the_contrasts_too() {
    // Method: a study without a subject, without some loads, and without all loads of a contrast.
    let pairs = |study: &StudyFile| -> Vec<String> {
        let pairs = study.contrasts.iter().map(|contrast| {
            format!(
                "{}:{} {}",
                contrast.subject,
                contrast.baseline,
                contrast.loads.join(" ")
            )
        });
        pairs.collect()
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    let two = format!("{GOOD}{EVERYWHERE}");
    let mut study = parsed(&two).unwrap();
    study.keep_subjects(&names(&["one", "two"])).unwrap();
    assert_eq!(pairs(&study), ["two:one small-c10 small-c100 one"]);
    study.keep_first_positions();
    assert_eq!(pairs(&study), ["two:one small-c10 one"]);
    let row = two.replace(r#"["small", "one"]"#, r#"["small-c100"]"#);
    let mut study = parsed(&row).unwrap();
    study.keep_loads(&names(&["small-c10", "one"])).unwrap();
    assert_eq!(pairs(&study), ["one:three "]);
    study.keep_subjects(&names(&["one", "two"])).unwrap();
    assert_eq!(study.contrasts, []);
}
