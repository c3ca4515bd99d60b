//! What a study knows of a subject under a load, and a run of its server.

use abx_evidence::{Outcomes, PhaseTimes, RunRecord, Summary, Times};

pub(crate) struct Described<'a> {
    pub(crate) throughput_per_s: Option<f64>,
    pub(crate) response: &'a Times,
    pub(crate) service: &'a Times,
    pub(crate) phases: Option<&'a PhaseTimes>,
    pub(crate) cpu_us: Option<f64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) generator_busy: Option<f64>,
    pub(crate) outcomes: &'a Outcomes,
}

impl<'a> From<&'a Summary> for Described<'a> {
    fn from(one: &'a Summary) -> Described<'a> {
        Described {
            throughput_per_s: one.throughput_per_s,
            response: &one.response_time_us,
            service: &one.service_time_us,
            phases: one.phases.as_ref(),
            cpu_us: one.server_cpu_us_per_request,
            rss_bytes: one.rss_bytes,
            generator_busy: one.generator_busy,
            outcomes: &one.outcomes,
        }
    }
}

impl<'a> From<&'a RunRecord> for Described<'a> {
    fn from(run: &'a RunRecord) -> Described<'a> {
        let server = run.server.as_ref();
        Described {
            throughput_per_s: run.throughput_per_s,
            response: &run.response_time_us,
            service: &run.service_time_us,
            phases: run.phases.as_ref(),
            cpu_us: server.and_then(|side| side.cpu_us_per_request),
            rss_bytes: server.and_then(|side| side.rss_bytes),
            generator_busy: Some(run.generator.busy),
            outcomes: &run.requests.outcomes,
        }
    }
}
