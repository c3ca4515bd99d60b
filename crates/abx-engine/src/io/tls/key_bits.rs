//! How long the public key in a certificate is (RFC 5280, section 4.1, in DER).

/// Tags of DER.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// Curves by their object identifiers, and the bits of their keys.
const CURVES: [(&[u8], u32); 3] = [
    // prime256v1
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], 256),
    // secp384r1
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], 384),
    // secp521r1
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], 521),
];
/// rsaEncryption
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// Ed25519
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Bits of a certificate's public key; `None` for an unknown kind of key, or no certificate.
pub(super) fn key_bits(certificate: &[u8]) -> Option<u32> {
    let mut outer = Der(certificate);
    let mut signed = Der(Der(outer.take(SEQUENCE)?).take(SEQUENCE)?);
    // Absent in the first version of certificates.
    let _ = signed.take(VERSION);
    signed.take(INTEGER)?;
    // Signature algorithm, issuer, validity, subject.
    for _ in 0..4 {
        signed.take(SEQUENCE)?;
    }
    let mut key = Der(signed.take(SEQUENCE)?);
    let mut kind = Der(key.take(SEQUENCE)?);
    match kind.take(OBJECT)? {
        RSA => {
            // The first byte is the number of unused bits in the last one: none.
            let (_, bits) = key.take(BIT_STRING)?.split_first()?;
            let modulus = Der(Der(bits).take(SEQUENCE)?).take(INTEGER)?;
            let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
            let first = modulus.get(zeros)?;
            let bytes = u32::try_from(modulus.len() - zeros).ok()?;
            Some(bytes * 8 - first.leading_zeros())
        }
        ED25519 => Some(256),
        _ => {
            let curve = kind.take(OBJECT)?;
            let known = CURVES.iter().find(|(bytes, _)| *bytes == curve);
            known.map(|(_, bits)| *bits)
        }
    }
}

/// A sequence of DER values.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Takes the next value's content, if it has this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let [first, length, rest @ ..] = self.0 else {
            return None;
        };
        if *first != tag {
            return None;
        }
        let (length, rest) = match *length {
            short @ 0..=0x7f => (usize::from(short), rest),
            // The number of bytes that hold the length; no certificate needs more than three.
            long @ 0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long - 0x80))?;
                let length = bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte));
                (length, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let mut bytes = match u8::try_from(length) {
            Ok(short @ 0..0x80) => vec![tag, short],
            Ok(long) => vec![tag, 0x81, long],
            Err(_) => vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        bytes.extend_from_slice(content);
        bytes
    }

    /// The part of a certificate that is read, with this kind of key and this key.
    fn certificate(kind: &[u8], key: &[u8], has_version: bool) -> Vec<u8> {
        let empty = der(SEQUENCE, &[]);
        let key = [der(SEQUENCE, kind), der(BIT_STRING, &[&[0], key].concat())].concat();
        let version = der(VERSION, &der(INTEGER, &[2]));
        let parts = [
            if has_version { version } else { Vec::new() },
            der(INTEGER, &[1]),
            empty.repeat(4),
            der(SEQUENCE, &key),
        ];
        der(SEQUENCE, &der(SEQUENCE, &parts.concat()))
    }

    #[test]
    fn the_bits_of_known_kinds_of_keys_are_counted() {
        // Method: certificates built from parts: RSA of 2048 and 1023 bits, curves, and an
        // unknown kind.
        let rsa = der(OBJECT, RSA);
        let modulus = |first: u8, bytes: usize| {
            let number = [&[0, first][..], &vec![7; bytes - 1]].concat();
            der(
                SEQUENCE,
                &[der(INTEGER, &number), der(INTEGER, &[3])].concat(),
            )
        };
        for (has_version, first, bytes, bits) in [(true, 0x80, 256, 2048), (false, 0x40, 128, 1023)]
        {
            let certificate = certificate(&rsa, &modulus(first, bytes), has_version);
            assert_eq!(key_bits(&certificate), Some(bits));
        }
        for (curve, bits) in CURVES {
            let kind = [der(OBJECT, &[1, 2]), der(OBJECT, curve)].concat();
            assert_eq!(key_bits(&certificate(&kind, &[4; 65], true)), Some(bits));
        }
        let edwards = der(OBJECT, ED25519);
        assert_eq!(key_bits(&certificate(&edwards, &[4; 32], true)), Some(256));
        let unknown = [der(OBJECT, &[1, 2]), der(OBJECT, &[9])].concat();
        assert_eq!(key_bits(&certificate(&unknown, &[4; 65], true)), None);
    }

    #[test]
    fn a_truncated_certificate_has_no_key() {
        // Method: every prefix of a certificate, and a value with a false length.
        let certificate = certificate(&der(OBJECT, ED25519), &[4; 32], true);
        for end in 0..certificate.len() {
            assert_eq!(key_bits(&certificate[..end]), None);
        }
        assert_eq!(key_bits(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
