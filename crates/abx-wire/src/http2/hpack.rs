//! Header blocks (RFC 7541): received blocks are fully decoded; sent blocks do not use the table
//! that both sides would have to keep.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod huffman;
mod static_table;

use std::collections::VecDeque;

use self::static_table::STATIC_TABLE;
use super::fault::Fault;
use crate::http1::{HEAD_BYTES_MAX, HEADERS_MAX};

/// The size of the table that every peer may use (RFC 9113, section 6.5.2); we request no other.
const TABLE_BYTES: usize = 4096;
/// The size of an entry in addition to its name and value (RFC 7541, section 4.1).
const ENTRY_OVERHEAD: usize = 32;
/// The most bytes of a number after the first one: they hold 28 bits and more.
const NUMBER_BYTES_MAX: u32 = 4;

/// Decodes the blocks of one connection, in their order.
#[derive(Debug, Default)]
pub(super) struct HeaderDecoder {
    table: DynamicTable,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Fields that were sent before, the newest first.
#[derive(Debug)]
struct DynamicTable {
    entries: VecDeque<TableEntry>,
    /// Their size as the standard measures it.
    bytes: usize,
    bytes_max: usize,
    /// How often it was changed.
    changes: u64,
}

#[derive(Debug, Default)]
struct TableEntry {
    /// The name, followed by the value.
    text: Vec<u8>,
    name_bytes: usize,
}

impl Default for DynamicTable {
    fn default() -> DynamicTable {
        DynamicTable {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max: TABLE_BYTES,
            changes: 0,
        }
    }
}

impl TableEntry {
    fn size(&self) -> usize {
        self.text.len() + ENTRY_OVERHEAD
    }
}

impl DynamicTable {
    /// The name and value with this number (RFC 7541, section 2.3.3).
    fn get(&self, number: usize) -> Result<(&[u8], &[u8]), Fault> {
        let index = number.checked_sub(1).ok_or(Fault::Compression)?;
        if let Some((name, value)) = STATIC_TABLE.get(index) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(index - STATIC_TABLE.len());
        let entry = entry.ok_or(Fault::Compression)?;
        Ok(entry.text.split_at(entry.name_bytes))
    }

    fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        if size > self.bytes_max && self.entries.is_empty() {
            // nginx sets the size of its table to 0, and yet adds each field.
            return;
        }
        self.changes += 1;
        let spare = self.evict(self.bytes_max.saturating_sub(size));
        if size > self.bytes_max {
            // An entry that is too large empties the table (RFC 7541, section 4.4).
            return;
        }
        // The memory of an evicted entry is reused.
        let mut entry = spare.unwrap_or_default();
        entry.text.clear();
        entry.text.extend_from_slice(name);
        entry.text.extend_from_slice(value);
        entry.name_bytes = name.len();
        self.bytes += size;
        self.entries.push_front(entry);
    }

    fn resize(&mut self, bytes_max: usize) {
        if bytes_max == self.bytes_max {
            return;
        }
        self.changes += 1;
        self.bytes_max = bytes_max;
        self.evict(bytes_max);
    }

    /// Evicts the oldest entries until no more than this is left; returns the last one evicted.
    fn evict(&mut self, bytes_max: usize) -> Option<TableEntry> {
        let mut last = None;
        while self.bytes > bytes_max {
            let oldest = self.entries.pop_back()?;
            self.bytes -= oldest.size();
            last = Some(oldest);
        }
        last
    }
}

impl HeaderDecoder {
    /// How often its table was changed. The meaning of bytes stays the same until the next change.
    pub(super) fn changes(&self) -> u64 {
        self.table.changes
    }

