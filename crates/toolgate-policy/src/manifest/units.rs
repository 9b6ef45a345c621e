//! Amounts of time as the manifest writes them.

use std::time::Duration;

use crate::model::amount;

/// Reads a whole number and a unit: `ms`, `s`, `m`, `h`, `d`. Bounds: up to 100 years.
/// # Errors
/// A sentence for the manifest's list of faults.
pub fn duration(text: &str) -> Result<Duration, String> {
    let fault = || format!("`{text}` is no amount of time; write a whole number and a unit, e.g. `500ms`, `10s`, `10m`, `2h`, `400d`");
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let milliseconds = amount(text, &units).ok_or_else(fault)?;
    // A century in milliseconds: what is longer is a slip of the pen, and would overflow later sums.
    if milliseconds > 36_500 * 86_400_000 {
        return Err(fault());
    }
    Ok(Duration::from_millis(milliseconds))
}

/// Reads a share of one core: a whole number of percent, 1 to 6400, with `%`.
/// # Errors
/// A sentence for the manifest's list of faults.
pub fn percent(text: &str) -> Result<u32, String> {
    let fault = || format!("`{text}` is no share of a core; write whole percents, e.g. `100%`");
    let number: u32 = text.strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(fault)?;
    if (1..=6400).contains(&number) { Ok(number) } else { Err(fault()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_time_have_a_unit() {
        for (text, seconds) in [("10s", 10), ("10m", 600), ("400d", 34_560_000), ("1 h", 3600), ("0s", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for text in ["", "10", "s", "-1s", "1.5s", "10 sec", "10S", "99999999999999999999s", "40000d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_whole_percents() {
        assert_eq!(percent("50%"), Ok(50));
        for text in ["0%", "50", "50 %", "-1%", "6401%", "%"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
