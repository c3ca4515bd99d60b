//! The number of worker threads that generate the load.

use abx_sys::conditions::Quota;

/// The limits from which the number of worker threads follows.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub cpus: usize,
    /// Connections of the largest load, if there is one.
    pub connections: Option<usize>,
    /// The quota of the control group, if it is known.
    pub quota: Option<Quota>,
    /// Whether servers run on this machine too.
    pub is_server_here: bool,
}

impl Room {
    /// The requested number of threads, or one per CPU, but no more than there are connections.
    ///
    /// Threads beyond the generator's part of a quota would only use it up sooner, and then all of
    /// them would stand still. As with CPUs, half of the quota is for the servers, and an odd CPU
    /// is for the generator.
    #[must_use]
    pub fn threads(self, requested: Option<usize>) -> usize {
        let allowed = match self.quota {
            Some(Quota::Cpus(cpus)) if self.is_server_here => (cpus / 2.0).ceil() as usize,
            Some(Quota::Cpus(cpus)) => cpus as usize,
            Some(Quota::Unlimited) | None => self.cpus,
        };
        let wanted = requested.unwrap_or(self.cpus.min(allowed));
        wanted.min(self.connections.unwrap_or(wanted)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use abx_sys::cpus::CpuSplit;

    use super::*;

    /// Half of 64 CPUs, and many connections.
    const ROOM: Room = Room {
        cpus: 32,
        connections: Some(1_000),
        quota: None,
        is_server_here: true,
    };

    /// The CPUs of a machine by core. They are numbered as Linux usually does: the first siblings
    /// of all cores, then the second ones.
    fn cores(sockets: usize, cores_per_socket: usize, siblings: usize) -> Vec<Vec<usize>> {
        let cores = sockets * cores_per_socket;
        let core = |core| {
            (0..siblings)
                .map(|sibling| core + sibling * cores)
                .collect()
        };
        (0..cores).map(core).collect()
    }

    #[test]
    fn each_cpu_of_the_generator_gets_a_thread() {
        // Method: machines of 1 to 64 CPUs, with and without siblings, and how many of them each
        // side gets. A thousand connections are no limit.
        for (sockets, cores_per_socket, siblings, subjects, generator) in [
            (1, 1, 1, 1, 1),
            (1, 1, 2, 1, 1),
            (1, 2, 1, 1, 1),
            (1, 2, 2, 2, 2),
            (1, 3, 1, 1, 2),
            (1, 4, 1, 2, 2),
            (1, 8, 2, 8, 8),
            (1, 16, 1, 8, 8),
            (2, 8, 2, 16, 16),
            (1, 64, 1, 32, 32),
            (2, 16, 2, 32, 32),
        ] {
            let split = CpuSplit::of(&cores(sockets, cores_per_socket, siblings));
            assert_eq!(split.subjects.len(), subjects);
            assert_eq!(split.generator.len(), generator);
            let room = Room {
                cpus: split.generator.len(),
                ..ROOM
            };
            assert_eq!(room.threads(None), generator);
        }
    }

    #[test]
    fn a_machine_of_two_sockets_gives_each_side_one() {
        // Method: two sockets of 16 cores with two siblings each. The CPUs of the first socket are
        // 0 to 15 and 32 to 47.
        let split = CpuSplit::of(&cores(2, 16, 2));
        let is_first = |cpu: &usize| cpu % 32 < 16;
        assert!(split.subjects.iter().all(is_first));
        assert!(!split.generator.iter().any(is_first));
    }

    #[test]
    fn a_quota_and_few_connections_mean_fewer_threads() {
        // Method: quotas below and above 32 CPUs, with servers here and elsewhere; few connections,
        // and no load; each with and without a requested number of threads.
        for (cpus, here, elsewhere) in [
            (0.5, 1, 1),
            (1.0, 1, 1),
            (1.5, 1, 1),
            (2.0, 1, 2),
            (3.0, 2, 3),
            (4.0, 2, 4),
            (16.0, 8, 16),
            (64.0, 32, 32),
            (100.0, 32, 32),
        ] {
            for (is_server_here, expected) in [(true, here), (false, elsewhere)] {
                let room = Room {
                    quota: Some(Quota::Cpus(cpus)),
                    is_server_here,
                    ..ROOM
                };
                assert_eq!(room.threads(None), expected, "{cpus}");
                assert_eq!(room.threads(Some(64)), 64);
            }
        }
        for (connections, expected) in [(Some(5), 5), (Some(0), 1), (None, 32)] {
            let room = Room {
                connections,
                quota: Some(Quota::Unlimited),
                ..ROOM
            };
            assert_eq!(room.threads(None), expected);
            assert_eq!(room.threads(Some(3)), expected.min(3));
        }
    }
}
