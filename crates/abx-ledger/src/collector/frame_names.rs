//! Names of frames, each looked up once.

use std::collections::HashMap;
use std::sync::Arc;

use super::raw_stacks::Frame;
use crate::user::{CodeFiles, FileId, PerfMap, Symbols};
use crate::{Kallsyms, Line};

/// The sources of names, and the names so far.
pub(super) struct FrameNames<'a> {
    kallsyms: &'a Kallsyms,
    files: &'a CodeFiles,
    perf_maps: HashMap<u32, PerfMap>,
    symbols: &'a Symbols,
    names: HashMap<Frame, FrameName>,
}

#[derive(Debug, Clone)]
struct FrameName {
    name: Arc<str>,
    /// Whether the name is only that of the program.
    lacks_symbols: bool,
}

impl<'a> FrameNames<'a> {
    pub(super) fn new(
        kallsyms: &'a Kallsyms,
        files: &'a CodeFiles,
        perf_maps: HashMap<u32, PerfMap>,
        symbols: &'a Symbols,
    ) -> FrameNames<'a> {
        FrameNames {
            kallsyms,
            files,
            perf_maps,
            symbols,
            names: HashMap::new(),
        }
    }

    /// The function of a frame, or its program in brackets.
    pub(super) fn name(&mut self, frame: Frame) -> Arc<str> {
        Arc::clone(&self.known(frame).name)
    }

    /// Whether a frame's program has no symbols for it.
    pub(super) fn lacks_symbols(&mut self, frame: Frame) -> bool {
        self.known(frame).lacks_symbols
    }

    fn known(&mut self, frame: Frame) -> &FrameName {
        if !self.names.contains_key(&frame) {
            let name = self.look_up(frame);
            self.names.insert(frame, name);
        }
        &self.names[&frame]
    }

    fn look_up(&self, frame: Frame) -> FrameName {
        let (function, program) = match frame {
            Frame::Kernel(function) => {
                let name = function.map(|function| self.kallsyms.function_name(function));
                (name.map(str::to_owned), "kernel")
            }
            Frame::File { file, offset } => (self.function(file, offset), self.files.name(file)),
            Frame::Jit { pid, address } => {
                let map = self.perf_maps.get(&pid);
                let name = map.and_then(|map| map.name(address));
                (name.map(str::to_owned), Line::JIT_CODE)
            }
        };
        // The kernel's own code in a process has its name in brackets already.
        let is_special = program.starts_with('[');
        let lacks_symbols = function.is_none() && !is_special;
        let name = match function {
            Some(function) => function,
            None if is_special => program.to_owned(),
            None => format!("[{program}]"),
        };
        FrameName {
            name: name.into(),
            lacks_symbols,
        }
    }

    fn function(&self, file: FileId, offset: u64) -> Option<String> {
        self.symbols.name(self.files.readable_path(file)?, offset)
    }
}
