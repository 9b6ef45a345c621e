//! The page as a tree in one vector: no recursion to build, walk or drop it.

use html5ever::tree_builder::NodeOrText;
use html5ever::{Attribute, LocalName, QualName};

/// A node's place in its tree.
pub(super) type Id = usize;

/// One page.
#[derive(Debug, Default)]
pub(super) struct Dom {
    pub(super) nodes: Vec<Node>,
    /// The page had more nodes than are read.
    pub(super) truncated: bool,
}

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Option<Id>,
    pub(super) children: Vec<Id>,
    pub(super) kind: Kind,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Kind {
    Document,
    /// Part of no tree: it stands among the nodes in the order of the page.
    Comment(String),
    Text(String),
    Element(Element),
}

/// A tag and its attributes.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: QualName,
    pub(super) attributes: Vec<Attribute>,
}

impl Element {
    pub(super) fn name(&self) -> &str {
        &self.name.local
    }

    /// The value of the attribute `name` (lower case).
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|attribute| (&*attribute.name.local, &*attribute.value))
    }
}

impl Dom {
    /// The most nodes of one page; what follows is not read.
    pub(super) const MAX_NODES: usize = 120_000;

    #[cfg(test)]
    pub(super) fn parse(html: &str) -> Self {
        super::caps::parse(html)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(super) fn element(&self, id: Id) -> Option<&Element> {
        match &self.nodes.get(id)?.kind {
            Kind::Element(element) => Some(element),
            _ => None,
        }
    }

    pub(super) fn children(&self, id: Id) -> &[Id] {
        self.nodes.get(id).map_or(&[], |node| node.children.as_slice())
    }

    /// This node's parent, its parent, and so on.
    pub(super) fn ancestors(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(self.nodes.get(id).and_then(|node| node.parent), |id| self.nodes.get(*id).and_then(|node| node.parent))
    }

    /// Every node in the order of the page, each with its depth, parents before children.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { dom: self, pending: vec![(0, 0)] }
    }

    /// Puts a detached node at the end of `parent`.
    pub(super) fn attach(&mut self, id: Id, parent: Id) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.parent = Some(parent);
        }
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.push(id);
        }
    }

    /// Takes a node out of the page.
    pub(super) fn detach(&mut self, id: Id) {
        let Some(parent) = self.nodes.get_mut(id).and_then(|node| node.parent.take()) else { return };
        if let Some(parent) = self.nodes.get_mut(parent) {
            // Searched from the end: parsers move what they have just added.
            if let Some(at) = parent.children.iter().rposition(|child| *child == id) {
                parent.children.remove(at);
            }
        }
    }

    /// Takes many nodes out of the page, in one pass over the children of their parents.
    pub(super) fn detach_all(&mut self, ids: &[Id]) {
        let mut parents: Vec<Id> = ids.iter().filter_map(|id| self.nodes.get_mut(*id)?.parent.take()).collect();
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            let mut children = self.nodes.get_mut(parent).map(|node| std::mem::take(&mut node.children)).unwrap_or_default();
            children.retain(|child| self.nodes.get(*child).is_some_and(|node| node.parent == Some(parent)));
            if let Some(node) = self.nodes.get_mut(parent) {
                node.children = children;
            }
        }
    }

    pub(super) fn element_mut(&mut self, id: Id) -> Option<&mut Element> {
        match &mut self.nodes.get_mut(id)?.kind {
            Kind::Element(element) => Some(element),
            _ => None,
        }
    }

    /// Puts the children of `from` where `place` stands, and takes both out of the page.
    pub(super) fn replace(&mut self, place: Id, from: Id) {
        let Some(parent) = self.nodes.get(place).and_then(|node| node.parent) else { return };
        let children = self.nodes.get_mut(from).map(|node| std::mem::take(&mut node.children)).unwrap_or_default();
        for child in &children {
            if let Some(child) = self.nodes.get_mut(*child) {
                child.parent = Some(parent);
            }
        }
        if let Some(parent) = self.nodes.get_mut(parent) {
            let at = parent.children.iter().position(|child| *child == place).unwrap_or(parent.children.len());
            parent.children.splice(at..at, children);
        }
        self.detach(place);
        self.detach(from);
    }

    /// Gives an element another tag.
    pub(super) fn rename(&mut self, id: Id, name: &str) {
        if let Some(element) = self.element_mut(id) {
            element.name.local = LocalName::from(name);
        }
    }

    pub(super) fn add(&mut self, kind: Kind) -> Id {
        self.nodes.push(Node { parent: None, children: Vec::new(), kind });
        self.nodes.len() - 1
    }

    pub(super) fn insert(&mut self, parent: Id, position: Option<usize>, child: NodeOrText<Id>) {
        let count = self.children(parent).len();
        let position = position.unwrap_or(count).min(count);
        let child = match child {
            NodeOrText::AppendNode(child) => {
                if self.node(child).is_some_and(|node| matches!(node.kind, Kind::Comment(_))) {
                    return;
                }
                self.detach(child);
                child
            }
            NodeOrText::AppendText(text) => {
                let before = position.checked_sub(1).and_then(|before| self.children(parent).get(before)).copied();
                if let Some(Node { kind: Kind::Text(known), .. }) = before.and_then(|before| self.nodes.get_mut(before)) {
                    known.push_str(&text);
                    return;
                }
                self.add(Kind::Text(text.into()))
            }
        };
        if let Some(node) = self.nodes.get_mut(child) {
            node.parent = Some(parent);
        }
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.insert(position.min(node.children.len()), child);
        }
    }
}

/// See [`Dom::walk`].
#[derive(Debug)]
pub(super) struct Walk<'a> {
    dom: &'a Dom,
    pending: Vec<(Id, usize)>,
}

impl Iterator for Walk<'_> {
    type Item = (Id, usize);

    fn next(&mut self) -> Option<(Id, usize)> {
        let (id, depth) = self.pending.pop()?;
        self.pending.extend(self.dom.children(id).iter().rev().map(|child| (*child, depth + 1)));
        Some((id, depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(html: &str) -> String {
        let dom = Dom::parse(html);
        let show = |(id, depth): (Id, usize)| match &dom.node(id).unwrap().kind {
            Kind::Text(text) => Some(format!("{depth}:{text}")),
            Kind::Element(element) => Some(format!("{depth}<{}>", element.name())),
            Kind::Document | Kind::Comment(_) => None,
        };
        dom.walk().filter_map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_page_becomes_the_tree_a_browser_without_scripts_would_see() {
        assert_eq!(outline("<p>a<p>b"), "1<html> 2<head> 2<body> 3<p> 4:a 3<p> 4:b");
        assert_eq!(outline("<body><noscript><p>a</noscript>"), "1<html> 2<head> 2<body> 3<noscript> 4<p> 5:a");
        assert_eq!(outline("<table>x<tr><td>y</table>"), "1<html> 2<head> 2<body> 3:x 3<table> 4<tbody> 5<tr> 6<td> 7:y");
    }

    #[test]
    fn a_tree_that_explodes_is_bounded() {
        let html = (0..20_000).fold(String::new(), |html, n| html + "<p><b id=" + &n.to_string() + "></p>");
        let dom = Dom::parse(&html);
        assert!(dom.len() < 2 * Dom::MAX_NODES, "{}", dom.len());
        let dom = Dom::parse(&"<br>".repeat(Dom::MAX_NODES + 5000));
        assert!(dom.truncated && dom.len() < 2 * Dom::MAX_NODES, "{}", dom.len());
    }
}
