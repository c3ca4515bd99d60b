//! Dates in the time zone of this machine.

use std::mem::MaybeUninit;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Seconds since 1970 as date and time of the machine's time zone, such as
/// `Sun Nov 01 07:29:20 2026`.
#[must_use]
#[allow(unsafe_code)]
pub fn local_date(seconds: u64) -> String {
    let at = libc::time_t::try_from(seconds).unwrap_or(libc::time_t::MAX);
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: Both pointers lead to memory of their types that outlives the call, and a `tm`
    // may be all zeros, of which a year that does not fit leaves some. The call may read the
    // variable `TZ`, and nothing in abx changes the environment.
    let parts = unsafe {
        libc::localtime_r(&raw const at, parts.as_mut_ptr());
        parts.assume_init()
    };
    let name = |names: &[&'static str], index: libc::c_int| {
        let index = usize::try_from(index).ok();
        index.and_then(|index| names.get(index).copied())
    };
    format!(
        "{} {} {:02} {:02}:{:02}:{:02} {}",
        name(&DAYS, parts.tm_wday).unwrap_or_default(),
        name(&MONTHS, parts.tm_mon).unwrap_or_default(),
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec,
        i64::from(parts.tm_year) + 1900
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_its_parts_whatever_the_zone() {
        // Method: zones are whole minutes apart, so seconds are the same in all; a week later
        // is the same day of the week.
        let first = local_date(1_795_465_760);
        assert_eq!(first.len(), 24, "{first}");
        assert!(
            first.ends_with(":20 2026") && first.contains(" Nov 2"),
            "{first}"
        );
        let later = local_date(1_795_465_760 + 7 * 86_400);
        assert_eq!(first[..3], later[..3]);
    }
}
