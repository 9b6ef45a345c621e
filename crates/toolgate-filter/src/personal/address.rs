//! Postal addresses: only forms that say so by themselves. Low confidence by nature.

use std::sync::LazyLock;

use regex::Regex;

use crate::finding::{Finding, floor};

/// `410 Harbor View Lane Suite 12, Port Ellis, OR 97001`: tried before a state and ZIP code.
static STREET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)\d{1,6}\s(?:[A-Z][A-Za-z'.]*\s){1,5}?(?:(?:[A-Z][a-z]+)(?:\s(?:Suite|Ste\.?|Apt\.?|Unit|#)\s?#?\w{1,6})?),?\s(?:[A-Z][A-Za-z'.]*\s?){1,4},\s[A-Z]{2}$").ok()
});
static ZIP: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Z]{2} (?-u:\d{5}(?:-\d{4})?\b)").ok());
/// 省 市 区 路 号 and what is inside the house.
static CHINESE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:\p{Han}{2,6}(?:省|自治区))?\p{Han}{2,5}市(?:\p{Han}{1,6}[区县])?(?:\p{Han}{1,12}(?:路|街|道|巷|大道|胡同))\d{1,5}号(?:[\p{Han}A-Za-z]{0,8}\d{1,4}(?:栋|幢|座|号楼|单元|室|层|楼)){0,4}").ok()
});

/// Bytes before the state that an address may take.
const REACH: usize = 120;

/// Finds addresses.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    if let (Some(zip), Some(street)) = (ZIP.as_ref(), STREET.as_ref()) {
        let mut free_from = 0;
        for found in zip.find_iter(text) {
            let from = floor(text, found.start().saturating_sub(REACH)).max(free_from);
            let Some(window) = text.get(from..found.start() + 2) else { continue };
            if let Some(address) = street.find(window) {
                free_from = found.end();
                out.push(super::found("ADDRESS", "us", from + address.start(), found.end(), 0.7));
            }
        }
    }
    if text.contains('号')
        && let Some(chinese) = CHINESE.as_ref()
    {
        for found in chinese.find_iter(text) {
            let labels = ["收货地址", "地址", "住址", "住在"];
            let start = labels.iter().filter_map(|label| found.as_str().find(label).map(|at| at + label.len())).max().unwrap_or(0);
            out.push(super::found("ADDRESS", "cn", found.start() + start, found.end(), 0.7));
        }
    }
}
