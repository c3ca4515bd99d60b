//! Masks, which every byte from a client goes through (RFC 6455, section 5.3).

/// Four bytes that a frame's payload is combined with, again and again.
pub(super) type Mask = [u8; 4];

/// Where a client takes the masks of its frames from.
///
/// The standard requires masks that no script behind the client can guess. A load
/// generator has no such script, and wants the same bytes from the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masking {
    /// Another mask for each frame, drawn from this seed. Give each connection its own.
    Seeded(u64),
    /// The same mask for each frame; all zeroes leave payloads as they are.
    Fixed([u8; 4]),
}

impl Masking {
    /// The mask of the next frame.
    pub(super) fn next(&mut self) -> Mask {
        match self {
            Masking::Fixed(mask) => *mask,
            // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): three operations and no state but the sum.
            Masking::Seeded(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut mixed = *state;
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                let [a, b, c, d, ..] = (mixed ^ (mixed >> 31)).to_le_bytes();
                [a, b, c, d]
            }
        }
    }
}

/// Combines `bytes` with a mask, eight at a time; twice gives them back.
///
/// `offset` is the place of the first byte in its payload.
pub(super) fn apply(mask: Mask, offset: u64, bytes: &mut [u8]) {
    let turned = mask_at(mask, offset);
    let [a, b, c, d] = turned;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let value = u64::from_ne_bytes((&*chunk).try_into().expect("chunks of eight"));
        chunk.copy_from_slice(&(value ^ wide).to_ne_bytes());
    }
    for (byte, mask) in chunks
        .into_remainder()
        .iter_mut()
        .zip(turned.iter().cycle())
    {
        *byte ^= mask;
    }
}

/// The mask as a byte at this place of the payload meets it.
fn mask_at(mut mask: Mask, offset: u64) -> Mask {
    mask.rotate_left((offset % 4) as usize);
    mask
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn masking_is_what_the_standard_says_and_its_own_inverse(
            mask: Mask,
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            cut in 0_usize..100,
        ) {
            // Method: the standard's formula byte by byte, as an oracle; ours in
            // one go and in two pieces; then once more.
            let oracle: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
            let mut ours = bytes.clone();
            apply(mask, 0, &mut ours);
            prop_assert_eq!(&ours, &oracle);
            let cut = cut.min(ours.len());
            apply(mask, 0, &mut ours[..cut]);
            apply(mask, cut as u64, &mut ours[cut..]);
            prop_assert_eq!(ours, bytes);
        }
    }

    #[test]
    fn seeded_masks_differ_from_frame_to_frame_and_repeat_with_the_seed() {
        // Method: a thousand masks of a seed, of the same once more, and of another.
        let masks = |seed| {
            let mut masking = Masking::Seeded(seed);
            (0..1_000).map(|_| masking.next()).collect::<Vec<Mask>>()
        };
        assert_eq!(masks(1), masks(1));
        assert_ne!(masks(1), masks(2));
        let mut bytes = masks(1);
        bytes.sort_unstable();
        bytes.dedup();
        assert!(bytes.len() > 990, "{}", bytes.len());
    }
}
