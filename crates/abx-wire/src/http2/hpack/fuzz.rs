//! Properties of any header blocks, checked by the fuzz target and by tests.

use super::{ENTRY_OVERHEAD, HeaderDecoder, NUMBER_BYTES_MAX, TABLE_BYTES};
use crate::http1::{HEAD_BYTES_MAX, HEADERS_MAX};
use crate::http2::hpack::huffman;
use crate::http2::hpack::static_table::STATIC_TABLE;

/// A name and its value.
type Field = (Vec<u8>, Vec<u8>);

/// Decodes the blocks of one connection, each with its length in the byte before it. Fields and
/// table are those of a second decoder, which is slow and plain and shares Huffman's code only. The
/// table never takes more than it may.
///
/// # Panics
/// If a property does not hold.
pub fn any_blocks(data: &[u8]) {
    let mut decoder = HeaderDecoder::default();
    let mut plain = PlainDecoder {
        table: Vec::new(),
        bytes_max: TABLE_BYTES,
    };
    let mut rest = data;
    while let Some((length, behind)) = rest.split_first() {
        let (block, behind) = behind.split_at(behind.len().min(usize::from(*length)));
        rest = behind;
        let mut fields = Vec::new();
        let take = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        let is_decoded = decoder.decode(block, take).is_ok();
        let expected = plain.decode(block);
        assert_eq!(
            is_decoded,
            expected.is_some(),
            "one of them refuses a block"
        );
        let Some(expected) = expected else {
            return;
        };
        assert_eq!(fields, expected, "other fields");
        let table = &decoder.table;
        let entries = table.entries.iter();
        let entries = entries.map(|entry| entry.text.split_at(entry.name_bytes));
        let expected = plain.table.iter();
        let expected = expected.map(|(name, value)| (name.as_slice(), value.as_slice()));
        assert!(entries.eq(expected), "another table");
        assert_eq!(table.bytes, plain.bytes());
        assert!(table.bytes <= table.bytes_max && table.bytes_max <= TABLE_BYTES);
    }
}

/// RFC 7541 in its plainest form.
struct PlainDecoder {
    /// The newest first.
    table: Vec<Field>,
    bytes_max: usize,
}

impl PlainDecoder {
    /// All fields of a block; `None` if it must be refused.
    fn decode(&mut self, mut block: &[u8]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        while let Some(first) = block.first() {
            let field = match first.leading_zeros() {
                0 => self.entry(number(&mut block, 7)?)?,
                1 => {
                    let field = self.literal(&mut block, 6)?;
                    self.table.insert(0, field.clone());
                    self.shrink();
                    field
                }
                2 if fields.is_empty() => {
                    self.bytes_max = number(&mut block, 5)?;
                    if self.bytes_max > TABLE_BYTES {
                        return None;
                    }
                    self.shrink();
                    continue;
                }
                2 => return None,
                _ => self.literal(&mut block, 4)?,
            };
            fields.push(field);
            if fields.len() > HEADERS_MAX || bytes(&fields) > HEAD_BYTES_MAX {
                return None;
            }
        }
        Some(fields)
    }

    fn literal(&self, block: &mut &[u8], prefix: u32) -> Option<Field> {
        let name = match number(block, prefix)? {
            0 => string(block)?,
            place => self.entry(place)?.0,
        };
        Some((name, string(block)?))
    }

    fn entry(&self, number: usize) -> Option<Field> {
        let fixed = STATIC_TABLE.iter();
        let fixed =
            fixed.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        fixed
            .chain(self.table.iter().cloned())
            .nth(number.checked_sub(1)?)
    }

    fn shrink(&mut self) {
        while self.bytes() > self.bytes_max {
            self.table.pop();
        }
    }

    fn bytes(&self) -> usize {
        bytes(&self.table)
    }
}

/// The size of fields in a table.
fn bytes(fields: &[Field]) -> usize {
    fields
        .iter()
        .map(|(name, value)| name.len() + value.len() + ENTRY_OVERHEAD)
        .sum()
}

fn number(block: &mut &[u8], prefix: u32) -> Option<usize> {
    let mask = (1_usize << prefix) - 1;
    let value = usize::from(*block.split_off_first()?) & mask;
    if value < mask {
        return Some(value);
    }
    let more = block.iter().position(|byte| byte & 0x80 == 0)?;
    let bytes = block.split_off(..=more)?;
    if more > NUMBER_BYTES_MAX as usize {
        return None;
    }
    let high = bytes
        .iter()
        .rev()
        .fold(0, |high, byte| high << 7 | usize::from(byte & 0x7f));
    Some(mask + high)
}

fn string(block: &mut &[u8]) -> Option<Vec<u8>> {
    let is_coded = block.first()? & 0x80 != 0;
    let length = number(block, 7)?;
    let text = block.split_off(..length)?;
    if !is_coded {
        return Some(text.to_vec());
    }
    let mut decoded = Vec::new();
    huffman::decode(text, &mut decoded)?;
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inputs_kept_by_fuzzing_are_decoded_as_by_the_plain_decoder() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay("hpack", 2_000, any_blocks);
    }

    proptest! {
        #[test]
        fn any_blocks_are_decoded_as_by_the_plain_decoder(
            blocks in prop::collection::vec(prop::collection::vec(field(), 0..20), 1..6),
        ) {
            // Method: the fuzz target's body, on fields that fill, name and resize the table.
            let blocks = blocks.iter().map(|fields| {
                let block: Vec<u8> = fields.concat();
                let length = block.len().min(255);
                [&[length as u8], &block[..length]].concat()
            });
            any_blocks(&blocks.collect::<Vec<_>>().concat());
        }
    }

    /// One field of a block, or a new size of the table.
    fn field() -> impl Strategy<Value = Vec<u8>> {
        let text = || prop::collection::vec(b'a'..b'd', 0..90);
        let literal = |(first, name, value): (u8, Vec<u8>, Vec<u8>)| {
            let name = [&[name.len() as u8], &name[..]].concat();
            [&[first], &name[..], &[value.len() as u8], &value[..]].concat()
        };
        prop_oneof![
            4 => (prop::sample::select(vec![0x40, 0x40, 0, 0x10]), text(), text()).prop_map(literal),
            4 => (0x80..0xc8_u8).prop_map(|first| vec![first]),
            2 => (61..70_u8).prop_map(|number| vec![0x7e + u8::from(number > 65), 1, b'v']),
            1 => (0..0x1f_u8).prop_map(|size| vec![0x20 | size]),
            1 => any::<u8>().prop_map(|more| vec![0x3f, more | 0x80, 0x1f & more]),
            1 => any::<[u8; 2]>().prop_map(|bytes| bytes.to_vec()),
        ]
    }
}
