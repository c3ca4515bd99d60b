//! `--expect` and `--fail-if-slower`: what must hold for exit code 0.

use abx_lab::Study;
use abx_stats::stop::blocks_for_verdict;
use abx_verdict::expectation::{KnownNames, expectation_results};
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
    /// Whether something must hold.
    pub fn is_given(&self) -> bool {
        !self.expect.is_empty() || self.fail_if_slower.is_some()
    }

    /// A warning before a study that runs exactly so many blocks: a comparison needs more of them,
    /// a threshold does not.
    pub fn warning(expectations: &[Expectation], blocks: Option<u32>) -> Option<String> {
        let fewest = blocks_for_verdict(true);
        let blocks = blocks.filter(|blocks| (*blocks as usize) < fewest)?;
        let mut each = expectations.iter();
        let compares = each.any(|expectation| !matches!(expectation, Expectation::Threshold(_)));
        compares.then(|| {
            format!(
                "abx: --blocks {blocks} cannot show which is slower, so this will end with exit \
                 code 3: run at least {fewest} (`--blocks {fewest}`)"
            )
        })
    }

    /// All of them, each read with the names that a study has.
    pub fn read(&self, known: &KnownNames) -> Result<Vec<Expectation>, Failure> {
        let each = self.expect.iter().map(|text| {
            Expectation::parse(text, known)
                .map_err(|error| Failure::usage(format!("--expect: {error}")))
        });
        let slack = self.fail_if_slower.iter().cloned().map(Ok);
        each.chain(slack).collect()
    }
}

/// The names of a study that is still to be conducted.
pub fn known_of_study(study: &Study) -> KnownNames {
    KnownNames {
        subjects: study
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
        loads: study.loads.iter().map(|load| load.name.clone()).collect(),
    }
}

/// The names of a study that was conducted.
pub fn known_of_record(record: &StudyRecord) -> KnownNames {
    KnownNames {
        subjects: record
            .measured
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
        loads: record
            .measured
            .loads
            .iter()
            .map(|load| load.name.clone())
            .collect(),
    }
}

/// The results of all of them for a record.
pub fn results(record: &StudyRecord, expectations: &[Expectation]) -> Vec<ExpectationResult> {
    expectation_results(record, expectations)
}

/// How a command ends whose record would end it with `end`, were nothing expected.
pub fn end(expectation_results: &[ExpectationResult], end: End) -> End {
    let fails =
        |expectation_result: &ExpectationResult| expectation_result.standing == Standing::Fails;
    let is_open = |expectation_result: &ExpectationResult| {
        if expectation_result.is_demanded {
            expectation_result.standing != Standing::Holds
        } else {
            expectation_result.standing.is_of_too_little()
        }
    };
    match end {
        End::Interrupted => end,
        _ if expectation_results.iter().any(fails) => End::Failed,
        End::Done if expectation_results.iter().any(is_open) => End::NoClaim,
        _ => end,
    }
}

/// A remedy for expectations that are unsettled, since the exit code does not show why, or does not
/// show it at all.
pub fn remark(record: &StudyRecord, expectation_results: &[ExpectationResult]) -> Option<String> {
    let is_open = |expectation_result: &&ExpectationResult| {
        matches!(expectation_result.standing, Standing::Unsettled(_))
    };
    let open: Vec<&ExpectationResult> = expectation_results.iter().filter(is_open).collect();
    let flags = match open
        .iter()
        .filter(|expectation_result| expectation_result.is_demanded)
        .count()
    {
        _ if open.is_empty() => return None,
        0 => "--fail-if-slower",
        demanded if demanded == open.len() => "--expect",
        _ => "--expect and --fail-if-slower",
    };
    let too_little = open
        .iter()
        .find(|expectation_result| expectation_result.standing.is_of_too_little());
    let flag = abx_report::settling_flag(record, expectation_results);
    let what = match too_little.map(|expectation_result| &expectation_result.standing) {
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
                "not settled in {} of {} comparisons{passes}: {}",
                open.len(),
                expectation_results.len(),
                remedy(&open, flag)
            )
        }
    };
    Some(format!("abx: {flags}: {what}"))
}

/// The remedy that would settle these.
fn remedy(open: &[&ExpectationResult], flag: Option<String>) -> String {
    let are = |doubt| {
        open.iter()
            .all(|expectation_result| expectation_result.standing == Standing::Unsettled(doubt))
    };
    if are(Doubt::GeneratorBound) {
        return "the generator or a service was the limit, so it is not known which is slower; see \
         the findings for remedies, or use `--expect 'server_cpu: ...'`"
            .to_owned();
    }
    match flag {
        Some(flag) => format!("measure longer (`{flag}`)"),
        None if open
            .iter()
            .any(|expectation_result| expectation_result.blocks_more.is_some()) =>
        {
            "no usual number of blocks settles a ratio so close to its limit, so move the limit \
             away from it"
                .to_owned()
        }
        None => "the true ratio may lie further out, as the findings explain".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation_result(is_demanded: bool, standing: Standing) -> ExpectationResult {
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
        // Method: each standing, demanded or not, beside each end of a record.
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
            let expectation_results = [
                expectation_result(true, Standing::Holds),
                expectation_result(is_demanded, standing),
            ];
            assert_eq!(end(&expectation_results, before), expected, "{message}");
        }
    }
}
