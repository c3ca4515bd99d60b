//! The code in the memory of one process.

use super::code_kind::CodeKind;

/// Ranges of addresses that do not overlap.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressSpace {
    /// By start.
    regions: Vec<CodeRegion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CodeRegion {
    start: u64,
    /// Exclusive.
    end: u64,
    /// The offset of its start in the file.
    offset: u64,
    kind: CodeKind,
}

impl AddressSpace {
    /// Maps code into a range of addresses, in place of earlier code.
    pub(crate) fn map(&mut self, start: u64, len: u64, offset: u64, kind: CodeKind) {
        let end = start.saturating_add(len);
        if start == end {
            return;
        }
        let first = self.regions.partition_point(|region| region.end <= start);
        let after = self.regions.partition_point(|region| region.start < end);
        let mut parts = Vec::with_capacity(3);
        let overlapped = &self.regions[first..after.max(first)];
        if let Some(region) = overlapped.first().filter(|region| region.start < start) {
            parts.push(CodeRegion {
                end: start,
                ..*region
            });
        }
        parts.push(CodeRegion {
            start,
            end,
            offset,
            kind,
        });
        if let Some(region) = overlapped.last().filter(|region| region.end > end) {
            parts.push(CodeRegion {
                start: end,
                offset: region.offset.wrapping_add(end - region.start),
                ..*region
            });
        }
        self.regions.splice(first..after.max(first), parts);
        if self.regions.len() > REGIONS_MAX {
            self.regions.clear();
        }
    }

    /// The source of the code at an address, and its offset in the file.
    pub(crate) fn code(&self, address: u64) -> Option<(CodeKind, u64)> {
        let next = self
            .regions
            .partition_point(|region| region.start <= address);
        let region = self.regions[..next].last()?;
        let offset = region.offset.wrapping_add(address - region.start);
        (address < region.end).then_some((region.kind, offset))
    }
}

/// A process may have 65,530 parts of memory by default.
const REGIONS_MAX: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::user::FileId;

    proptest! {
        #[test]
        fn the_latest_code_at_an_address_counts(
            maps in prop::collection::vec((0_u64..60, 0_u64..20, 0_u64..5, any::<bool>()), 0..20),
        ) {
            // Method: random mappings, compared with a table with one row per address.
            let mut space = AddressSpace::default();
            let mut table = BTreeMap::new();
            for (number, (start, len, offset, is_jit)) in maps.into_iter().enumerate() {
                let file = CodeKind::File(FileId(number));
                let kind = Some(CodeKind::Jit).filter(|_| is_jit).unwrap_or(file);
                space.map(start, len, offset, kind);
                for address in start..start + len {
                    table.insert(address, (kind, offset + address - start));
                }
            }
            for address in 0..100 {
                prop_assert_eq!(space.code(address), table.get(&address).copied());
            }
        }
    }
}
