//! Words with units: `10s`, `100ms`, `3%`, `100ms/1s`.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use abx_engine::schedule::PerSecond;
use abx_lab::{ExpectBody, Rate, SHARES, SliceLength, units};
use abx_server::Work;

/// Reads a time such as `10s`, `100ms`, `2m` or `50us`.
pub fn duration(text: &str) -> Result<Duration, String> {
    units::time(text).ok_or_else(|| {
        format!(
            "`{text}` is not a time above zero: give a number with a unit, such as 10s, 100ms or 2m"
        )
    })
}

/// Reads how long slices are: a time such as `100ms`, or `auto`.
pub fn slice_length(text: &str) -> Result<SliceLength, String> {
    units::slice_length(text).ok_or_else(|| {
        format!(
            "`{text}` is neither a time above zero nor `auto`: give a number with a unit, such \
             as 100ms or 1s"
        )
    })
}

/// One rate or several.
#[derive(Debug, Clone)]
pub struct RateList(pub Vec<Rate>);

/// Reads rates per second such as `2000`, shares of what the slowest server can
/// do such as `25%`, several of both, or `auto`.
pub fn rates(text: &str) -> Result<RateList, String> {
    if text == "auto" {
        return Ok(RateList(SHARES.map(Rate::Share).into()));
    }
    let rate = |text: &str| {
        Rate::parse(text.trim()).ok_or_else(|| match text.trim().parse::<PerSecond>() {
            Err(error) if !text.contains('%') => error.to_string(),
            _ => format!("`{text}` is not a percentage: give a number above 0 and %, at most 200%"),
        })
    };
    text.split(',')
        .map(rate)
        .collect::<Result<_, _>>()
        .map(RateList)
}

/// Reads a share such as `3%` or `0.5%` as a fraction.
pub fn percent(text: &str) -> Result<f64, String> {
    units::share(text)
        .ok_or_else(|| format!("`{text}` is not a percentage: give a number and %, such as 3%"))
}

/// Reads path and query of a request.
pub fn path(text: &str) -> Result<String, String> {
    if units::is_url_path(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a path: a path begins with /, encodes all but visible ASCII as %XX, and has no #"
    ))
}

/// Reads a method.
pub fn method(text: &str) -> Result<String, String> {
    if units::is_token(text) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is not a method: give one such as GET"))
}

/// Reads an address that connections of this machine can come from.
pub fn local_address(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text
        .parse()
        .map_err(|_| format!("`{text}` is not an IP address: give one such as 127.0.0.2"))?;
    // Binding tells what the kernel takes: all of 127.0.0.0/8, and what interfaces have.
    UdpSocket::bind((address, 0))
        .map(|_| address)
        .map_err(|error| {
            format!(
                "no connection can come from {address}: {error} (`ip address` lists this machine's)"
            )
        })
}

/// Reads which body is right.
pub fn expect_body(text: &str) -> Result<ExpectBody, String> {
    units::expect_body(text).ok_or_else(|| {
        format!(
            "`{text}` is neither `same`, nor `any`, nor a SHA-256 of 64 hexadecimal digits \
             (as `sha256sum` prints it)"
        )
    })
}

/// Reads a stall such as `100ms/1s`: this long, this often.
pub fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (length, period) = text.split_once('/').ok_or_else(|| {
        format!("`{text}` is not a stall: give how long and how often, such as 100ms/1s")
    })?;
    Ok((duration(length)?, duration(period)?))
}

/// Reads work for each request: a time such as `10us`, or turns such as `4000turns`.
pub fn work(text: &str) -> Result<Work, String> {
    if let Some(time) = units::time(text) {
        return Ok(Work::Time(time));
    }
    let turns = text
        .strip_suffix("turns")
        .and_then(|turns| turns.parse().ok());
    turns.map(Work::Turns).ok_or_else(|| {
        format!("`{text}` is neither a time such as 10us nor a number of turns such as 4000turns")
    })
}

/// Reads a header such as `Accept: text/html`.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` is not a header: write `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_and_headers_have_two_parts() {
        // Method: one right and one wrong of each.
        let (length, period) = stall("100ms/1s").unwrap();
        assert_eq!((length.as_millis(), period.as_millis()), (100, 1000));
        assert!(stall("100ms").is_err());
        assert_eq!(header("A: b:c"), Ok(("A".into(), "b:c".into())));
        assert!(header("A b").is_err());
    }

    #[test]
    fn work_is_a_time_or_turns() {
        // Method: one right of each, and what is neither.
        assert_eq!(work("10us"), Ok(Work::Time(Duration::from_micros(10))));
        assert_eq!(work("4000turns"), Ok(Work::Turns(4_000)));
        assert!(work("4000").is_err() && work("turns").is_err() && work("-1turns").is_err());
    }
}
