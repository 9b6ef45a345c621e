//! Code that a page shows without `pre`: elements whose style keeps white space.

use super::code::{holders, is_pre, text_of};
use super::dom::{Dom, Id};

/// Makes such elements `pre`. `kept`: the elements whose style keeps white space.
pub(super) fn to_pre(dom: &mut Dom, kept: &[Id]) {
    let structured = holders(dom, |element| STRUCTURE.split(' ').any(|name| name == element.name()));
    for id in kept {
        let is_text = dom.element(*id).is_some_and(|element| WHITE.contains(&element.name())) && structured.get(*id) == Some(&false);
        let is_within = dom.ancestors(*id).any(|above| dom.element(above).is_some_and(is_pre));
        // Of a label in one line nothing would be lost.
        if is_text && !is_within && text_of(dom, *id).trim().contains(['\n', '\t']) {
            dom.rename(*id, "pre");
        }
    }
}

/// Elements that hold text, or its lines.
const WHITE: &[&str] = &["div", "p", "section", "code", "samp", "figure", "output"];

/// What stands in no code.
const STRUCTURE: &str = "h1 h2 h3 h4 h5 h6 table ul ol dl blockquote img form pre article main nav header footer video audio iframe \
    input";
