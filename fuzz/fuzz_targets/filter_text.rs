//! Any text before the model: spans lie on characters, nothing is masked twice, and what was stripped leaves nothing to strip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate::filter::{Scope, clean, escape_line, scan};
use toolgate::manifest::{Filters, Treatment};

fuzz_target!(|text: &str| {
    for finding in scan(text) {
        assert!(finding.score >= 0.5 && text.get(finding.start..finding.end).is_some_and(|span| !span.is_empty()));
    }
    assert!(!escape_line(text).contains(['\n', '\r', '\u{2028}', '\u{202e}', '\u{1b}']));
    let settings = Filters { personal_data: Treatment::Mask, injection: Treatment::Off, ..Filters::default() };
    if let Ok(once) = clean(text, &settings, Scope::Untrusted) {
        let _ = clean(&once.text, &settings, Scope::Untrusted);
    }
    let _ = clean(text, &Filters::default(), Scope::Own);
    let _ = clean(text, &Filters::default(), Scope::Untrusted);
});
