//! Words with units: `10s`, `100ms`, `3%`, `100ms/1s`.

use std::time::Duration;

/// Reads a time such as `10s`, `100ms`, `2m` or `50us`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let read = humantime::parse_duration(text).map_err(|_| {
        format!("`{text}` is no time: write a number and its unit, such as 10s, 100ms or 2m")
    })?;
    if read.is_zero() {
        return Err("a time above zero is needed".to_owned());
    }
    Ok(read)
}

/// Reads a share such as `3%` or `0.5%` as a fraction.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or_default();
    let percent: f64 = number
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is no share: write a number and %, such as 3%"))?;
    Ok(percent / 100.0)
}

/// Reads a stall such as `100ms/1s`: this long, this often.
pub fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (length, period) = text.split_once('/').ok_or_else(|| {
        format!("`{text}` is no stall: write how long and how often, such as 100ms/1s")
    })?;
    Ok((duration(length)?, duration(period)?))
}

/// Reads a header such as `Accept: text/html`.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` is no header: write `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_never_guessed() {
        // Method: right and wrong words of each kind.
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        for wrong in ["", "10", "s", "-1s", "0s", "1 parsec"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(percent("3%"), Ok(0.03));
        assert!(percent("3").is_err() && percent("%").is_err());
        let (length, period) = stall("100ms/1s").unwrap();
        assert_eq!((length.as_millis(), period.as_millis()), (100, 1000));
        assert!(stall("100ms").is_err());
        assert_eq!(header("A: b:c"), Ok(("A".into(), "b:c".into())));
        assert!(header("A b").is_err());
    }
}
