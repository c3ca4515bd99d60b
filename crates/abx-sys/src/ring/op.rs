//! What is written on every entry so that its completion finds home.

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Connect,
    Receive,
    Skip,
    /// A send that is tried once, and says nothing when all was taken.
    Send,
    /// A send that goes on until all is taken.
    SendOn,
    /// Waits for room in the socket's send buffer.
    Room,
    Cancel,
}

/// An operation's kind and the connection it is for; 64 bits on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) line: u32,
    pub(super) generation: u32,
    pub(super) kind: Operation,
}

impl Op {
    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.line) | u64::from(self.generation) << 32 | (self.kind as u64) << 56
    }

    pub(super) fn from_bits(bits: u64) -> Option<Op> {
        let kind = *ALL.get(usize::try_from(bits >> 56).ok()?)?;
        Some(Op {
            line: u32::try_from(bits & u64::from(u32::MAX)).expect("32 bits"),
            generation: u32::try_from(bits >> 32 & u64::from(GENERATION_MAX)).expect("24 bits"),
            kind,
        })
    }
}

/// In the order of their numbers.
const ALL: [Operation; 7] = [
    Operation::Connect,
    Operation::Receive,
    Operation::Skip,
    Operation::Send,
    Operation::SendOn,
    Operation::Room,
    Operation::Cancel,
];

/// The last generation of a connection: 24 bits of an entry's number are left for it.
pub(super) const GENERATION_MAX: u32 = (1 << 24) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_survives_the_way_through_its_bits() {
        // Method: every kind, with the smallest and the largest numbers.
        for kind in ALL {
            for (line, generation) in [(0, 0), (u32::MAX, GENERATION_MAX), (7, 9)] {
                let op = Op {
                    line,
                    generation,
                    kind,
                };
                assert_eq!(Op::from_bits(op.to_bits()), Some(op));
            }
        }
        assert_eq!(Op::from_bits(u64::MAX), None);
    }
}
