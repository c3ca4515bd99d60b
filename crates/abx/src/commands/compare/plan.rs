//! `abx compare --plan`: the results that a study can have, judging by earlier studies on this
//! machine.

use abx_lab::history::{Archive, Query};
use abx_lab::{Source, Study, WHY_SHARE, read_text, state_folder, this_machine};
use abx_verdict::Fingerprint;
use abx_verdict::history::{Entry, OutlineSubject, RecordKind};
use abx_verdict::plan::{PastStudy, PlannedStudy, STUDIES_MOST, StudyPlan};

use super::flags::Compare;
use crate::flags::expect::known_of_study;
use crate::flags::output::{style, to_stdout};
use crate::ui::end::{End, Failure};

/// Prints the plan, and measures nothing.
pub fn plan(study: &Study, compare: &Compare) -> Result<End, Failure> {
    // A mistake in the expectations is found now, and not when the study runs.
    compare.expect.read(&known_of_study(study))?;
    let machine = this_machine().map_err(Failure::usage)?;
    let planned = PlannedStudy {
        subjects: study.subjects.iter().map(outline).collect(),
        loads: study.loads.len(),
        together: most_pairs(study),
        budget_s: study.budget().as_secs_f64(),
        blocks: study.blocks,
        margin: study.margin,
        why_share: if study.why { WHY_SHARE } else { 0.0 },
        has_limits: compare.expect.is_given(),
        machine: Fingerprint::of_machine(&machine, 0),
    };
    let plan = StudyPlan::of(planned, &past_studies()?);
    let text = abx_report::plan_text(&plan, &style(&compare.output));
    to_stdout(&text).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

/// The number of pairs under the load that has the most.
fn most_pairs(study: &Study) -> usize {
    if study.contrasts.is_empty() {
        return study.subjects.len().saturating_sub(1);
    }
    let pairs = study.loads.iter().map(|load| {
        let contrasts = study.contrasts.iter();
        contrasts
            .filter(|contrast| contrast.is_of(&load.name))
            .count()
    });
    pairs.max().unwrap_or_default()
}

fn outline(subject: &abx_lab::Subject) -> OutlineSubject {
    let (command, address) = match &subject.source {
        Source::Command(launch) => (launch.words(), None),
        Source::Address(target) => (Vec::new(), Some(target.url.clone())),
    };
    OutlineSubject {
        name: subject.name.clone(),
        version: None,
        command,
        address,
    }
}

/// The newest saved studies. Records that cannot be read are skipped.
fn past_studies() -> Result<Vec<PastStudy>, Failure> {
    let folder = state_folder();
    let archive = Archive::open(&folder).map_err(Failure::usage)?;
    let history = archive.list(&Query::default()).map_err(Failure::usage)?;
    let studies = history
        .entries
        .iter()
        .filter(|entry| entry.outline.kind == RecordKind::Study);
    let read = |entry: &Entry| {
        let text = read_text(&folder.join(&entry.file)).ok()?;
        PastStudy::read(&text, entry.file.starts_with("doctor-")).ok()?
    };
    Ok(studies.filter_map(read).take(STUDIES_MOST).collect())
}
