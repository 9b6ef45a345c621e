//! Any bytes as a Python program: the check must answer, with sorted findings, and judge its own normal form alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_pycheck::{MAX_FINDINGS, Rules, check};

fuzz_target!(|data: &[u8]| {
    let rules = Rules::strict(["json", "math", "functools", "typing", "dataclasses", "enum", "copy", "contextlib", "numpy"]);
    let report = check(data, &rules);
    assert!(report.findings.len() <= MAX_FINDINGS);
    assert!(report.findings.is_sorted_by_key(|finding| (finding.line, finding.column)));
    if !report.source.is_empty() {
        assert_eq!(check(report.source.as_bytes(), &rules), report);
    }
});
