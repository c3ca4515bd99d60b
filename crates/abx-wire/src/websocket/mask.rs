//! Masks, which a client applies to every byte that it sends (RFC 6455, section 5.3).

/// Four bytes that are combined with a frame's payload, repeated over its length.
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
            // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), whose only state is a running sum.
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

/// Combines `bytes` with a mask, eight at a time. Doing it twice restores them.
///
/// `offset` is the position of the first byte in its payload.
pub(super) fn apply(mask: Mask, offset: u64, bytes: &mut [u8]) {
    let rotated = mask_at(mask, offset);
    let [a, b, c, d] = rotated;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let value = u64::from_ne_bytes((&*chunk).try_into().expect("chunks of eight"));
        chunk.copy_from_slice(&(value ^ wide).to_ne_bytes());
    }
    for (byte, mask) in chunks
        .into_remainder()
        .iter_mut()
        .zip(rotated.iter().cycle())
    {
        *byte ^= mask;
    }
}

/// The mask rotated to begin at this offset of the payload.
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
        fn masking_follows_the_standard_and_is_its_own_inverse(
            mask: Mask,
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            cut in 0_usize..100,
        ) {
            // Method: masked in one go, and compared with the standard's formula byte by byte;
            // then unmasked in two pieces.
            let expected: Vec<u8> =
                bytes.iter().enumerate().map(|(i, byte)| byte ^ mask[i % 4]).collect();
            let mut masked = bytes.clone();
            apply(mask, 0, &mut masked);
            prop_assert_eq!(&masked, &expected);
            let cut = cut.min(masked.len());
            apply(mask, 0, &mut masked[..cut]);
            apply(mask, cut as u64, &mut masked[cut..]);
            prop_assert_eq!(masked, bytes);
        }
    }

    #[test]
    fn seeded_masks_differ_from_frame_to_frame_and_repeat_with_the_seed() {
        // Method: a thousand masks of one seed, drawn twice, and of another seed.
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
