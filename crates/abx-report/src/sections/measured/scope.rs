//! The conditions that a study or run did not vary, and how often any of its verdicts is wrong.

use abx_verdict::{CpuSharing, Families, Route, Scope, StudyRecord};

use crate::document::Document;
use crate::words::metrics::capitalized;
use crate::words::units::percent;

/// What a study did not vary, on one line.
pub(crate) fn not_varied(record: &StudyRecord) -> String {
    let measured = &record.measured;
    let builds = match measured.subjects.len() {
        1 => "one build of the server",
        _ => "one build of each server",
    };
    let scope = line(&record.conclusions.scope, builds);
    // Services run where the subjects do.
    if measured.services.is_empty() {
        scope
    } else {
        scope.replacen("for the servers,", "for the servers and their services,", 1)
    }
}

/// The conditions that a study did not vary, and that its intervals hold for repeats under them.
fn of_study(record: &StudyRecord) -> String {
    let measured = &record.measured;
    let scope = not_varied(record);
    if measured.is_comparison() {
        format!("{scope} Intervals hold for repeats in this scope.")
    } else {
        scope
    }
}

/// The route and the CPUs of a study, in a few words.
pub(crate) fn briefly(record: &StudyRecord) -> String {
    let scope = &record.conclusions.scope;
    let routes: Vec<&str> = scope.routes.iter().copied().map(route).collect();
    let cpus = cpus(scope);
    let cpus = cpus.trim_end_matches(" (not SMT siblings)");
    format!("{}; {cpus}.", capitalized(&routes.join(", ")))
}

/// The scope of a run, on one line.
pub(crate) fn of_run(scope: &Scope) -> String {
    line(scope, "one build of the server")
}

fn line(scope: &Scope, builds: &str) -> String {
    let mut parts: Vec<&str> = scope.routes.iter().copied().map(route).collect();
    let are_here = |route: &Route| {
        matches!(
            route,
            Route::Loopback | Route::UnixSocket | Route::OwnAddress
        )
    };
    parts.push(if scope.routes.iter().all(are_here) {
        "one machine, one boot"
    } else if scope.agents > 0 {
        "one boot of each agent's machine"
    } else {
        "one boot of the generator's machine"
    });
    parts.push(builds);
    if scope.left_running > 0 {
        parts.push(if scope.started == 0 {
            "left running"
        } else {
            "those at an address left running"
        });
    }
    let caches = match (scope.warm_caches, scope.cold_files) {
        (true, true) => "warm caches, and cold files",
        (false, true) => "cold files",
        _ => "warm caches",
    };
    format!("Scope: {}; {}; {caches}.", parts.join(", "), cpus(scope))
}

fn route(route: Route) -> &'static str {
    match route {
        Route::Loopback => "loopback",
        Route::UnixSocket => "a Unix socket",
        Route::OwnAddress => "this machine's own address",
        Route::Network => "the network to another machine",
        Route::NotRecorded => "a route that is not recorded",
    }
}

fn cpus(scope: &Scope) -> String {
    let generator = scope.generator_cpus;
    let unit = |count: usize| if count == 1 { "CPU" } else { "CPUs" };
    if scope.agents > 0 {
        let agents = match scope.agents {
            1 => "load from one agent".to_owned(),
            count => format!("load from {count} agents"),
        };
        return match scope.subject_cpus {
            None => format!("{agents}, CPUs of the servers not set by abx"),
            Some(subjects) => format!("{agents}, {subjects} {} for the servers", unit(subjects)),
        };
    }
    let Some(subjects) = scope.subject_cpus else {
        let of = unit(generator);
        return format!("{generator} {of} for the generator, those of the servers not set by abx");
    };
    let sharing = match scope.cpu_sharing {
        Some(CpuSharing::Shared) => "shared",
        Some(CpuSharing::Siblings) => "SMT siblings",
        Some(CpuSharing::Apart) => "not SMT siblings",
        None => "SMT siblings: not recorded",
    };
    let of = unit(subjects);
    format!("{subjects} {of} for the servers, {generator} for the generator ({sharing})")
}

/// Notes on all comparisons together: how often any of several families is wrong, and whether
/// comparisons pool their spread.
fn of_all(record: &StudyRecord) -> Vec<String> {
    let families = families(&record.conclusions.families, family_kinds(record));
    let shared = shared_spread(record).map(str::to_owned);
    families.into_iter().chain(shared).collect()
}

