//! How a study was measured, and why it ended.

use abx_evidence::StudyRecord;
use abx_evidence::record::{Interleave, LoadRecord, StudyEnd};

use super::prose::prose;
use super::units::{nanos, percent, plural, seconds};
use super::verdict::name;
use super::wrap::{clean, clean_name};

pub(crate) fn ended(record: &StudyRecord) -> String {
    let settings = &record.measured.settings;
    // The finding about a failure has all of its text.
    let first_line = |text: &str| clean(text).lines().next().unwrap_or_default().to_owned();
    match &record.measured.end {
        StudyEnd::Running => "Unfinished: saved while it was running".to_owned(),
        StudyEnd::Precision => format!(
            "Ended: every interval is narrow enough for the margin of {}",
            percent(settings.margin)
        ),
        StudyEnd::Certain if record.conclusions.primary().count() < 2 => {
            "Ended: the 99.9 % interval excludes 1".to_owned()
        }
        StudyEnd::Certain => format!(
            "Ended: each 99.9 % interval excludes 1, or is narrow enough for the margin of \
             {} at 97 %",
            percent(settings.margin)
        ),
        StudyEnd::Settled => "Ended: each 99.9 % interval lies on one side of its limit".to_owned(),
        StudyEnd::Blocks => "Ended: the requested blocks are done".to_owned(),
        StudyEnd::Budget => format!(
            "Ended: the budget of {} is used up",
            seconds(settings.budget_s)
        ),
        StudyEnd::Invalid => "Ended: with these failures no comparison can become valid".to_owned(),
        StudyEnd::Interrupted => "Interrupted".to_owned(),
        StudyEnd::Failed { why } => {
            format!("Ended early: {}", first_line(why))
        }
        StudyEnd::SubjectFailed { subject, how } => format!(
            "Ended early: {} could not go on: {}",
            name(subject),
            first_line(how)
        ),
        StudyEnd::ServiceFailed { how, .. } => format!("Ended early: {}", first_line(how)),
    }
}

/// What to type to have it again, with the seed that it had.
pub(crate) fn repeating(record: &StudyRecord) -> String {
    let mut words = record.measured.command.clone();
    let has_seed = |word: &String| word == "--seed" || word.starts_with("--seed=");
    if !words.iter().any(has_seed) {
        words.extend(["--seed".to_owned(), record.measured.seed.to_string()]);
    }
    shell_words::join(words)
}

/// How subjects took turns under one load.
pub(crate) fn turns(record: &StudyRecord, load: &LoadRecord) -> String {
    let Some(pilot) = &load.pilot else {
        return String::new();
    };
    let stretch = match pilot.interleave {
        Interleave::Slices => "slices",
        Interleave::Trials => "trials",
    };
    let mut text = format!(
        "{} of {} (the first {} not counted), {} per block, warm-up {}",
        if record.measured.loads.len() > 1 {
            format!("{}: {stretch}", name(&load.name))
        } else {
            format!("Interleaving: {stretch}")
        },
        nanos(pilot.slice_ns),
        nanos(pilot.discard_ns),
        plural(pilot.rounds.into(), "round"),
        nanos(pilot.warm_up_ns),
    );
    if let Some(reason) = &pilot.interleave_reason {
        text.push_str(&format!(
            "; {stretch} because {}",
            prose(&clean_name(reason), &[])
        ));
    }
    if let Some(reason) = &pilot.slice_reason {
        let how = match pilot.slice_choice {
            Some(_) => "chosen because",
            None => "lengthened because",
        };
        text.push_str(&format!("; {how} {}", prose(&clean_name(reason), &[])));
    }
    if pilot.shortened {
        text.push_str("; shortened to fit the time of the study");
    }
    for (cut_short, how) in [
        (false, "still warming up when the pilot ended"),
        (true, "not seen to settle in the pilot's time"),
    ] {
        let unsettled = { pilot.subjects.iter() }
            .filter(|(_, one)| !one.settled && one.cut_short == cut_short)
            .map(|(subject, _)| name(subject));
        let names: Vec<String> = unsettled.collect();
        if !names.is_empty() {
            text.push_str(&format!("; {how}: {}", names.join(", ")));
        }
    }
    text + "."
}
