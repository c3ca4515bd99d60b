//! For how long work was stalled because it waited for a CPU, memory or a disk
//! (pressure stall information, Documentation/accounting/psi.rst of the kernel).

use crate::counters_table::counters;
use crate::kernel_files::KeptFile;

counters! {
    /// Totals since boot for the whole machine, in microseconds; `None` if this
    /// kernel does not count them.
    pub struct PressureCounters {
        /// Some thread was ready to run and had no CPU.
        cpu_pressure_us,
        /// Nothing ran, because all threads waited for memory.
        memory_pressure_us,
        /// Nothing ran, because all threads waited for a disk.
        io_pressure_us,
    }
}

/// The files behind [`PressureCounters`], open.
#[derive(Debug)]
pub(crate) struct PressureFiles {
    cpu: KeptFile,
    memory: KeptFile,
    io: KeptFile,
}

impl PressureFiles {
    pub(crate) fn open() -> PressureFiles {
        PressureFiles {
            cpu: KeptFile::open("/proc/pressure/cpu"),
            memory: KeptFile::open("/proc/pressure/memory"),
            io: KeptFile::open("/proc/pressure/io"),
        }
    }

    pub(crate) fn read(&mut self) -> PressureCounters {
        let total = |file: &mut KeptFile, kind| total_us(&file.read()?, kind);
        PressureCounters {
            cpu_pressure_us: total(&mut self.cpu, "some"),
            memory_pressure_us: total(&mut self.memory, "full"),
            io_pressure_us: total(&mut self.io, "full"),
        }
    }
}

/// The total of the line that begins with `kind`.
fn total_us(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    let mut words = line.split_ascii_whitespace();
    words
        .find_map(|word| word.strip_prefix("total="))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "some avg10=42.61 avg60=76.32 avg300=59.29 total=557224528\n\
        full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";

    #[test]
    fn the_total_is_that_of_its_line() {
        // Method: both lines of one text, and one that is not there.
        assert_eq!(total_us(TEXT, "some"), Some(557_224_528));
        assert_eq!(total_us(TEXT, "full"), Some(12));
        assert_eq!(total_us("some avg10=1", "some"), None);
        assert_eq!(total_us(TEXT, "none"), None);
    }

    #[test]
    fn a_total_that_one_reading_lacks_is_unknown() {
        // Method: a kind that was read both times, and one that was read only the first time.
        let earlier = PressureCounters {
            cpu_pressure_us: Some(5),
            memory_pressure_us: Some(1),
            io_pressure_us: None,
        };
        let later = PressureCounters {
            cpu_pressure_us: Some(9),
            ..PressureCounters::default()
        };
        let added = later.since(earlier);
        assert_eq!(
            (added.cpu_pressure_us, added.memory_pressure_us),
            (Some(4), None)
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            // Method: any text, alone and behind known words.
            let _ = total_us(&text, "some");
            let _ = total_us(&format!("some total={text}"), "some");
        }
    }
}
