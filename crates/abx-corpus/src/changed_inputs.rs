//! Random changes of inputs.

/// The longest changed input, in bytes.
const BYTES_MAX: usize = 4_096;
/// The most changes of one input.
const CHANGES_MAX: u64 = 4;
/// Bytes that parsers treat specially.
const SPECIAL_BYTES: &[u8] = b"\0\x01\x7f\x80\xff\r\n \t\"'\\{}[]():;,=&%@#<>/.-+0129aA";

/// An endless series of changed inputs. Equal originals give equal series.
pub struct ChangedInputs<'a> {
    originals: &'a [Vec<u8>],
    state: u64,
}

impl<'a> ChangedInputs<'a> {
    /// Changes of these inputs, which must not be empty.
    pub fn of(originals: &'a [Vec<u8>]) -> ChangedInputs<'a> {
        ChangedInputs {
            originals,
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The next changed input.
    pub fn changed(&mut self) -> Vec<u8> {
        let mut input = self.any_original().to_vec();
        for _ in 0..=self.below(CHANGES_MAX) {
            self.change(&mut input);
        }
        input.truncate(BYTES_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.index(input.len() + 1);
        let end = (at + 1 + self.index(16)).min(input.len());
        match self.below(7) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.special_byte(),
            2 => input.insert(at, self.special_byte()),
            3 => drop(input.drain(at.min(end)..end)),
            4 => {
                let part = input[at.min(end)..end].to_vec();
                input.splice(at..at, part);
            }
            5 => {
                let other = self.any_original();
                let from = self.index(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.insert(at, self.random().to_le_bytes()[0]),
        }
    }

    fn any_original(&mut self) -> &'a [u8] {
        let index = self.index(self.originals.len());
        &self.originals[index]
    }

    fn special_byte(&mut self) -> u8 {
        SPECIAL_BYTES[self.index(SPECIAL_BYTES.len())]
    }

    fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.random() >> 16) % limit
    }

    /// Marsaglia's xorshift (Journal of Statistical Software 8, 2003).
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_series_is_repeatable_and_varied() {
        // Method: two series from the same originals, one of them empty and one of full length.
        let originals = [
            Vec::new(),
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            vec![7; BYTES_MAX],
        ];
        let series = || {
            let mut inputs = ChangedInputs::of(&originals);
            (0..1_000).map(|_| inputs.changed()).collect::<Vec<_>>()
        };
        let inputs = series();
        assert_eq!(inputs, series());
        assert!(inputs.iter().all(|input| input.len() <= BYTES_MAX));
        let distinct: BTreeSet<&Vec<u8>> = inputs.iter().collect();
        assert!(distinct.len() > 800, "{}", distinct.len());
    }
}
