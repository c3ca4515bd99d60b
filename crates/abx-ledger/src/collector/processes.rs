//! The processes that are sampled, and the code in their memory.

use std::collections::HashMap;
use std::sync::Arc;

use crate::user::{AddressSpace, CodeFiles, CodeKind, CodeMapping, PerfMap, parse_maps};

/// The members, by their numbers.
pub(super) struct Processes<F> {
    is_member: F,
    members: HashMap<u32, Member>,
    /// The compiled functions of members that have ended.
    perf_maps: HashMap<u32, PerfMap>,
}

/// A process that counts.
#[derive(Debug, Clone, Default)]
struct Member {
    /// Shared with the processes that it started, until either maps code.
    space: Arc<AddressSpace>,
    /// How often its memory was read because an address was in no known code.
    searches: u32,
    runs_jit_code: bool,
    has_ended: bool,
}

impl<F: Fn(u32) -> bool> Processes<F> {
    pub(super) fn new(is_member: F) -> Processes<F> {
        Processes {
            is_member,
            members: HashMap::new(),
            perf_maps: HashMap::new(),
        }
    }

    /// Whether a process counts; the memory of a new member is read.
    pub(super) fn is_member(&mut self, pid: u32, files: &mut CodeFiles) -> bool {
        if self.members.contains_key(&pid) {
            return true;
        }
        let is_member = (self.is_member)(pid);
        if is_member {
            let space = Arc::new(read_space(pid, files).unwrap_or_default());
            let member = Member {
                space,
                ..Member::default()
            };
            self.members.insert(pid, member);
        }
        is_member
    }

    /// The source of the code at an address of a member. With `search`, its memory is read again if
    /// the source is unknown, which may happen a few times per process.
    pub(super) fn code(
        &mut self,
        pid: u32,
        address: u64,
        search: bool,
        files: &mut CodeFiles,
    ) -> Option<(CodeKind, u64)> {
        let member = self.members.get_mut(&pid)?;
        let mut code = member.space.code(address);
        if code.is_none() && search && member.searches < SEARCHES_MAX {
            member.searches += 1;
            if let Some(space) = read_space(pid, files) {
                code = space.code(address);
                member.space = Arc::new(space);
            }
        }
        member.runs_jit_code |= matches!(code, Some((CodeKind::Jit, _)));
        code
    }

    pub(super) fn map(&mut self, pid: u32, mapping: &CodeMapping<'_>, files: &mut CodeFiles) {
        if let Some(member) = self.members.get_mut(&pid) {
            let space = Arc::make_mut(&mut member.space);
            space.map(
                mapping.start,
                mapping.len,
                mapping.offset,
                files.kind(mapping),
            );
        }
    }

    pub(super) fn fork(&mut self, parent: u32, child: u32, files: &mut CodeFiles) {
        // Numbers are used again.
        self.members.remove(&child);
        if self.is_member(parent, files) {
            let space = Arc::clone(&self.members[&parent].space);
            let member = Member {
                space,
                ..Member::default()
            };
            self.members.insert(child, member);
        }
    }

    pub(super) fn exec(&mut self, pid: u32) {
        if let Some(member) = self.members.get_mut(&pid) {
            *member = Member::default();
        }
    }

    /// Reads the list of compiled functions, if the process has any, while its files still exist.
    pub(super) fn exit(&mut self, pid: u32) {
        let Some(member) = self.members.get_mut(&pid) else {
            return;
        };
        if member.runs_jit_code && !member.has_ended {
            let map = PerfMap::of_process(pid);
            self.perf_maps.extend(map.map(|map| (pid, map)));
        }
        member.has_ended = true;
    }

    /// The compiled functions of all members.
    pub(super) fn into_perf_maps(self) -> HashMap<u32, PerfMap> {
        let mut perf_maps = self.perf_maps;
        let running = self.members.iter().filter(|(_, member)| !member.has_ended);
        let with_jit_code = running.filter(|(_, member)| member.runs_jit_code);
        perf_maps
            .extend(with_jit_code.filter_map(|(pid, _)| Some((*pid, PerfMap::of_process(*pid)?))));
        perf_maps
    }
}

/// The code in a process's memory; `None` if it has ended, or may not be read.
fn read_space(pid: u32, files: &mut CodeFiles) -> Option<AddressSpace> {
    let text = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    let mut space = AddressSpace::default();
    for mapping in parse_maps(&text) {
        space.map(
            mapping.start,
            mapping.len,
            mapping.offset,
            files.kind(&mapping),
        );
    }
    Some(space)
}

/// A search takes up to some milliseconds.
const SEARCHES_MAX: u32 = 8;
