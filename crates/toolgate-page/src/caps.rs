//! Reads a page into a tree at a bounded cost.
//!
//! The tokenizer compares each attribute of a tag with those before it, the tree builder looks through its open elements for each tag, and
//! extractors recurse. So attributes, open elements, nodes and depth are bounded, and what a page costs is counted.

use std::cell::Cell;

use html5ever::interface::Tracer;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink as _};
use html5ever::{Attribute, LocalName, TokenizerResult};

use super::choose::is_mark;
use super::dom::{Dom, Id};
use super::sink::Sink;
use super::streamed;

/// Depth of the tree; what is deeper becomes a child of the last element that is not.
pub(super) const MAX_DEPTH: usize = 512;
/// Open elements beyond which start tags are left out; their text stays.
const MAX_OPEN: usize = 512;
/// Attributes of one tag that are kept.
const MAX_ATTRIBUTES: usize = 256;
/// Bytes of one attribute value that are kept; longer values are data, not addresses.
const MAX_VALUE: usize = 8 * 1024;
/// Signs between attributes in one tag, or words in one comment, that are read.
const MAX_SEPARATORS: usize = 16 * 1024;
/// Comparisons of attributes and of open elements; what follows them in the page is not read.
const MAX_COST: usize = 50_000_000;
/// Bytes after which the cost is looked at.
const CHUNK: usize = 1024;
/// Elements that hold text and no tags, and so hold no other element open.
const RAW: &[&str] = &["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext"];

/// Builds the tree of a page with scripting off, so that `noscript` holds elements.
pub(super) fn parse(html: &str) -> Dom {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let bounds = Bounds {
        builder: TreeBuilder::new(Sink::default(), options),
        tokens: Cell::default(),
        cost: Cell::default(),
        open: Cell::default(),
    };
    let tokenizer = Tokenizer::new(bounds, TokenizerOpts::default());
    let (bounds, input) = (&tokenizer.sink, BufferQueue::default());
    let (mut rest, mut separators) = (html, 0);
    while !rest.is_empty() && !bounds.is_spent() {
        let (chunk, after) = rest.split_at_checked(rest.floor_char_boundary(CHUNK)).unwrap_or((rest, ""));
        let tokens = bounds.tokens.get();
        input.push_back(StrTendril::from(chunk));
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        bounds.open.set(bounds.count_open());
        rest = after;
        // Without a new token, all of the chunk belongs to one tag or comment.
        let is_separator = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'');
        separators = if bounds.tokens.get() == tokens { separators + chunk.bytes().filter(is_separator).count() } else { 0 };
        if separators > MAX_SEPARATORS {
            // Two bytes before the sign, for the end of a comment.
            let end = after.find('>').map_or(after.len(), |end| after.floor_char_boundary(end.saturating_sub(2)));
            rest = after.get(end..).unwrap_or_default();
        }
    }
    let is_cut = !rest.is_empty();
    tokenizer.end();
    let mut dom = tokenizer.sink.builder.sink.finish();
    dom.truncated = is_cut;
    streamed::place(&mut dom);
    flatten(&mut dom);
    dom
}

/// Stands between the tokenizer and the tree builder.
struct Bounds {
    builder: TreeBuilder<Id, Sink>,
    /// Tokens so far, errors aside.
    tokens: Cell<usize>,
    cost: Cell<usize>,
    /// Open elements and formats after the last chunk.
    open: Cell<usize>,
}

impl Bounds {
    fn is_spent(&self) -> bool {
        self.cost.get() > MAX_COST || self.builder.sink.dom.borrow().len() > Dom::MAX_NODES
    }

    fn count_open(&self) -> usize {
        let count = Count(Cell::default());
        self.builder.trace_handles(&count);
        count.0.get()
    }
}

struct Count(Cell<usize>);

impl Tracer for Count {
    type Handle = Id;

    fn trace_handle(&self, _: &Id) {
        self.0.set(self.0.get() + 1);
    }
}

