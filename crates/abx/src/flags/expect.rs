//! `--expect` and `--fail-if-slower`: what must hold for exit code 0.

use abx_evidence::record::LoadRecord;
use abx_lab::Study;
use abx_stats::stop::blocks_for_verdict;
use abx_verdict::expectation::KnownNames;
use abx_verdict::{Doubt, Expectation, ExpectationResult, Standing, StudyRecord};
use clap::Args;

use crate::flags::units;
use crate::ui::end::{End, Failure};

/// What must hold.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Pass or fail")]
pub struct ExpectFlags {
    /// Exit with 1 if this fails: 'new >= 0.97 * old'.
    ///
    /// Also 'server_cpu: new <= 1.1 * old @ LOAD' or, per subject and load,
    /// 'p99<50ms,errors<0.1%'; may be repeated. The exit code is 3 if the data do not decide it.
    /// `abx compare` measures until it is decided, or until the budget is used up.
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Exit with 1 if a subject is this much slower.
    ///
    /// Each subject is compared with its baseline, for example with 3%. The exit code is 3 if too
    /// little was measured to decide. `abx compare` measures until it is decided, or until the
    /// budget is used up.
    #[arg(long, value_name = "PCT", value_parser = slack)]
    pub fail_if_slower: Option<Expectation>,
}

fn slack(text: &str) -> Result<Expectation, String> {
    Expectation::not_slower(units::percent(text)?)
}

/// What must hold of a server alone.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Pass or fail")]
pub struct ThresholdFlags {
    /// Exit with 1 if this fails, such as 'p99<50ms'.
    ///
    /// It must hold under each load, or under one: 'errors<0.1% @ LOAD'. May be repeated. The exit
    /// code is 3 if the data do not decide it.
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
}

impl From<&ThresholdFlags> for ExpectFlags {
    fn from(flags: &ThresholdFlags) -> ExpectFlags {
        ExpectFlags {
            expect: flags.expect.clone(),
            fail_if_slower: None,
        }
    }
}

impl ExpectFlags {
    /// Whether anything must hold.
    pub fn is_given(&self) -> bool {
        !self.expect.is_empty() || self.fail_if_slower.is_some()
    }

    /// A warning before a study whose set number of blocks is too small for a comparison. It is
    /// large enough for a threshold.
    pub fn warning(expectations: &[Expectation], blocks: Option<u32>) -> Option<String> {
        let fewest = blocks_for_verdict(true);
        let blocks = blocks.filter(|blocks| (*blocks as usize) < fewest)?;
        let compares = expectations
            .iter()
            .any(|expectation| !matches!(expectation, Expectation::Threshold(_)));
        compares.then(|| {
            format!(
                "abx: --blocks {blocks} cannot show which is slower, so this will end with exit \
                 code 3: run at least {fewest} (`--blocks {fewest}`)"
            )
        })
    }

    /// The expectations, parsed with the names that a study has.
    pub fn read(&self, known: &KnownNames) -> Result<Vec<Expectation>, Failure> {
        let expectations = self.expect.iter().map(|text| {
            Expectation::parse(text, known)
                .map_err(|error| Failure::usage(format!("--expect: {error}")))
        });
        let slack = self.fail_if_slower.iter().cloned().map(Ok);
        let mut all_different: Vec<Expectation> = Vec::new();
        for expectation in expectations.chain(slack) {
            let expectation = expectation?;
            if !all_different.contains(&expectation) {
                all_different.push(expectation);
            }
        }
        Ok(all_different)
    }
}

/// The names in a study that has not run yet.
pub fn known_of_study(study: &Study) -> KnownNames {
    KnownNames {
        subjects: study
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
        loads: {
            let loads = study.loads.iter().map(|load| &load.name);
            let faults = study.faults.iter().map(|fault| &fault.name);
            loads.chain(faults).cloned().collect()
        },
    }
}

