//! Whether the generator may stay awake while it waits for responses: only on CPUs that no other
//! process needs, above all no server under test (docs/decisions/0005-waiting-awake.md).

use abx_evidence::{Wait, Waiting};
use abx_sys::ServerAddress;
use abx_sys::conditions::Quota;

use crate::process::listener;
use abx_study::WaitChoice;

/// The CPUs of the generator and of the servers.
pub struct CpuAssignment {
    /// Worker threads of the generator.
    pub threads: usize,
    pub generator: Vec<usize>,
    /// The CPUs that the servers may use; `None` if they are unknown.
    pub subjects: Option<Vec<usize>>,
}

/// Why the workers do not stay awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("it is not known which CPUs the server uses")]
    Unknown,
    #[error("servers and generator share CPUs")]
    SharedCpus,
    #[error("servers and generator share a core")]
    SharedCore,
    #[error("there are more worker threads than CPUs for them")]
    Threads,
    #[error("a control group limits the CPU time")]
    Quota,
}

/// Decides how workers wait.
///
/// # Errors
/// [`Obstacle`] if they are to stay awake although others need their CPUs.
pub fn decide(choice: WaitChoice, assignment: &CpuAssignment) -> Result<Waiting, Obstacle> {
    let quota = abx_sys::conditions::Conditions::read(&assignment.generator).quota;
    let is_limited = matches!(quota, Some(Quota::Cpus(_)));
    let mut cpus = assignment.generator.clone();
    cpus.extend(assignment.subjects.iter().flatten());
    let obstacle = assignment.obstacle(is_limited, &abx_sys::cpus::cores(&cpus));
    let asleep = |asleep_because| Waiting {
        wait: Wait::Asleep,
        asleep_because,
    };
    let awake = Waiting {
        wait: Wait::Awake,
        asleep_because: None,
    };
    match (choice, obstacle) {
        (WaitChoice::Asleep, _) => Ok(asleep(None)),
        (WaitChoice::Auto, Some(why)) => Ok(asleep(Some(why.to_string()))),
        (WaitChoice::Awake, Some(why)) if why != Obstacle::Unknown => Err(why),
        (WaitChoice::Auto | WaitChoice::Awake, _) => Ok(awake),
    }
}

/// The CPUs that the servers at these addresses may use, all together; `None` if a server is not on
/// this machine or its processes cannot be seen.
#[must_use]
pub fn cpus_of(addresses: impl Iterator<Item = ServerAddress>) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for address in addresses {
        for process in listener::tree(address)?.members() {
            cpus.extend(abx_sys::cpus::allowed_to(process.pid).ok()?);
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

impl CpuAssignment {
    /// The first obstacle; `cores` are the CPUs of both sides by core.
    fn obstacle(&self, is_limited: bool, cores: &[Vec<usize>]) -> Option<Obstacle> {
        let Some(subjects) = &self.subjects else {
            return Some(Obstacle::Unknown);
        };
        let is_shared = |cpus: &[usize]| {
            cpus.iter().any(|cpu| subjects.contains(cpu))
                && cpus.iter().any(|cpu| self.generator.contains(cpu))
        };
        let overlap = subjects.iter().any(|cpu| self.generator.contains(cpu));
        [
            (overlap, Obstacle::SharedCpus),
            (
                cores.iter().any(|core| is_shared(core)),
                Obstacle::SharedCore,
            ),
            (self.threads > self.generator.len(), Obstacle::Threads),
            (is_limited, Obstacle::Quota),
        ]
        .into_iter()
        .find_map(|(applies, obstacle)| applies.then_some(obstacle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Subjects on CPU 0, the generator with some threads on `generator`, siblings as given.
    fn obstacle(generator: &[usize], threads: usize, cores: &[&[usize]]) -> Option<Obstacle> {
        let assignment = CpuAssignment {
            threads,
            generator: generator.to_vec(),
            subjects: Some(vec![0]),
        };
        let cores: Vec<Vec<usize>> = cores.iter().map(|core| core.to_vec()).collect();
        assignment.obstacle(false, &cores)
    }

    #[test]
    fn workers_stay_awake_only_on_cpus_that_no_server_uses() {
        // Method: each obstacle in turn, and siblings that both belong to the generator.
        assert_eq!(obstacle(&[1], 1, &[&[0], &[1]]), None);
        assert_eq!(obstacle(&[1, 2], 2, &[&[0], &[1, 2]]), None);
        assert_eq!(obstacle(&[0], 1, &[&[0]]), Some(Obstacle::SharedCpus));
        assert_eq!(obstacle(&[1], 1, &[&[0, 1]]), Some(Obstacle::SharedCore));
        assert_eq!(obstacle(&[1], 2, &[&[0], &[1]]), Some(Obstacle::Threads));
        let mut assignment = CpuAssignment {
            threads: 1,
            generator: vec![1],
            subjects: Some(vec![0]),
        };
        let cores = [vec![0], vec![1]];
        assert_eq!(assignment.obstacle(true, &cores), Some(Obstacle::Quota));
        assignment.subjects = None;
        assert_eq!(assignment.obstacle(false, &cores), Some(Obstacle::Unknown));
    }

    #[test]
    fn a_requested_wait_is_used_or_refused() {
        // Method: a server whose CPUs are unknown, and one on the generator's CPUs.
        let with_subjects = |subjects| CpuAssignment {
            threads: 1,
            generator: vec![0],
            subjects,
        };
        let (unknown, shared) = (with_subjects(None), with_subjects(Some(vec![0])));
        let wait = |choice, assignment| decide(choice, assignment).map(|waiting| waiting.wait);
        assert_eq!(wait(WaitChoice::Awake, &unknown).unwrap(), Wait::Awake);
        assert_eq!(wait(WaitChoice::Auto, &unknown).unwrap(), Wait::Asleep);
        assert_eq!(wait(WaitChoice::Auto, &shared).unwrap(), Wait::Asleep);
        assert_eq!(wait(WaitChoice::Asleep, &shared).unwrap(), Wait::Asleep);
        let refusal = decide(WaitChoice::Awake, &shared).unwrap_err();
        assert_eq!(refusal, Obstacle::SharedCpus);
        let because = decide(WaitChoice::Auto, &shared).unwrap().asleep_because;
        assert_eq!(because.unwrap(), Obstacle::SharedCpus.to_string());
        assert_eq!(
            decide(WaitChoice::Asleep, &shared).unwrap(),
            Waiting::default()
        );
    }

    #[test]
    fn cpus_of_a_process_here_are_known_and_those_of_another_machine_are_not() {
        // Method: this test listens itself; an address for documentation is not in use.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let known = cpus_of([here.into()].into_iter()).unwrap();
        assert!(!known.is_empty());
        let there = "192.0.2.1:80".parse().unwrap();
        assert_eq!(cpus_of([here, there].map(Into::into).into_iter()), None);
    }
}
