//! The kernel's symbols, as `/proc/kallsyms` lists them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::chain::{line_of_kernel_chain, line_of_wait};
use crate::Line;

/// The functions of the running kernel by address.
#[derive(Debug, Clone, Default)]
pub struct Kallsyms {
    /// By address; each name is a range of `names`.
    functions: Vec<KernelFunction>,
    names: String,
    /// Whether functions were listed, all without an address.
    is_hidden: bool,
}

#[derive(Debug, Clone, Copy)]
struct KernelFunction {
    start: u64,
    name_start: u32,
    name_end: u32,
    preference: u8,
}

impl Kallsyms {
    /// The functions of the running kernel.
    ///
    /// # Errors
    /// The kernel's error if `/proc/kallsyms` cannot be read.
    pub fn of_this_machine() -> io::Result<Kallsyms> {
        Kallsyms::parse(BufReader::new(File::open("/proc/kallsyms")?))
    }

    /// Reads a list: `ffffffff81000000 T _text`, and for modules `[name]` after that. Other lines
    /// are skipped.
    ///
    /// # Errors
    /// The error of the reader.
    pub fn parse(mut lines: impl BufRead) -> io::Result<Kallsyms> {
        let mut kallsyms = Kallsyms::default();
        let mut without_address = 0_usize;
        let mut line = Vec::new();
        while kallsyms.functions.len() < FUNCTIONS_MAX {
            line.clear();
            if lines
                .by_ref()
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut line)?
                == 0
            {
                break;
            }
            match parse_line(&String::from_utf8_lossy(&line)) {
                Some((0, _, _)) => without_address += 1,
                Some((start, kind, name)) => kallsyms.push(start, kind, name),
                None => {}
            }
        }
        kallsyms.is_hidden = kallsyms.functions.is_empty() && without_address > 0;
        // The preferred name of an address stays.
        let by_preference = |function: &KernelFunction| (function.start, function.preference);
        kallsyms.functions.sort_by_key(by_preference);
        kallsyms.functions.dedup_by_key(|function| function.start);
        Ok(kallsyms)
    }

    /// Whether the kernel hides its addresses from this user (`kernel.kptr_restrict`).
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// The name of the function that an address is in.
    #[must_use]
    pub fn name(&self, address: u64) -> Option<&str> {
        self.function(address)
            .map(|function| self.function_name(function))
    }

    /// The line of a chain of addresses in the kernel, innermost first.
    pub(crate) fn line(&self, chain: &[u64]) -> Line {
        if self.functions.is_empty() {
            return Line::WholeKernel;
        }
        line_of_kernel_chain(self.names(chain))
    }

    /// The line of a chain in which a thread leaves its CPU.
    pub(crate) fn line_of_wait(&self, chain: &[u64]) -> Line {
        if self.functions.is_empty() {
            return Line::WholeKernel;
        }
        line_of_wait(self.names(chain))
    }

    /// The functions of a chain; empty for an address in none.
    fn names(&self, chain: &[u64]) -> impl Iterator<Item = &str> {
        chain.iter().enumerate().map(|(depth, address)| {
            let function = self.function(inside(depth, *address));
            function.map_or("", |function| self.function_name(function))
        })
    }

    /// The number of the function that an address is in.
    pub(crate) fn function(&self, address: u64) -> Option<usize> {
        let next = self
            .functions
            .partition_point(|function| function.start <= address);
        let function = next.checked_sub(1)?;
        let distance = address - self.functions[function].start;
        (distance < FUNCTION_BYTES_MAX).then_some(function)
    }

    /// The name of a function that [`Kallsyms::function`] has found.
    pub(crate) fn function_name(&self, function: usize) -> &str {
        let function = &self.functions[function];
        &self.names[function.name_start as usize..function.name_end as usize]
    }

    fn push(&mut self, start: u64, kind: char, name: &str) {
        let name_start = self.names.len();
        self.names.push_str(&crate::frame_name(name));
        let (Ok(name_start), Ok(name_end)) =
            (u32::try_from(name_start), u32::try_from(self.names.len()))
        else {
            return;
        };
        self.functions.push(KernelFunction {
            start,
            name_start,
            name_end,
            preference: preference(kind, name),
        });
    }
}

/// An address inside the function of a frame: a call returns to the address after its instruction,
/// which may be the last one of its function.
pub(crate) fn inside(depth: usize, address: u64) -> u64 {
    address.saturating_sub(u64::from(depth > 0))
}

/// Address, kind and name, if it is the line of a function.
fn parse_line(line: &str) -> Option<(u64, char, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?.chars().next()?;
    let name = words.next()?;
    // The padding that the compiler puts before a function never runs.
    let is_function = matches!(kind, 't' | 'T' | 'w' | 'W') && !name.starts_with("__pfx_");
    is_function.then_some((address, kind, name))
}

/// The rank of a name among several names of one address; lower is better.
fn preference(kind: char, name: &str) -> u8 {
    match kind {
        _ if name.starts_with("__x64_sys_") || name.starts_with("__arm64_sys_") => 0,
        'T' => 1,
        't' => 2,
        _ => 3,
    }
}

/// A kernel with all modules has a tenth as many.
const FUNCTIONS_MAX: usize = 2_000_000;
const LINE_BYTES_MAX: u64 = 1024;
/// Addresses farther from the start of a function are not in it, because the list has gaps.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
ffffffff81000000 T _text
ffffffff81377d30 t __pfx___do_sys_getppid
ffffffff81377d40 t __do_sys_getppid
ffffffff81377d40 T __ia32_sys_getppid
ffffffff81377d40 T __x64_sys_getppid
ffffffff81377d90 d a_variable
not a line
ffffffff81200000 T in_no_order
ffffffffc0000010 t nft_do_chain\t[nf_tables]
";

    #[test]
    fn an_address_is_in_the_function_before_it() {
        // Method: a short list that is not sorted, with several names of one address, data,
        // padding, a module, and an invalid line.
        let kallsyms = Kallsyms::parse(LIST.as_bytes()).unwrap();
        let cases = [
            (0xffff_ffff_80ff_ffff, None),
            (0xffff_ffff_8100_0000, Some("_text")),
            (0xffff_ffff_8120_0001, Some("in_no_order")),
            (0xffff_ffff_8137_7d3f, None),
            (0xffff_ffff_8137_7d40, Some("__x64_sys_getppid")),
            (0xffff_ffff_8137_7da0, Some("__x64_sys_getppid")),
            (0xffff_ffff_c000_0010, Some("nft_do_chain")),
            (u64::MAX, None),
        ];
        for (address, name) in cases {
            assert_eq!(kallsyms.name(address), name, "{address:x}");
        }
        assert!(!kallsyms.is_hidden());
    }

    #[test]
    fn hidden_addresses_are_not_used() {
        // Method: a list as the kernel prints it with kptr_restrict, and an empty list.
        let hidden = "0000000000000000 T _text\n0000000000000000 T schedule\n";
        let kallsyms = Kallsyms::parse(hidden.as_bytes()).unwrap();
        assert!(kallsyms.is_hidden());
        assert_eq!(kallsyms.name(0), None);
        assert!(!Kallsyms::parse(&b""[..]).unwrap().is_hidden());
    }
}