impl TokenSink for Bounds {
    type Handle = Id;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Id> {
        self.tokens.set(self.tokens.get() + usize::from(!matches!(token, Token::ParseError(_))));
        if let Token::TagToken(tag) = &mut token {
            let is_left_out = self.open.get() > MAX_OPEN && tag.kind == TagKind::StartTag && !RAW.contains(&&*tag.name);
            self.cost.set(self.cost.get() + tag.attrs.len().pow(2) + if is_left_out { 0 } else { self.open.get() });
            if is_left_out {
                return TokenSinkResult::Continue;
            }
            if !tag.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_')) {
                tag.name = LocalName::from("span");
            }
            tag.attrs.retain(is_wanted);
            tag.attrs.truncate(MAX_ATTRIBUTES);
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Handlers and embedded data say nothing to a reader.
fn is_wanted(attribute: &Attribute) -> bool {
    let (name, value) = (&*attribute.name.local, &*attribute.value);
    !(name.starts_with("on")
        || name.starts_with("sizes")
        || name.starts_with("integrity")
        || name.contains(['<', '"', '\''])
        || name.contains(is_mark))
        && value.len() <= MAX_VALUE
        && !value.trim_start().as_bytes().get(..5).is_some_and(|head| head.eq_ignore_ascii_case(b"data:"))
}

/// Makes what is deeper than [`MAX_DEPTH`] a child of the element above it at that depth, in the order of the page.
fn flatten(dom: &mut Dom) {
    let (mut moved, mut last) = (Vec::new(), 0);
    for (id, depth) in dom.walk() {
        if depth == MAX_DEPTH {
            last = id;
        } else if depth > MAX_DEPTH {
            moved.push((id, last));
        }
    }
    for (id, above) in &moved {
        for id in [id, above] {
            dom.nodes.get_mut(*id).map(|node| node.children.clear()).unwrap_or_default();
        }
    }
    for (id, above) in moved {
        dom.attach(id, above);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(dom: &Dom, name: &str) -> usize {
        dom.walk().filter_map(|(id, _)| dom.element(id)).filter(|element| element.name() == name).count()
    }

    fn text(dom: &Dom) -> String {
        crate::clean::texts_below(dom, 0).collect()
    }

    #[test]
    fn depth_and_attributes_are_bounded_and_text_stays() {
        for unit in ["<div>", "<b><i><font>", "<ul><li>", "<table><tr><td>", "<svg>"] {
            let dom = parse(&(unit.repeat(50_000) + "text"));
            assert!(dom.walk().all(|(_, depth)| depth <= MAX_DEPTH + 1), "{unit}");
            assert!(text(&dom).ends_with("text"), "{unit}");
        }
        let wide = (0..200_000).fold(String::new(), |wide, n| wide + " a" + &n.to_string() + "=x");
        let dom = parse(&format!("<p{wide}>text</p>"));
        let attributes = dom.walk().filter_map(|(id, _)| dom.element(id)).map(|element| element.attributes.len()).max();
        assert_eq!((attributes, text(&dom).as_str()), (Some(MAX_ATTRIBUTES), "text"));
        let items = parse(&format!("<ul>{}</ul>", "<li><p>x".repeat(5000)));
        assert_eq!(count(&items, "li"), 5000);
    }

    #[test]
    fn a_page_is_read_up_to_a_number_of_comparisons() {
        let many = |from: usize| (from..from + 3000).fold("<p".to_owned(), |tag, n| tag + " a" + &n.to_string()) + ">x";
        for page in [(0..10).map(many).collect::<String>(), "<span>".repeat(500) + &"</b>".repeat(150_000)] {
            let dom = parse(&page);
            assert!(dom.truncated, "{} bytes", page.len());
        }
        assert!(!parse(&"<div><p>some words</p></div>".repeat(20_000)).truncated);
    }

    #[test]
    fn handlers_data_and_long_values_are_left_out() {
        let dom = parse(&format!("<p onclick=x id=b title='{}' src='data:x' class=c>", "x".repeat(MAX_VALUE + 1)));
        let kept: Vec<String> =
            dom.walk().filter_map(|(id, _)| dom.element(id)).flat_map(|p| p.attributes().map(|(name, _)| name.to_owned())).collect();
        assert_eq!(kept, ["id", "class"]);
    }
}
