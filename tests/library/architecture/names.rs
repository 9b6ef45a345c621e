//! Every path a source names, outside its tests: imports, expressions, types, and the words inside macros.

use std::sync::LazyLock;

use syn::visit::{self, Visit};

use super::Source;

/// What a source names, each path resolved to where it begins (`crate`, or a crate's name).
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) paths: Vec<Vec<String>>,
    /// The keyword `unsafe`, or an attribute that lets it in.
    pub(crate) unsafe_code: bool,
    /// `async fn`, an `async` block, or `.await`.
    pub(crate) asynchronous: bool,
    module: Vec<String>,
}

/// Reads a source. `tests/foo.rs` and `#[cfg(test)]` items are passed over.
pub(crate) fn read(source: &Source) -> Names {
    let mut module: Vec<String> = source.path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    let mut names = Names { module, ..Names::default() };
    names.visit_file(&source.syntax());
    names
}

impl Names {
    fn note(&mut self, segments: Vec<String>) {
        let resolved = match segments.first().map(String::as_str) {
            Some("self" | "super") => {
                let climbs = segments.iter().take_while(|segment| *segment == "super").count();
                let rest = segments.iter().skip_while(|segment| *segment == "super" || *segment == "self");
                let kept = self.module.len().saturating_sub(climbs);
                std::iter::once("crate").map(str::to_owned).chain(self.module.iter().take(kept).cloned()).chain(rest.cloned()).collect()
            }
            Some(_) => segments,
            None => return,
        };
        self.paths.push(resolved);
    }

    fn note_use(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.note_use(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) => self.note(with(&name.ident)),
            syn::UseTree::Rename(rename) => {
                self.note(with(&rename.ident));
                // A renamed root could be named later without being seen here.
                if before.is_empty() {
                    self.note(vec!["renamed".to_owned(), rename.ident.to_string()]);
                }
            }
            syn::UseTree::Glob(_) => self.note(before.iter().cloned().chain(["*".to_owned()]).collect()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.note_use(item, before)),
        }
    }
}

fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::NameValue(_) => false,
    })
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if for_tests(&item.attrs) {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.asynchronous |= signature.asyncness.is_some();
        self.unsafe_code |= !matches!(signature.safety, syn::Safety::Default);
        visit::visit_signature(self, signature);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !for_tests(&item.attrs) {
            self.note_use(&item.tree, &[]);
        }
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.note(vec![item.ident.to_string()]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.note(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let words = item.tokens.to_string();
        for found in PATH.find_iter(&words) {
            self.note(found.as_str().split("::").map(|word| word.trim().to_owned()).collect());
        }
        let has = |word| words.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word);
        self.unsafe_code |= has("unsafe");
        self.asynchronous |= has("async") || has("await");
        visit::visit_macro(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            let lifts = ["allow", "expect", "warn"].iter().any(|word| list.path.is_ident(word));
            self.unsafe_code |= (lifts && list.tokens.to_string().contains("unsafe_code")) || list.path.is_ident("unsafe");
        }
    }

    fn visit_expr_unsafe(&mut self, item: &'ast syn::ExprUnsafe) {
        self.unsafe_code = true;
        visit::visit_expr_unsafe(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.unsafe_code |= item.unsafety.is_some();
        visit::visit_item_impl(self, item);
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast syn::ItemForeignMod) {
        self.unsafe_code = true;
        visit::visit_item_foreign_mod(self, item);
    }

    fn visit_expr_async(&mut self, item: &'ast syn::ExprAsync) {
        self.asynchronous = true;
        visit::visit_expr_async(self, item);
    }

    fn visit_expr_await(&mut self, item: &'ast syn::ExprAwait) {
        self.asynchronous = true;
        visit::visit_expr_await(self, item);
    }
}

/// A path as the tokens of a macro are printed.
static PATH: LazyLock<regex::Regex> = LazyLock::new(|| regex::Regex::new(r"[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+").unwrap());
