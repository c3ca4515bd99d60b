//! Reads access logs from files: text, or text that rotation has compressed.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::line::LINE_BYTES_MAX;
use super::log::{AccessLog, AccessLogError, ReplayedMethods};

/// The first bytes of files that gzip (RFC 1952) and zstd (RFC 8878) write.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

impl AccessLog {
    /// Reads all lines of a log, as text or compressed by gzip or zstd.
    ///
    /// # Errors
    /// [`AccessLogError::Unread`], [`AccessLogError::TooManyDifferent`],
    /// [`AccessLogError::TooMany`].
    pub fn read(input: impl Read, methods: ReplayedMethods) -> Result<AccessLog, AccessLogError> {
        let mut input = BufReader::new(input);
        let start = input.fill_buf()?;
        let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
        let mut log = AccessLog::of(methods);
        if is_gzip {
            log.take_all(BufReader::new(MultiGzDecoder::new(input)))?;
        } else if is_zstd {
            log.take_all(BufReader::new(zstd::Decoder::with_buffer(input)?))?;
        } else {
            log.take_all(input)?;
        }
        Ok(log)
    }

    fn take_all(&mut self, mut text: impl BufRead) -> Result<(), AccessLogError> {
        // One byte more than a line may have, and the line's end.
        let limit = LINE_BYTES_MAX + 2;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = text
                .by_ref()
                .take(limit as u64)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            if read == limit && !line.ends_with(b"\n") {
                skip_line(&mut text)?;
            }
            self.take(&line)?;
        }
    }
}

/// Skips the rest of a line.
fn skip_line(text: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = text.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = buffer.len();
        text.consume(end.map_or(length, |end| end + 1));
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use abx_engine::schedule::ReplaySpeed;

    use super::*;

    const LINE: &str = "h - - [01/Jan/2020:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";

    fn words(bytes: &[u8]) -> String {
        let log = AccessLog::read(bytes, ReplayedMethods::Safe).unwrap();
        log.replayed(ReplaySpeed::RECORDED).unwrap().words("x")
    }

    #[test]
    fn compressed_logs_are_read_like_their_text() {
        // Method: one text, plain, with a byte-order mark, compressed by gzip in two parts as
        // rotation may append them, and compressed by zstd.
        let text = LINE.repeat(3);
        let marked = format!("\u{feff}{text}");
        assert_eq!(words(marked.as_bytes()), words(text.as_bytes()));
        let gzip = |text: &str| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text.as_bytes()).unwrap();
            packer.finish().unwrap()
        };
        let parts = [gzip(LINE), gzip(&LINE.repeat(2))].concat();
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for bytes in [text.as_bytes(), &parts, &zstd] {
            assert_eq!(words(bytes), "of x, 3 requests in 1s");
        }
        let cut = &parts[..parts.len() - 9];
        let refused = AccessLog::read(cut, ReplayedMethods::Safe).unwrap_err();
        assert!(refused.to_string().contains("cannot be read"), "{refused}");
    }

    #[test]
    fn a_line_that_is_too_long_is_one_damaged_line() {
        // Method: lines around the limit and of several times its length, each between valid
        // lines, the last of which has no end.
        for length in [
            LINE_BYTES_MAX - 1,
            LINE_BYTES_MAX,
            LINE_BYTES_MAX + 1,
            3 * LINE_BYTES_MAX,
        ] {
            let long = format!("{LINE}{}\r\n{LINE}{}", "a".repeat(length), LINE.trim_end());
            let words = words(long.as_bytes());
            assert!(words.starts_with("of x, 3 requests in 1s"), "{words}");
            let why = if length <= LINE_BYTES_MAX {
                "1 damaged (line 2: it has no time"
            } else {
                "1 damaged (line 2: it is longer than 64 KiB"
            };
            assert!(words.contains(why), "{length}: {words}");
        }
    }
}
