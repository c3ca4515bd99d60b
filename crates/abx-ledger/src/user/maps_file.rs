//! Memory from which a process runs code, as `/proc/PID/maps` lists it.

/// A part of a process's memory that holds code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeMapping<'a> {
    pub start: u64,
    /// In bytes.
    pub len: u64,
    /// The offset of its start in the file, in bytes.
    pub offset: u64,
    /// 0 if it is not a file.
    pub inode: u64,
    /// As the process sees it; empty, `//anon`, `[vdso]` and the like if it is not a file.
    pub path: &'a [u8],
}

/// The parts of memory in a file `/proc/PID/maps` that may be executed.
pub(crate) fn parse_maps(text: &[u8]) -> impl Iterator<Item = CodeMapping<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(parse_line)
}

/// `7f29ef091000-7f29ef0b7000 r-xp 00001000 fd:00 1234    /usr/lib/libc.so.6`
fn parse_line(line: &[u8]) -> Option<CodeMapping<'_>> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let is_code = fields.next()?.get(2) == Some(&b'x');
    let offset = std::str::from_utf8(fields.next()?).ok()?;
    let _device = fields.next()?;
    let inode = std::str::from_utf8(fields.next()?).ok()?;
    let mapping = CodeMapping {
        start,
        len: end.checked_sub(start)?,
        offset: u64::from_str_radix(offset, 16).ok()?,
        inode: inode.parse().ok()?,
        path: fields.next().unwrap_or_default().trim_ascii_start(),
    };
    is_code.then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_and_data_is_not() {
        // Method: lines of this kernel, with a path that has spaces, anonymous code, data, and
        // invalid lines.
        let text = b"55d4c8e00000-55d4c8e2b000 r--p 00000000 fd:00 42   /usr/sbin/nginx\n\
            55d4c8e2b000-55d4c8f0a000 r-xp 0002b000 fd:00 42         /srv/my server (deleted)\n\
            7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
            7fff1000-7fff0000 r-xp 00000000 00:00 0 [vdso]\nx\n-\n";
        let mapping = |start, len, offset, inode, path| CodeMapping {
            start,
            len,
            offset,
            inode,
            path,
        };
        let expected = [
            mapping(
                0x55d4_c8e2_b000,
                0xdf000,
                0x2b000,
                42,
                &b"/srv/my server (deleted)"[..],
            ),
            mapping(0x7f00_0000_0000, 0x1000, 0, 0, &b""[..]),
        ];
        assert_eq!(parse_maps(text).collect::<Vec<_>>(), expected);
    }
}
