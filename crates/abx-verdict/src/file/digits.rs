//! Conclusions with nine digits. A file has measurements to their last bit, and conclusions with
//! nine digits, because they can be computed again.

use std::io::{self, Write};

use serde::ser::{Error, Serialize, Serializer};
use serde_json::ser::Formatter;
use serde_json::value::RawValue;

/// Serialises a value with nine digits of each floating-point number.
pub(super) fn rounded<T: Serialize, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut text, NineDigits);
    value.serialize(&mut writer).map_err(S::Error::custom)?;
    let text = String::from_utf8(text).map_err(S::Error::custom)?;
    let text = RawValue::from_string(text).map_err(S::Error::custom)?;
    text.serialize(serializer)
}

/// JSON on one line.
struct NineDigits;

impl Formatter for NineDigits {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let rounded: f64 = format!("{value:.8e}").parse().map_err(io::Error::other)?;
        serde_json::to_writer(writer, &rounded).map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize)]
    struct Rounded<T: Serialize>(#[serde(serialize_with = "rounded")] T);

    #[test]
    fn floats_have_nine_digits_and_everything_else_is_unchanged() {
        // Method: large, small, short and whole numbers, an absent number, and one in a string.
        let message = |value: f64| serde_json::to_string(&Rounded(value)).unwrap();
        assert_eq!(message(0.904_587_484_186_603_6), "0.904587484");
        assert_eq!(message(-97_686.126_559_681_5), "-97686.1266");
        assert_eq!(message(1.234_567_894_9e-12), "1.23456789e-12");
        assert_eq!(message(0.03), "0.03");
        assert_eq!(message(1.0), "1.0");
        let other = (u64::MAX, None::<f64>, "0.904587484186603", f64::NAN);
        let unchanged = serde_json::to_string(&Rounded(&other)).unwrap();
        assert_eq!(unchanged, serde_json::to_string(&other).unwrap());
    }
}
