//! The Huffman code of strings in header blocks (RFC 7541, section 5.2 and appendix B).

/// How many bits the code of each byte has, and last, that of the end. The code is
/// canonical: shorter codes are smaller, and those of one length rise with their bytes.
/// So these lengths define all of it.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, //
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, //
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, //
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, //
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, //
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, //
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, //
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, //
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, //
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, //
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, //
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, //
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, //
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, //
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, //
    30,
];
const SHORTEST: usize = 5;
const LONGEST: usize = 30;
/// The end of a string, which never occurs in one.
const END: usize = 256;

/// The code in the order of its lengths.
struct Codes {
    /// Codes of each length, padded with zeros to 32 bits, are below this.
    limits: [u64; LONGEST + 1],
    /// The first code of each length.
    first: [u32; LONGEST + 1],
    /// Where the symbols of each length begin.
    places: [usize; LONGEST + 1],
    symbols: [u16; 257],
}

static CODES: Codes = Codes::of(&LENGTHS);

impl Codes {
    const fn of(lengths: &[u8; 257]) -> Codes {
        let mut codes = Codes {
            limits: [0; LONGEST + 1],
            first: [0; LONGEST + 1],
            places: [0; LONGEST + 1],
            symbols: [0; 257],
        };
        let (mut code, mut place) = (0_u32, 0);
        let mut length = SHORTEST;
        while length <= LONGEST {
            code <<= 1;
            codes.first[length] = code;
            codes.places[length] = place;
            let mut symbol = 0;
            while symbol < lengths.len() {
                if lengths[symbol] as usize == length {
                    codes.symbols[place] = symbol as u16;
                    place += 1;
                    code += 1;
                }
                symbol += 1;
            }
            codes.limits[length] = (code as u64) << (32 - length);
            length += 1;
        }
        codes
    }
}

/// Appends the decoded string; `None` if it is not valid in this code.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = bytes.iter();
    // The next bits from the highest down, and how many there are.
    let (mut bits, mut count) = (0_u64, 0_usize);
    loop {
        while count <= 56
            && let Some(byte) = rest.next()
        {
            bits |= u64::from(*byte) << (56 - count);
            count += 8;
        }
        let next = bits >> 32;
        let length = (SHORTEST..LONGEST).find(|length| next < CODES.limits[*length]);
        let length = length.unwrap_or(LONGEST);
        if length > count {
            // Less than a byte of the end's code fills up the last byte.
            let is_filled = count < 8 && bits.leading_ones() as usize >= count;
            return is_filled.then_some(());
        }
        let code = u32::try_from(next).ok()? >> (32 - length);
        let index = CODES.places[length] + (code - CODES.first[length]) as usize;
        let symbol = usize::from(CODES.symbols[index]);
        if symbol == END {
            return None;
        }
        out.push(u8::try_from(symbol).ok()?);
        bits <<= length;
        count -= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of each symbol, by the rule that the code is canonical.
    fn bits(symbol: usize) -> String {
        let length = usize::from(LENGTHS[symbol]);
        let index = CODES
            .symbols
            .iter()
            .position(|known| *known as usize == symbol);
        let code = CODES.first[length] as usize + index.unwrap() - CODES.places[length];
        format!("{code:0length$b}")
    }

    fn bytes(mut bits: String) -> Vec<u8> {
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        let byte = |start| u8::from_str_radix(&bits[start..start + 8], 2).unwrap();
        (0..bits.len()).step_by(8).map(byte).collect()
    }

    fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(bytes, &mut out).map(|()| out)
    }

    #[test]
    fn the_code_is_complete_and_agrees_with_the_standard() {
        // Method: Kraft's sum is exactly 1, and six codes of appendix B.
        let sum: u64 = LENGTHS
            .iter()
            .map(|length| 1 << (LONGEST - usize::from(*length)))
            .sum();
        assert_eq!(sum, 1 << LONGEST);
        let code = |symbol: usize| u32::from_str_radix(&bits(symbol), 2).unwrap();
        assert_eq!(code(0), 0x1ff8);
        assert_eq!(code(usize::from(b'a')), 0x3);
        assert_eq!(code(usize::from(b'~')), 0x1ffd);
        assert_eq!(code(usize::from(b'\\')), 0x7fff0);
        assert_eq!(code(249), 0xfff_fffe);
        assert_eq!(code(END), 0x3fff_ffff);
    }

    #[test]
    fn every_byte_is_decoded_at_every_bit_offset() {
        // Method: each byte, after none to seven bytes whose code has five bits.
        for byte in 0..=255_u8 {
            for before in 0..8 {
                let mut text = vec![b'a'; before];
                text.push(byte);
                let coded = text.iter().map(|byte| bits(usize::from(*byte))).collect();
                assert_eq!(decoded(&bytes(coded)), Some(text));
            }
        }
    }

    #[test]
    fn the_last_byte_is_padded_with_less_than_a_byte_of_ones() {
        // Method: no padding, seven ones, eight, a zero, and the whole code of the end.
        let a = bits(usize::from(b'a'));
        assert_eq!(decoded(b""), Some(Vec::new()));
        assert_eq!(decoded(&bytes(a.clone())), Some(b"a".to_vec()));
        assert_eq!(decoded(&[0x1f, 0xff]), None);
        assert_eq!(decoded(&[0x1e]), None);
        assert_eq!(decoded(&bytes(a + &bits(END))), None);
    }
}
