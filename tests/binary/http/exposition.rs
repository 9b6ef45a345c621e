//! Prometheus' text form, read as strictly as its specification allows (exposition format 0.0.4): a page that another reader repairs fails here.

use std::collections::{BTreeMap, BTreeSet};

/// The series of a page: the name with its labels as they stand, and the value.
pub(crate) fn read(page: &str) -> BTreeMap<String, String> {
    assert!(page.ends_with('\n') && !page.contains('\r'), "lines end with a line feed, the last one too");
    let (mut series, mut families) = (BTreeMap::new(), BTreeSet::new());
    let mut family: Option<(String, String)> = None;
    let mut helped: Option<String> = None;
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help has a text");
            assert!(is_name(name) && !help.is_empty(), "{line}");
            assert!(families.insert(name.to_owned()), "{name} stands in two places");
            (helped, family) = (Some(name.to_owned()), None);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!(helped.as_deref(), Some(name), "the help of a family stands before its type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "a counter is called so: {name}");
            family = Some((name.to_owned(), kind.to_owned()));
        } else {
            let (id, value) = line.rsplit_once(' ').expect("a value");
            let name = id.split('{').next().unwrap();
            let (base, kind) = family.as_ref().unwrap_or_else(|| panic!("{name} has no type before it"));
            let own =
                name == base || kind == "histogram" && ["_bucket", "_sum", "_count"].iter().any(|end| *name == format!("{base}{end}"));
            assert!(is_name(name) && own, "{name} stands among the lines of {base}");
            labels(id.strip_prefix(name).unwrap());
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(series.insert(id.to_owned(), value.to_owned()).is_none(), "{id} stands twice");
        }
    }
    histograms(&series);
    series
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    first && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// `{name="value",…}` or nothing.
fn labels(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut rest = text.strip_prefix('{').unwrap_or_else(|| panic!("{text}"));
    loop {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{text}"));
        assert!(is_name(name), "{text}");
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next().unwrap_or_else(|| panic!("a label that does not end: {text}")) {
                (at, '"') => break at,
                (_, '\\') => assert!(matches!(characters.next(), Some((_, '\\' | '"' | 'n'))), "{text}"),
                _ => {}
            }
        };
        rest = after.get(end + 1..).unwrap();
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    assert_eq!(rest, "}", "{text}");
}

/// Buckets rise, and the last of them is the count.
fn histograms(series: &BTreeMap<String, String>) {
    let mut buckets: BTreeMap<String, Vec<(f64, u64)>> = BTreeMap::new();
    for (id, value) in series.iter().filter(|(id, _)| id.contains("_bucket{")) {
        let (head, bound) = id.split_once(",le=\"").unwrap_or_else(|| panic!("{id}"));
        let bound = bound.trim_end_matches("\"}");
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        buckets.entry(head.to_owned()).or_default().push((bound, value.parse().unwrap()));
    }
    for (head, mut rows) in buckets {
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(rows.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{head}: {rows:?}");
        let last = rows.last().unwrap();
        let count = format!("{}}}", head.replace("_bucket{", "_count{"));
        assert!(last.0.is_infinite() && Some(&last.1.to_string()) == series.get(&count), "{head}: {rows:?}");
        assert!(series.contains_key(&count.replace("_count{", "_sum{")), "{head}");
    }
}

#[test]
fn a_page_that_prometheus_would_not_read_is_refused_here() {
    read("# HELP a_total x\n# TYPE a_total counter\na_total{b=\"c\\\"d\"} 1\n");
    for bad in [
        "a_total 1\n",
        "# HELP a x\n# TYPE a gauge\na 1",
        "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a x\n# TYPE a gauge\na one\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"c\"d\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"c\\d\"} 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\n# HELP a x\n# TYPE a gauge\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{t=\"r\",le=\"1\"} 2\na_bucket{t=\"r\",le=\"+Inf\"} 1\na_sum{t=\"r\"} 1\na_count{t=\"r\"} 1\n",
    ] {
        assert!(std::panic::catch_unwind(|| read(bad)).is_err(), "{bad}");
    }
}
