//! Inputs that are changed by chance.

/// The longest input that changes make, in bytes.
const BYTES_MAX: usize = 4_096;
/// An input is changed up to so often.
const CHANGES_MAX: u64 = 4;
/// Bytes at which parsers decide.
const TURNS: &[u8] = b"\0\x01\x7f\x80\xff\r\n \t\"'\\{}[]():;,=&%@#<>/.-+0129aA";

/// An endless series of changed inputs; the same kept ones give the same series.
pub struct ChangedInputs<'a> {
    kept: &'a [Vec<u8>],
    state: u64,
}

impl<'a> ChangedInputs<'a> {
    /// Changes of these inputs, of which there is at least one.
    pub fn of(kept: &'a [Vec<u8>]) -> ChangedInputs<'a> {
        ChangedInputs {
            kept,
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The next changed input.
    pub fn changed(&mut self) -> Vec<u8> {
        let mut input = self.any_kept().to_vec();
        for _ in 0..=self.below(CHANGES_MAX) {
            self.change(&mut input);
        }
        input.truncate(BYTES_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.place(input.len() + 1);
        let end = (at + 1 + self.place(16)).min(input.len());
        match self.below(7) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.turn(),
            2 => input.insert(at, self.turn()),
            3 => drop(input.drain(at.min(end)..end)),
            4 => {
                let part = input[at.min(end)..end].to_vec();
                input.splice(at..at, part);
            }
            5 => {
                let other = self.any_kept();
                let from = self.place(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.insert(at, self.draw().to_le_bytes()[0]),
        }
    }

    fn any_kept(&mut self) -> &'a [u8] {
        let place = self.place(self.kept.len());
        &self.kept[place]
    }

    fn turn(&mut self) -> u8 {
        TURNS[self.place(TURNS.len())]
    }

    fn place(&mut self, places: usize) -> usize {
        self.below(places as u64) as usize
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.draw() >> 16) % limit
    }

    /// Marsaglia's xorshift (Journal of Statistical Software 8, 2003).
    fn draw(&mut self) -> u64 {
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
    fn changes_repeat_and_are_many() {
        // Method: two series of the same kept inputs, one of them empty and one too long.
        let kept = [
            Vec::new(),
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            vec![7; BYTES_MAX],
        ];
        let series = || {
            let mut inputs = ChangedInputs::of(&kept);
            (0..1_000).map(|_| inputs.changed()).collect::<Vec<_>>()
        };
        let inputs = series();
        assert_eq!(inputs, series());
        assert!(inputs.iter().all(|input| input.len() <= BYTES_MAX));
        let distinct: BTreeSet<&Vec<u8>> = inputs.iter().collect();
        assert!(distinct.len() > 800, "{}", distinct.len());
    }
}
