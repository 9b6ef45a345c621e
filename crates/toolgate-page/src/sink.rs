//! How the standard's tree builder writes into our tree.

use std::borrow::Cow;
use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName};

use super::dom::{Dom, Element, Id, Kind};

/// The tree while it grows; the builder holds it by reference only.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) dom: RefCell<Dom>,
}

impl Default for Sink {
    fn default() -> Self {
        let mut dom = Dom::default();
        dom.add(Kind::Document);
        Self { dom: RefCell::new(dom) }
    }
}

/// An owned name, since a borrowed one would hold the tree.
#[derive(Debug)]
pub(super) struct Name(QualName);

impl ElemName for Name {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Dom;
    type ElemName<'a> = Name;

    fn finish(self) -> Dom {
        self.dom.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        0
    }

    fn elem_name<'a>(&'a self, target: &'a Id) -> Name {
        Name(
            self.dom
                .borrow()
                .element(*target)
                .map_or_else(|| QualName::new(None, Namespace::default(), LocalName::default()), |element| element.name.clone()),
        )
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Id {
        self.dom.borrow_mut().add(Kind::Element(Element { name, attributes }))
    }

    fn create_comment(&self, text: StrTendril) -> Id {
        self.dom.borrow_mut().add(Kind::Comment(text.into()))
    }

    fn create_pi(&self, _: StrTendril, text: StrTendril) -> Id {
        self.create_comment(text)
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.dom.borrow_mut().insert(*parent, None, child);
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        let has_parent = self.dom.borrow().node(*element).is_some_and(|node| node.parent.is_some());
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Id) -> Id {
        *target
    }

    fn same_node(&self, x: &Id, y: &Id) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Id, child: NodeOrText<Id>) {
        if let NodeOrText::AppendNode(child) = &child {
            self.dom.borrow_mut().detach(*child);
        }
        let place = {
            let dom = self.dom.borrow();
            dom.node(*sibling)
                .and_then(|node| node.parent)
                .map(|parent| (parent, dom.children(parent).iter().rposition(|child| child == sibling)))
        };
        if let Some((parent, position)) = place {
            self.dom.borrow_mut().insert(parent, position, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Id, attributes: Vec<Attribute>) {
        if let Some(element) = self.dom.borrow_mut().element_mut(*target) {
            for attribute in attributes {
                if element.attribute(&attribute.name.local).is_none() {
                    element.attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Id) {
        self.dom.borrow_mut().detach(*target);
    }

    fn reparent_children(&self, node: &Id, new_parent: &Id) {
        let mut dom = self.dom.borrow_mut();
        let moved = dom.nodes.get_mut(*node).map(|node| std::mem::take(&mut node.children)).unwrap_or_default();
        for child in &moved {
            if let Some(child) = dom.nodes.get_mut(*child) {
                child.parent = Some(*new_parent);
            }
        }
        if let Some(parent) = dom.nodes.get_mut(*new_parent) {
            parent.children.extend(moved);
        }
    }
}
