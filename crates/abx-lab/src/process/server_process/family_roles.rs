//! The roles of the processes of a subject: the main one, its workers and their supervisor.

use std::collections::HashSet;
use std::io;

use abx_sys::Nanos;
use abx_sys::process::Process;
use abx_sys::tree::{Relative, RelativeState, descendants};

/// No process has this number.
const NO_PROCESS: u32 = 0;

/// The kernel cuts names of programs to this many bytes.
const NAME_BYTES: usize = 15;

/// The processes of a subject that run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyRoles {
    /// The process that was started.
    pub main: Option<Process>,
    /// The parent of the first worker, unless that is the keeper.
    pub supervisor: Option<Process>,
    pub workers: Vec<Process>,
    pub all: Vec<Process>,
}

impl FamilyRoles {
    /// The roles in a container with this first process, which is the main one.
    ///
    /// # Errors
    /// As [`FamilyRoles::of`].
    pub fn of_container(first: u32, worker: Option<&str>) -> io::Result<FamilyRoles> {
        let mut relatives = descendants(first)?;
        let main = Process::find(first)?.map(|process| Relative {
            process,
            parent: NO_PROCESS,
            state: RelativeState::Runs,
            reaped_cpu: Nanos(0),
        });
        relatives.splice(0..0, main);
        Ok(FamilyRoles::below(NO_PROCESS, relatives, worker))
    }

    /// The roles below a keeper. Workers are the processes that have this program name and no child
    /// of that name; without a name, all processes without a child, except the main one.
    ///
    /// # Errors
    /// The error of the kernel if /proc cannot be read.
    pub fn of(keeper: u32, worker: Option<&str>) -> io::Result<FamilyRoles> {
        Ok(FamilyRoles::below(keeper, descendants(keeper)?, worker))
    }

    fn below(keeper: u32, mut relatives: Vec<Relative>, worker: Option<&str>) -> FamilyRoles {
        relatives.retain(|relative| relative.state == RelativeState::Runs);
        let names = relatives.iter().map(|relative| relative.process.name());
        let names: Vec<String> = names.map(Option::unwrap_or_default).collect();
        FamilyRoles::among(keeper, &relatives, &names, worker)
    }

    fn among(
        keeper: u32,
        relatives: &[Relative],
        names: &[String],
        worker: Option<&str>,
    ) -> FamilyRoles {
        let main = relatives
            .iter()
            .filter(|relative| relative.parent == keeper)
            .min_by_key(|relative| relative.process.start_ticks)
            .map(|relative| relative.process);
        let cut = |name: &str| name.bytes().take(NAME_BYTES).collect::<Vec<u8>>();
        let is_of_kind = |name: &String| worker.is_none_or(|worker| cut(worker) == name.as_bytes());
        let of_kind = || {
            let named = relatives.iter().zip(names);
            named
                .filter(|(_, name)| is_of_kind(name))
                .map(|(relative, _)| relative)
        };
        let parents: HashSet<u32> = of_kind().map(|relative| relative.parent).collect();
        let is_worker = |relative: &&Relative| {
            let is_main = worker.is_none() && Some(relative.process) == main;
            !is_main && !parents.contains(&relative.process.pid)
        };
        let workers: Vec<&Relative> = of_kind().filter(is_worker).collect();
        let parent = workers.first().map(|relative| relative.parent);
        let processes: Vec<Process> = relatives.iter().map(|relative| relative.process).collect();
        FamilyRoles {
            supervisor: processes
                .iter()
                .copied()
                .find(|process| Some(process.pid) == parent),
            main,
            workers: workers.iter().map(|relative| relative.process).collect(),
            all: processes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the workers and of their supervisor below the keeper 1, in a family of
    /// processes by number, parent and name.
    fn roles(family: &[(u32, u32, &str)], worker: Option<&str>) -> (Vec<u32>, Option<u32>) {
        let relative = |(pid, parent, _): &(u32, u32, &str)| Relative {
            process: Process {
                pid: *pid,
                start_ticks: u64::from(*pid),
            },
            parent: *parent,
            state: RelativeState::Runs,
            reaped_cpu: Nanos(0),
        };
        let relatives: Vec<Relative> = family.iter().map(relative).collect();
        let names: Vec<String> = family.iter().map(|parts| parts.2.to_owned()).collect();
        let family_roles = FamilyRoles::among(1, &relatives, &names, worker);
        let workers = family_roles.workers.iter().map(|process| process.pid);
        (
            workers.collect(),
            family_roles.supervisor.map(|process| process.pid),
        )
    }

    #[test]
    fn workers_are_separated_from_their_supervisor() {
        // Method: families of real servers: a master of two workers; a single process; a web server
        // that starts php-cgi, which has its own workers; php-cgi whose starter has gone, so that
        // the keeper adopted it; and a name that the kernel cuts.
        let nginx = [(2, 1, "nginx"), (3, 2, "nginx"), (4, 2, "nginx")];
        assert_eq!(roles(&nginx, None), (vec![3, 4], Some(2)));
        assert_eq!(roles(&nginx, Some("nginx")), (vec![3, 4], Some(2)));
        assert_eq!(roles(&nginx, Some("php-cgi")), (vec![], None));
        assert_eq!(roles(&[(2, 1, "node")], None), (vec![], None));
        let lighttpd = [
            (2, 1, "lighttpd"),
            (3, 2, "php-cgi"),
            (4, 3, "php-cgi"),
            (5, 3, "php-cgi"),
            (6, 2, "logger"),
        ];
        assert_eq!(roles(&lighttpd, Some("php-cgi")), (vec![4, 5], Some(3)));
        let spawned = [(2, 1, "lighttpd"), (3, 1, "php-cgi")];
        assert_eq!(roles(&spawned, Some("php-cgi")), (vec![3], None));
        let long = [(2, 1, "sh"), (3, 2, "a-very-long-nam")];
        assert_eq!(roles(&long, Some("a-very-long-name")), (vec![3], Some(2)));
    }
}