fn family_kinds(record: &StudyRecord) -> &'static str {
    let conclusions = &record.conclusions;
    match (&record.measured.faults[..], &conclusions.lost_to_faults[..]) {
        ([], _) => "loads",
        (_, []) => "loads and faults",
        _ => "loads, recoveries and losses",
    }
}

/// How often any verdict of a direction is wrong over all families; `None` for a single family.
fn families(families: &Families, kinds: &str) -> Option<String> {
    let Families {
        count,
        false_if_independent,
        false_at_most,
    } = *families;
    let over = format!("Across {count} {kinds}, at least one faster or slower verdict is wrong in");
    let independent = percent(false_if_independent);
    match count {
        0 | 1 => None,
        _ if false_at_most >= 1.0 => Some(format!(
            "{over} up to {independent} of studies, if their errors are independent."
        )),
        _ => Some(format!(
            "{over} at most {} of studies ({independent} if their errors are independent).",
            percent(false_at_most)
        )),
    }
}

/// That comparisons pool their spread; `None` if they do not.
fn shared_spread(record: &StudyRecord) -> Option<&'static str> {
    let loads = record.measured.loads.iter();
    let mut of_loads = loads.map(|load| {
        let primary = record.conclusions.primary();
        primary
            .filter(|comparison| comparison.load == load.name)
            .count()
    });
    let are_several = of_loads.any(|comparisons| comparisons > 1);
    (record.measured.is_ordered() && are_several).then_some(
        "The number of blocks was fixed in advance, so comparisons under one load pool their spread.",
    )
}

/// The conditions that were not varied, and how often any of several families is wrong.
pub(crate) fn scope(record: &StudyRecord) -> Document {
    std::iter::once(of_study(record))
        .chain(of_all(record))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_families_have_a_bound_on_wrong_verdicts_while_it_is_below_100_percent() {
        // Method: one, seven and forty; by hand 7 · 5 %, 1 − 0.95^7 and 1 − 0.95^40.
        let report = |count| {
            let message = families(&Families::with(count), "loads");
            message.map(|text| text.replace('\u{a0}', " "))
        };
        assert_eq!(report(1), None);
        let seven = report(7).unwrap();
        assert!(
            seven.contains("at most 35 % of studies (30.2 % if"),
            "{seven}"
        );
        let forty = report(40).unwrap();
        assert!(forty.contains("up to 87.1 % of studies, if"), "{forty}");
    }

    #[test]
    fn a_scope_names_recorded_conditions_and_those_not_recorded() {
        // Method: local and remote routes, CPUs set by abx or not, SMT siblings that are not
        // recorded, cold files, and agents.
        let usual = Scope {
            routes: vec![Route::Loopback],
            started: 2,
            left_running: 0,
            subject_cpus: Some(1),
            generator_cpus: 1,
            agents: 0,
            cpu_sharing: Some(CpuSharing::Apart),
            warm_caches: true,
            cold_files: false,
        };
        assert_eq!(
            line(&usual, "one build of each server"),
            "Scope: loopback, one machine, one boot, one build of each server; 1 CPU for the \
             servers, 1 for the generator (not SMT siblings); warm caches."
        );
        let unknown = Scope {
            cpu_sharing: None,
            cold_files: true,
            ..usual.clone()
        };
        let message = line(&unknown, "");
        assert!(message.contains("(SMT siblings: not recorded); warm caches, and cold files."));
        let elsewhere = Scope {
            routes: vec![Route::Network],
            started: 0,
            left_running: 1,
            subject_cpus: None,
            generator_cpus: 4,
            cpu_sharing: None,
            ..usual
        };
        assert_eq!(
            of_run(&elsewhere),
            "Scope: the network to another machine, one boot of the generator's machine, one \
             build of the server, left running; 4 CPUs for the generator, those of the servers \
             not set by abx; warm caches."
        );
        let together = Scope {
            generator_cpus: 0,
            agents: 3,
            ..elsewhere
        };
        assert_eq!(
            of_run(&together),
            "Scope: the network to another machine, one boot of each agent's machine, one build \
             of the server, left running; load from 3 agents, CPUs of the servers not set by abx; \
             warm caches."
        );
    }
}
