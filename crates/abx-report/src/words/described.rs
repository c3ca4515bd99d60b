//! What a study knows of a subject under a load, and a run of its server.

use abx_evidence::{Outcomes, PhaseTimes, Times};
use abx_verdict::{RunRecord, Summary};

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
    fn from(summary: &'a Summary) -> Described<'a> {
        Described {
            throughput_per_s: summary.throughput_per_s,
            response: &summary.response_time_us,
            service: &summary.service_time_us,
            phases: summary.phases.as_ref(),
            cpu_us: summary.server_cpu_us_per_request,
            rss_bytes: summary.rss_bytes,
            generator_busy: summary.generator_busy,
            outcomes: &summary.outcomes,
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
