//! UTF-8, checked as it arrives.

/// The state of a text that has not ended.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    /// The beginning of a character that continues in bytes still to come.
    tail: [u8; 4],
    tail_bytes: usize,
}

/// The text is not UTF-8, whatever follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotUtf8;

impl Utf8 {
    /// Checks the next bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), NotUtf8> {
        while self.tail_bytes > 0 {
            let [byte, rest @ ..] = bytes else {
                return Ok(());
            };
            self.tail[self.tail_bytes] = *byte;
            self.tail_bytes += 1;
            bytes = rest;
            match std::str::from_utf8(&self.tail[..self.tail_bytes]) {
                Ok(_) => self.tail_bytes = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(NotUtf8),
            }
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            if error.error_len().is_some() {
                return Err(NotUtf8);
            }
            let tail = &bytes[error.valid_up_to()..];
            self.tail[..tail.len()].copy_from_slice(tail);
            self.tail_bytes = tail.len();
        }
        Ok(())
    }

    /// Ends the text, which must not end inside a character.
    pub(super) fn finish(&mut self) -> Result<(), NotUtf8> {
        match std::mem::take(&mut self.tail_bytes) {
            0 => Ok(()),
            _ => Err(NotUtf8),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(pieces: &[&[u8]]) -> Result<(), NotUtf8> {
        let mut text = Utf8::default();
        pieces.iter().try_for_each(|piece| text.push(piece))?;
        text.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn pieces_are_judged_like_the_whole_text(
            text in "\\PC{0,12}",
            spoiled in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
            cuts in [any::<prop::sample::Index>(), any::<prop::sample::Index>()],
        ) {
            // Method: the standard library's result for the whole text, with at most
            // one byte changed, compared with ours for three pieces and for single bytes.
            let mut bytes = text.into_bytes();
            if let Some((at, byte)) = spoiled && !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let expected = std::str::from_utf8(&bytes).is_ok();
            let mut cuts = cuts.map(|cut| cut.index(bytes.len() + 1));
            cuts.sort_unstable();
            let pieces = [&bytes[..cuts[0]], &bytes[cuts[0]..cuts[1]], &bytes[cuts[1]..]];
            prop_assert_eq!(check(&pieces).is_ok(), expected);
            let singles: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(check(&singles).is_ok(), expected);
        }
    }

    #[test]
    fn invalid_beginnings_are_refused_at_once() {
        // Method: beginnings that are wrong already: a lone continuation, an
        // overlong form, a surrogate, a value above the last one; not finished.
        for bytes in [
            &b"\x80"[..],
            b"\xC0",
            b"\xE0\x80",
            b"\xED\xA0",
            b"\xF4\x90",
            b"\xFF",
        ] {
            let mut text = Utf8::default();
            let refused = bytes
                .chunks(1)
                .map(|byte| text.push(byte))
                .any(|judged| judged.is_err());
            assert!(refused, "{bytes:x?}");
        }
    }
}
