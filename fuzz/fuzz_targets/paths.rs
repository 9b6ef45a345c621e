//! A pattern and a path, divided by a line end: no accepted path climbs, each has one spelling, and a deny covers what it denies
//! exactly, generously and with all that is below.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate::manifest::{AllowPattern, DenyPattern, FoldedPath};
use toolgate::model::{CallPath, RelPath};

fuzz_target!(|text: &str| {
    let (pattern, path) = text.split_once('\n').unwrap_or(("**", text));
    if let Ok(call) = CallPath::parse(path) {
        assert!(call.segments().iter().all(|name| !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0', '\\'])));
        assert_eq!(CallPath::parse(&call.to_string()), Ok(call));
    }
    let Ok(path) = RelPath::parse(path) else { return };
    assert_eq!(path.rebased(&RelPath::ROOT, &RelPath::ROOT), Some(path.clone()));
    let (allow, deny) = (AllowPattern::parse(pattern), DenyPattern::parse(pattern));
    assert_eq!(allow.is_ok(), deny.is_ok());
    let (Ok(allow), Ok(deny)) = (allow, deny) else { return };
    if allow.matches(&path) {
        assert!(deny.covers(&FoldedPath::of(&path)), "an allow matches {path} and the same deny does not");
    }
    if deny.covers(&FoldedPath::of(&path)) {
        assert!(deny.covers(&FoldedPath::of(&path.join("x"))), "a deny covers {path} and not what is below");
    }
});