/// The names in the record of a study.
pub fn known_of_record(record: &StudyRecord) -> KnownNames {
    KnownNames {
        subjects: record
            .measured
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
        loads: {
            let measured = &record.measured;
            let mut names: Vec<String> = Vec::new();
            let grids = measured.loads.iter().map(LoadRecord::name_of_grid);
            let loads = measured.loads.iter().map(|load| load.name.as_str());
            let faults = measured.faults.iter().map(|fault| fault.name.as_str());
            for name in grids.chain(loads).chain(faults) {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
            names
        },
    }
}

/// How a command ends with these results, if it would end with `end` without expectations.
pub fn end(results: &[ExpectationResult], end: End) -> End {
    let fails = |result: &ExpectationResult| result.standing == Standing::Fails;
    let is_open = |result: &ExpectationResult| {
        if result.is_demanded {
            result.standing != Standing::Holds
        } else {
            result.standing.is_of_too_little()
        }
    };
    match end {
        End::Interrupted => end,
        _ if results.iter().any(fails) => End::Failed,
        End::Done if results.iter().any(is_open) => End::NoClaim,
        _ => end,
    }
}

/// A remedy for expectations that are unsettled. The exit code does not show why they are, and may
/// not even show that they are.
pub fn remark(record: &StudyRecord, results: &[ExpectationResult]) -> Option<String> {
    let is_open = |result: &&ExpectationResult| matches!(result.standing, Standing::Unsettled(_));
    let open: Vec<&ExpectationResult> = results.iter().filter(is_open).collect();
    if open.is_empty() {
        return None;
    }
    let flags = match open.iter().filter(|result| result.is_demanded).count() {
        0 => "--fail-if-slower",
        demanded if demanded == open.len() => "--expect",
        _ => "--expect and --fail-if-slower",
    };
    let too_little = open
        .iter()
        .find(|result| result.standing.is_of_too_little());
    let flag = abx_report::settling_flag(record, results);
    let what = match too_little.map(|result| &result.standing) {
        Some(Standing::Unsettled(Doubt::FewBlocks(fewest))) => format!(
            "too little was measured to show which is slower, run at least {fewest} blocks (`{}`)",
            flag.as_deref().unwrap_or("--budget")
        ),
        Some(Standing::Unsettled(Doubt::NoInterval)) => {
            "a ratio has no interval, so it is not known which is slower".to_owned()
        }
        Some(_) => "nothing was compared, so nothing was checked".to_owned(),
        None => {
            let passes = match flags {
                "--fail-if-slower" => ", which does not count as a failure",
                _ => "",
            };
            format!(
                "undecided in {} of {} comparisons{passes}: {}",
                open.len(),
                results.len(),
                remedy(&open, flag)
            )
        }
    };
    Some(format!("abx: {flags}: {what}"))
}

/// The remedy that would settle these results.
fn remedy(open: &[&ExpectationResult], flag: Option<String>) -> String {
    let bound = Standing::Unsettled(Doubt::GeneratorBound);
    if open.iter().all(|result| result.standing == bound) {
        return "the generator or a service was the limit, so it is not known which is slower; see \
         the findings for remedies, or use `--expect 'server_cpu: ...'`"
            .to_owned();
    }
    let not_of_speed = Standing::Unsettled(Doubt::NotOfSpeed);
    if open.iter().all(|result| result.standing == not_of_speed) {
        return "these loads have no speed: use `--expect` with a metric".to_owned();
    }
    match flag {
        Some(flag) => format!("measure longer (`{flag}`)"),
        None if open.iter().any(|result| result.blocks_more.is_some()) => {
            "no practical number of blocks decides a ratio so close to its limit: move the limit \
             away from the ratio"
                .to_owned()
        }
        None => "the true ratio may lie further out, as the findings explain".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result_of(is_demanded: bool, standing: Standing) -> ExpectationResult {
        ExpectationResult {
            expected: String::new(),
            is_demanded,
            metric: None,
            load: String::new(),
            subject: String::new(),
            goal: None,
            other: String::new(),
            bounds: None,
            is_speed_of_time: false,
            wanted: None,
            blocks_more: None,
            standing,
        }
    }

    #[test]
    fn the_exit_code_follows_from_the_results() {
        // Method: each standing, demanded or not, with the ends that a record can have.
        let unsettled = || Standing::Unsettled(Doubt::Straddles);
        let few = || Standing::Unsettled(Doubt::FewBlocks(6));
        let invalid = || Standing::Invalid(String::new());
        let table = [
            (true, Standing::Holds, End::Done, End::Done),
            (true, Standing::Fails, End::Done, End::Failed),
            (true, unsettled(), End::Done, End::NoClaim),
            (true, invalid(), End::Done, End::NoClaim),
            (false, Standing::Holds, End::Done, End::Done),
            (false, Standing::Fails, End::Done, End::Failed),
            (false, unsettled(), End::Done, End::Done),
            (false, few(), End::Done, End::NoClaim),
            (false, few(), End::Interrupted, End::Interrupted),
            (false, Standing::Holds, End::NoClaim, End::NoClaim),
            (true, Standing::Fails, End::NoClaim, End::Failed),
            (true, Standing::Fails, End::Interrupted, End::Interrupted),
        ];
        for (is_demanded, standing, before, expected) in table {
            let message = format!("{is_demanded} {standing:?} {before:?}");
            let results = [
                result_of(true, Standing::Holds),
                result_of(is_demanded, standing),
            ];
            assert_eq!(end(&results, before), expected, "{message}");
        }
    }
}
