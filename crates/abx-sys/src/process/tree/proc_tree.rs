//! The members of a tree, and the CPU time that they and those before them used.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::RangeInclusive;

use super::births::{self, Births};
use super::family::{self, Relative, descendants};
use super::sockets;
use crate::Nanos;
use crate::host::control_group::ControlGroup;
use crate::host::counters::MachineCounters;
use crate::net::server_address::ServerAddress;
use crate::process::clock::process_cpu;
use crate::process::descriptors::DescriptorUse;
use crate::process::stat::{Process, ProcessStat};

/// All descendants of one process.
///
/// Mostly the root is a keeper, which is not counted itself and which adopts
/// orphans: whatever the command started stays in the tree, however often it
/// forks.
#[derive(Debug)]
pub struct ProcTree {
    root: Process,
    /// Processes other than the root that serve the same address.
    other_roots: Vec<Process>,
    /// Whether the root is a member too: it is no keeper.
    counts_root: bool,
    of_root: Children,
    /// Parents before children, see [`ProcTree::cpu`].
    members: Vec<Member>,
    /// The machine's fork counter before the last look for new processes.
    forks: Option<u64>,
    births: Births,
    /// Whether all that may have changed since the last complete account are clocks.
    is_accounted: bool,
    /// The control group that adds up the CPU time of a container.
    group: Option<ControlGroup>,
    total: Nanos,
}

#[derive(Debug)]
struct Member {
    process: Process,
    parent: u32,
    own: Nanos,
    /// Its clock when what its children used was last read.
    looked_at: Nanos,
    children: Children,
}

/// The CPU time of the ended children of one process.
///
/// Two witnesses: the kernel adds up those that were reaped (to the clock tick,
/// and nothing of those whose parent ignores SIGCHLD); we add up our last
/// readings (nothing of those that came and went between two readings). Both
/// fall short, neither exceeds the truth by more than a tick, so the larger
/// one counts.
#[derive(Debug, Clone, Copy)]
struct Children {
    reaped: Nanos,
    departed: Nanos,
}

impl Children {
    /// Children that were reaped before the first look have no readings.
    fn first(reaped: Nanos) -> Children {
        Children {
            reaped,
            departed: reaped,
        }
    }

    fn used(self) -> Nanos {
        self.reaped.max(self.departed)
    }
}

impl Member {
    /// A new member.
    fn first(relative: &Relative) -> Member {
        Member {
            process: relative.process,
            parent: relative.parent,
            own: Nanos(0),
            looked_at: Nanos(0),
            children: Children::first(relative.reaped_cpu),
        }
    }

    fn used(&self) -> Nanos {
        self.own.plus(self.children.used())
    }
}

#[derive(Debug, Clone, Copy)]
struct CpuReading {
    own: Nanos,
    reaped: Nanos,
}

impl ProcTree {
    /// The tree below the process `root`, with its present members.
    ///
    /// # Errors
    /// `NotFound` when there is no such process; the kernel's error if
    /// /proc cannot be read.
    pub fn new(root: u32) -> io::Result<ProcTree> {
        ProcTree::of(root, &[], false)
    }

    /// A container, known by its first process: that one with everything below it, which is
    /// all, since a process that loses its parent in there comes to it. Its CPU time is that of its
    /// control group where it has one of its own; memory is that of its processes, as any
    /// tree's, since a group's has the pages of files that were read as well.
    ///
    /// # Errors
    /// As [`ProcTree::new`].
    pub fn of_container(first: u32) -> io::Result<ProcTree> {
        Ok(ProcTree {
            group: ControlGroup::of_process(first),
            ..ProcTree::of(first, &[], true)?
        })
    }

