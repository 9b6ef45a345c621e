//! An address and a reference, divided by a line end: an accepted address reads the same again, and no reference leads out of the rules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate::model::{Host, HttpUrl};
use toolgate::manifest::{DomainPattern, NetworkRules};
use toolgate::policy::network::judge_url;

fuzz_target!(|text: &str| {
    let (address, reference) = text.split_once('\n').unwrap_or((text, ""));
    let rules = NetworkRules::default();
    if let Ok(pattern) = DomainPattern::parse(reference) {
        assert_eq!(DomainPattern::parse(&pattern.to_string()), Ok(pattern));
    }
    let Ok(url) = HttpUrl::parse(address) else { return };
    whole(&url);
    assert!(judge_url(&rules, &url).is_err(), "nothing is allowed by default");
    if let Ok(next) = url.join(reference) {
        whole(&next);
    }
});

fn whole(url: &HttpUrl) {
    assert_eq!(HttpUrl::parse(url.as_str()).as_ref(), Ok(url));
    assert!(matches!(url.as_url().scheme(), "http" | "https"));
    assert!(url.as_url().username().is_empty() && url.as_url().password().is_none());
    if let Host::Name(name) = url.host() {
        assert!(!name.is_empty() && name.len() <= 253 && !name.ends_with('.'));
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()));
    }
}