    /// Decodes a complete block and passes on each field.
    ///
    /// # Errors
    /// [`Fault::Compression`] and [`Fault::HeadTooLarge`]: later blocks cannot be read either.
    pub(super) fn decode(
        &mut self,
        mut block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Fault> {
        let (mut fields, mut bytes) = (0, 0);
        let mut count = |name: &[u8], value: &[u8]| {
            fields += 1;
            bytes += name.len() + value.len() + ENTRY_OVERHEAD;
            if fields > HEADERS_MAX || bytes > HEAD_BYTES_MAX {
                Err(Fault::HeadTooLarge)
            } else {
                Ok(())
            }
        };
        let mut is_begun = false;
        while let Some(first) = block.first().copied() {
            if first & 0xe0 == 0x20 {
                let bytes_max = number(&mut block, 5)?;
                // At the front of a block only (RFC 7541, section 4.2).
                if is_begun || bytes_max > TABLE_BYTES {
                    return Err(Fault::Compression);
                }
                self.table.resize(bytes_max);
                continue;
            }
            is_begun = true;
            if first & 0x80 != 0 {
                let (name, value) = self.table.get(number(&mut block, 7)?)?;
                count(name, value)?;
                take(name, value);
                continue;
            }
            let is_kept = first & 0x40 != 0;
            let named = number(&mut block, if is_kept { 6 } else { 4 })?;
            let HeaderDecoder { table, name, value } = self;
            let field_name: &[u8] = match named {
                0 => string(&mut block, name)?,
                _ => {
                    // The named entry may be evicted to make room for the new one.
                    name.clear();
                    name.extend_from_slice(table.get(named)?.0);
                    name
                }
            };
            let field_value = string(&mut block, value)?;
            count(field_name, field_value)?;
            take(field_name, field_value);
            if is_kept {
                table.insert(field_name, field_value);
            }
        }
        Ok(())
    }
}

/// A number whose first byte has `prefix` bits of it (RFC 7541, section 5.1).
fn number(block: &mut &[u8], prefix: u32) -> Result<usize, Fault> {
    let (first, rest) = block.split_first().ok_or(Fault::Compression)?;
    *block = rest;
    let mask = (1_usize << prefix) - 1;
    let mut value = usize::from(*first) & mask;
    if value < mask {
        return Ok(value);
    }
    for place in 0..=NUMBER_BYTES_MAX {
        let (next, rest) = block.split_first().ok_or(Fault::Compression)?;
        *block = rest;
        value += (usize::from(*next) & 0x7f) << (7 * place);
        if next & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Fault::Compression)
}

/// A string (RFC 7541, section 5.2), which is decoded into `room` if it is compressed.
fn string<'a, 'b: 'a>(block: &mut &'b [u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], Fault> {
    let is_coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = number(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or(Fault::Compression)?;
    *block = rest;
    if !is_coded {
        return Ok(text);
    }
    room.clear();
    huffman::decode(text, room).ok_or(Fault::Compression)?;
    Ok(room.as_slice())
}

/// Writes a field that the peer must not keep. Its value is not compressed.
pub(super) fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    let mut table = STATIC_TABLE.iter();
    if let Some(place) = table.position(|pair| *pair == (name, value)) {
        return push_number(out, 0x80, 7, place + 1);
    }
    let mut table = STATIC_TABLE.iter();
    match table.position(|(known, _)| *known == name) {
        Some(place) => push_number(out, 0, 4, place + 1),
        None => {
            out.push(0);
            push_string(out, name);
        }
    }
    push_string(out, value);
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    push_number(out, 0, 7, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn push_number(out: &mut Vec<u8>, flags: u8, prefix: u32, value: usize) {
    let low = |value: usize| u8::try_from(value & 0x7f).expect("seven bits");
    let mask = (1_usize << prefix) - 1;
    if value < mask {
        return out.push(flags | low(value));
    }
    out.push(flags | low(mask));
    let mut rest = value - mask;
    while rest > 0x7f {
        out.push(0x80 | low(rest));
        rest >>= 7;
    }
    out.push(low(rest));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: String = hex.split_whitespace().collect();
        let byte = |start| u8::from_str_radix(&digits[start..start + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    fn decoded(decoder: &mut HeaderDecoder, block: &[u8]) -> Result<String, Fault> {
        let mut text = String::new();
        decoder.decode(block, |name, value| {
            text.push_str(std::str::from_utf8(name).unwrap());
            text.push('=');
            text.push_str(std::str::from_utf8(value).unwrap());
            text.push('\n');
        })?;
        Ok(text)
    }

    /// The entries of the table, newest first.
    fn table(decoder: &HeaderDecoder) -> Vec<String> {
        let entries = decoder.table.entries.iter();
        let texts = entries.map(|entry| {
            let (name, value) = entry.text.split_at(entry.name_bytes);
            let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
            format!("{}: {}", text(name), text(value))
        });
        texts.collect()
    }

    #[test]
    fn numbers_are_those_of_the_standard() {
        // Method: appendix C.1, read and written, and numbers without an end or too large.
        for (prefix, value, hex) in [(5, 10, "0a"), (5, 1337, "1f 9a 0a"), (8, 42, "2a")] {
            let coded = bytes(hex);
            assert_eq!(number(&mut &coded[..], prefix), Ok(value));
            let mut out = Vec::new();
            push_number(&mut out, 0, prefix, value);
            assert_eq!(out, coded);
        }
        for hex in ["", "1f", "1f 80", "1f ff ff ff ff ff 01"] {
            let coded = bytes(hex);
            assert_eq!(number(&mut &coded[..], 5), Err(Fault::Compression), "{hex}");
        }
    }

    #[test]
    fn requests_of_the_standard_are_decoded() {
        // Method: appendices C.3 and C.4: three blocks on one connection, as they are and
        // in Huffman's code, and the table after them.
        let plain = [
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        ];
        let coded = [
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ];
        for blocks in [plain, coded] {
            let mut decoder = HeaderDecoder::default();
            let mut next = |place: usize| decoded(&mut decoder, &bytes(blocks[place])).unwrap();
            let host = ":authority=www.example.com\n";
            let common = ":method=GET\n:scheme=http\n:path=/\n";
            assert_eq!(next(0), format!("{common}{host}"));
            assert_eq!(next(1), format!("{common}{host}cache-control=no-cache\n"));
            assert_eq!(
                next(2),
                format!(
                    ":method=GET\n:scheme=https\n:path=/index.html\n{host}custom-key=custom-value\n"
                )
            );
            assert_eq!(
                table(&decoder),
                [
                    "custom-key: custom-value",
                    "cache-control: no-cache",
                    ":authority: www.example.com"
                ]
            );
            assert_eq!(decoder.table.bytes, 164);
        }
    }

    #[test]
    fn responses_of_the_standard_are_decoded_by_a_small_table() {
        // Method: appendix C.6, whose table of 256 bytes is set by the block itself: each
        // response evicts the entries of the one before it.
        let mut decoder = HeaderDecoder::default();
        let update = "3fe1 01";
        let first = format!(
            "{update} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 \
             82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3"
        );
        let date = "date=Mon, 21 Oct 2013 20:13:21 GMT\n";
        let location = "location=https://www.example.com\n";
        let read = decoded(&mut decoder, &bytes(&first)).unwrap();
        assert_eq!(
            read,
            format!(":status=302\ncache-control=private\n{date}{location}")
        );
        assert_eq!(decoder.table.bytes, 222);
        let read = decoded(&mut decoder, &bytes("4883 640e ffc1 c0bf")).unwrap();
        assert_eq!(
            read,
            format!(":status=307\ncache-control=private\n{date}{location}")
        );
        let third = "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b \
                     d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 \
                     0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07";
        let read = decoded(&mut decoder, &bytes(third)).unwrap();
        let date = "date=Mon, 21 Oct 2013 20:13:22 GMT\n";
        let cookie = "set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n";
        assert_eq!(
            read,
            format!(
                ":status=200\ncache-control=private\n{date}{location}content-encoding=gzip\n{cookie}"
            )
        );
        assert_eq!(decoder.table.bytes, 215);
        assert_eq!(table(&decoder).len(), 3);
    }

    #[test]
    fn only_a_change_of_the_table_counts_as_one() {
        // Method: `server: nginx`, added to a table with room, then to one that is set to 0 bytes,
        // which evicts it, then to that empty table again.
        let mut decoder = HeaderDecoder::default();
        let mut changes_after = |hex| {
            let read = decoded(&mut decoder, &bytes(hex)).unwrap();
            assert_eq!(read, "server=nginx\n");
            decoder.changes()
        };
        assert_eq!(changes_after("76 05 6e67 696e 78"), 1);
        assert_eq!(changes_after("20 76 05 6e67 696e 78"), 2);
        assert_eq!(changes_after("20 76 05 6e67 696e 78"), 2);
        assert_eq!(changes_after("76 05 6e67 696e 78"), 2);
    }

    #[test]
    fn broken_blocks_are_refused() {
        // Method: number 0, one beyond the table, a string beyond the block, a broken code,
        // a size after a field, and a size beyond the allowed one.
        for hex in [
            "80",
            "be",
            "00 05 61",
            "00 82 ff ff 00",
            "82 20",
            "3f e2 1f",
            "40",
        ] {
            let mut decoder = HeaderDecoder::default();
            let read = decoded(&mut decoder, &bytes(hex));
            assert_eq!(read, Err(Fault::Compression), "{hex}");
        }
    }

    #[test]
    fn a_small_block_cannot_expand_without_limit() {
        // Method: a field of 3 KB that is put into the table and then named by one byte each.
        let mut decoder = HeaderDecoder::default();
        let mut block = vec![0x40, 1, b'a'];
        push_number(&mut block, 0, 7, 3000);
        block.extend(std::iter::repeat_n(b'x', 3000));
        block.extend(std::iter::repeat_n(0xbe, 100));
        assert_eq!(decoded(&mut decoder, &block), Err(Fault::HeadTooLarge));
        let block = vec![0x82; HEADERS_MAX + 1];
        assert_eq!(decoded(&mut decoder, &block), Err(Fault::HeadTooLarge));
    }

    #[test]
    fn written_fields_are_read_back_and_not_kept() {
        // Method: fields that the table has completely, by name only, and not at all.
        let fields = [
            (":method", "GET"),
            ("user-agent", "abx/1"),
            ("x-a", "b"),
            ("cookie", ""),
        ];
        let mut block = Vec::new();
        fields
            .iter()
            .for_each(|(name, value)| field(&mut block, name, value));
        let mut decoder = HeaderDecoder::default();
        let text: String = fields
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        assert_eq!(decoded(&mut decoder, &block), Ok(text));
        assert_eq!(decoder.changes(), 0);
    }
}