    /// The processes that take connections to an address of this machine, with
    /// everything below them: of those that share a socket, the one that started the
    /// others; of independent ones that share a port (`SO_REUSEPORT`), each.
    ///
    /// `None` if no process listens there, and if a listener's process may not be
    /// looked into, since a part would be taken for the whole.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn of_listener(address: ServerAddress) -> io::Result<Option<ProcTree>> {
        let inodes = sockets::listeners_at(address)?;
        let mut seen = HashSet::new();
        let mut roots = Vec::new();
        // Parents come before their children, so a root is known before what is below it.
        let mut below_roots: HashSet<u32> = HashSet::new();
        for relative in descendants(0)? {
            let pid = relative.process.pid;
            let held = sockets::held_by(pid, &inodes)?;
            if below_roots.contains(&relative.parent) {
                below_roots.insert(pid);
            } else if !held.is_empty() {
                below_roots.insert(pid);
                roots.push(pid);
            }
            seen.extend(held);
        }
        match roots.as_slice() {
            [first, others @ ..] if seen == inodes => ProcTree::of(*first, others, true).map(Some),
            _ => Ok(None),
        }
    }

    /// The process at the top of the tree; of several, the first.
    #[must_use]
    pub fn root(&self) -> Process {
        self.root
    }

    /// The processes at the top: one, or several independent ones.
    pub fn roots(&self) -> impl Iterator<Item = Process> + '_ {
        std::iter::once(self.root).chain(self.other_roots.iter().copied())
    }

    /// The tree of one process, and of `others` that only count with it.
    fn of(root: u32, others: &[u32], counts_root: bool) -> io::Result<ProcTree> {
        let not_found = || io::Error::from(io::ErrorKind::NotFound);
        let stat = ProcessStat::read(root)?.ok_or_else(not_found)?;
        let others = others.iter().map(|pid| Process::find(*pid));
        let mut tree = ProcTree {
            root: stat.process(root),
            other_roots: others
                .filter_map(Result::transpose)
                .collect::<Result<_, _>>()?,
            counts_root,
            of_root: Children::first(if counts_root {
                Nanos(0)
            } else {
                stat.reaped_cpu()
            }),
            members: Vec::new(),
            forks: None,
            births: Births::default(),
            is_accounted: false,
            group: None,
            total: Nanos(0),
        };
        tree.refresh()?;
        Ok(tree)
    }

    /// Looks for new members: only among the processes that were started since the last
    /// look, or by a scan of /proc if these are too many to be listed.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn refresh(&mut self) -> io::Result<()> {
        // Read before the look: what is forked during it and missed by it then leads
        // to another one.
        let forks = MachineCounters::read()?.forks;
        if self.forks != Some(forks) {
            // A process that has ended may have been a member; its parent has its time.
            self.is_accounted = false;
            // After more forks the numbers may have begun again, and have passed the last one.
            let few = |before: u64| forks.saturating_sub(before) <= births::NUMBERS_MAX.into();
            let since = self.births.since(births::last_number());
            match since.filter(|_| self.forks.is_some_and(few)) {
                Some(numbers) => {
                    self.look_at(numbers)?;
                    self.forks = Some(forks);
                }
                None => {
                    self.forks = self.scan()?.then_some(forks);
                    if self.forks.is_none() {
                        // The next look is a scan of all processes again.
                        self.births = Births::default();
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks at all processes; false if some may have been missed.
    fn scan(&mut self) -> io::Result<bool> {
        let roots: Vec<u32> = self.roots().map(|root| root.pid).collect();
        let mut family = family::scan(&roots)?;
        if self.counts_root {
            family.relatives.splice(0..0, family.roots);
        }
        self.adopt(&family.relatives);
        Ok(family.is_complete)
    }

    /// Adds the processes with these numbers whose parent is a member.
    fn look_at(&mut self, numbers: RangeInclusive<u32>) -> io::Result<()> {
        let roots = self.roots().map(|root| root.pid);
        let mut known: HashSet<u32> = { roots }
            .chain(self.members().map(|member| member.pid))
            .collect();
        for pid in numbers {
            if known.contains(&pid) {
                continue;
            }
            let newcomer = family::relative(pid)?;
            let newcomer = newcomer.filter(|newcomer| known.contains(&newcomer.parent));
            // A thread has a number and a parent too.
            if let Some(newcomer) = newcomer
                && family::is_process(pid)?
            {
                known.insert(pid);
                self.members.push(Member::first(&newcomer));
            }
        }
        Ok(())
    }

    /// The members of the last refresh; some may have ended since.
    pub fn members(&self) -> impl Iterator<Item = Process> + '_ {
        self.members.iter().map(|member| member.process)
    }

    /// CPU time that the tree has used: the clocks of its members in
    /// nanoseconds, plus what its ended processes used. Never falls.
    ///
    /// An ended process counts with its last reading or with what the kernel
    /// booked at its parent, whichever is larger. So at most two clock ticks of
    /// each process are missing, and all of a process that came and went
    /// between two readings under a parent that ignores SIGCHLD.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read; no time is lost then.
    pub fn cpu(&mut self) -> io::Result<Nanos> {
        self.refresh()?;
        if let Some(used) = self.group.as_mut().and_then(ControlGroup::cpu) {
            self.total = self.total.max(used);
            return Ok(self.total);
        }
        // Only those that we know can have ended then, and been reaped: while all their
        // clocks can be read, nothing else has changed.
        if self.is_accounted && self.read_clocks(process_cpu) {
            return Ok(self.total);
        }
        let used = self.account(read_cpu)?;
        self.is_accounted = self.forks.is_some();
        Ok(used)
    }

    /// Open descriptors of the member that is nearest to its limit.
    ///
    /// # Errors
    /// `NotFound` without a member; the kernel's error if /proc cannot be read.
    pub fn descriptors(&mut self) -> io::Result<DescriptorUse> {
        self.refresh()?;
        let mut nearest: Option<DescriptorUse> = None;
        for process in self.members() {
            if let Some(descriptor_use) = DescriptorUse::of_process(process.pid)? {
                nearest =
                    Some(nearest.map_or(descriptor_use, |other| descriptor_use.nearer(other)));
            }
        }
        nearest.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether a member holds a socket that takes connections to this address.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn listens_at(&mut self, address: ServerAddress) -> io::Result<bool> {
        self.refresh()?;
        let listeners = sockets::listeners_at(address)?;
        for process in self.members() {
            if !sockets::held_by(process.pid, &listeners)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The TCP ports that members listen on, in order.
    ///
    /// # Errors
    /// The kernel's error if /proc cannot be read.
    pub fn listening_ports(&mut self) -> io::Result<Vec<u16>> {
        self.refresh()?;
        let mut ports = BTreeSet::new();
        for process in self.members() {
            ports.extend(sockets::ports_of(process.pid)?);
        }
        Ok(ports.into_iter().collect())
    }

    /// Takes over a new list of members, parents before children.
    fn adopt(&mut self, relatives: &[Relative]) {
        let mut known: HashMap<Process, Member> = std::mem::take(&mut self.members)
            .into_iter()
            .map(|member| (member.process, member))
            .collect();
        self.members = relatives
            .iter()
            .map(|relative| match known.remove(&relative.process) {
                Some(member) => Member {
                    parent: relative.parent,
                    ..member
                },
                None => Member::first(relative),
            })
            .collect();
        self.settle(known.into_values().collect());
    }

    /// Reads every process once and adds up.
    ///
    /// SUBTLE: Parents are read before their children. A child that is reaped
    /// in between is then missing from this sum and in the next one; the other
    /// way round it would count twice.
    fn account(
        &mut self,
        mut read: impl FnMut(Process, Option<CpuReading>) -> io::Result<Option<CpuReading>>,
    ) -> io::Result<Nanos> {
        if !self.counts_root
            && let Some(reading) = read(self.root, None)?
        {
            self.of_root.reaped = reading.reaped;
        }
        let mut gone = HashSet::new();
        for member in &mut self.members {
            let last = CpuReading {
                own: member.looked_at,
                reaped: member.children.reaped,
            };
            match read(member.process, Some(last))? {
                Some(reading) => {
                    member.own = reading.own;
                    member.looked_at = reading.own;
                    member.children.reaped = reading.reaped;
                }
                None => {
                    gone.insert(member.process);
                }
            }
        }
        let (gone, stays) = std::mem::take(&mut self.members)
            .into_iter()
            .partition(|member| gone.contains(&member.process));
        self.members = stays;
        self.settle(gone);
        self.sum_up();
        Ok(self.total)
    }

    /// Reads the members' own clocks and adds them up, at a tenth of the cost of
    /// [`ProcTree::account`]. False when a member has gone.
    fn read_clocks(&mut self, clock: impl Fn(u32) -> Option<Nanos>) -> bool {
        for member in &mut self.members {
            match clock(member.process.pid) {
                Some(time) => member.own = time,
                None => return false,
            }
        }
        self.sum_up();
        true
    }

    fn sum_up(&mut self) {
        let members = self.members.iter();
        let used = members.fold(self.of_root.used(), |sum, member| sum.plus(member.used()));
        self.total = self.total.max(used);
    }

    /// Books members that have gone at their nearest ancestor that is still there.
    fn settle(&mut self, gone: Vec<Member>) {
        let parents: HashMap<u32, u32> = gone
            .iter()
            .map(|member| (member.process.pid, member.parent))
            .collect();
        for member in gone {
            let mut heir = member.parent;
            // Bounded, because numbers given again could make the links a ring.
            for _ in 0..parents.len() {
                heir = parents.get(&heir).copied().unwrap_or(heir);
            }
            let children = self
                .members
                .iter_mut()
                .find(|member| member.process.pid == heir)
                .map_or(&mut self.of_root, |heir| &mut heir.children);
            children.departed = children.departed.plus(member.used());
        }
    }
}

/// Reads one process; `last` is its last reading.
fn read_cpu(process: Process, last: Option<CpuReading>) -> io::Result<Option<CpuReading>> {
    let Some(time) = process_cpu(process.pid) else {
        return Ok(None);
    };
    // A process that has not run since has reaped none.
    if let Some(last) = last.filter(|last| last.own == time) {
        return Ok(Some(last));
    }
    // The line comes second: its start time proves whose clock was read.
    let stat = ProcessStat::read(process.pid)?;
    let stat = stat.filter(|stat| stat.start_ticks == process.start_ticks);
    Ok(stat.map(|stat| CpuReading {
        own: time,
        reaped: stat.reaped_cpu(),
    }))
}

#[cfg(test)]
mod tests;
