//! Any text as `tools.toml`: a manifest or its faults, each with words; what was read is the same when it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate::{manifest, tools};

fuzz_target!(|text: &str| {
    match manifest::parse(text, tools::specs()) {
        Ok(read) => {
            let again = manifest::parse(text, tools::specs()).map(|again| again.sha256);
            assert_eq!(again.ok(), Some(read.sha256));
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(!fault.to_string().is_empty());
            }
        }
    }
});
