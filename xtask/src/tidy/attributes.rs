//! Rules about attributes in Rust code, checked on the syntax tree.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Meta, Token};

use super::Complaint;
use crate::tree::SourceFile;

/// `#[ignore]` has a reason.
pub fn ignored_says_why(files: &[SourceFile]) -> Vec<Complaint> {
    looked_at(files, |looker| &mut looker.ignored)
}

/// `#[expect]` has a reason, and `#[allow]` is not used.
pub fn expects_never_allows(files: &[SourceFile]) -> Vec<Complaint> {
    looked_at(files, |looker| &mut looker.allowed)
}

/// Returns one of the visitor's lists for all Rust files.
fn looked_at(files: &[SourceFile], list: fn(&mut Looker) -> &mut Vec<(usize, String)>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        match syn::parse_file(&file.text) {
            Ok(syntax) => {
                let mut looker = Looker::default();
                looker.visit_file(&syntax);
                let found = std::mem::take(list(&mut looker));
                complaints.extend(found.into_iter().map(|(line, what)| Complaint::at(file, line, what)));
            }
            Err(error) => complaints.push(Complaint::of(file, format!("is no Rust: {error}"))),
        }
    }
    complaints
}

/// The violations in one file with their lines, by rule.
#[derive(Default)]
struct Looker {
    ignored: Vec<(usize, String)>,
    allowed: Vec<(usize, String)>,
}

impl Looker {
    fn judge(&mut self, line: usize, meta: &Meta) {
        if meta.path().is_ident("cfg_attr") {
            for inner in list_of(meta).iter().skip(1) {
                self.judge(line, inner);
            }
        } else if meta.path().is_ident("ignore") && !matches!(meta, Meta::NameValue(_)) {
            self.ignored.push((line, "say why: `#[ignore = \"reason\"]`".into()));
        } else if meta.path().is_ident("allow") {
            self.allowed.push((line, "use `#[expect(lint, reason = \"why\")]`".into()));
        } else if meta.path().is_ident("expect") && !has_reason(meta) {
            self.allowed.push((line, "an expected lint needs `reason = \"why\"`".into()));
        }
    }
}

/// Returns the metas between the parentheses, or none if they are something else.
fn list_of(meta: &Meta) -> Vec<Meta> {
    let Meta::List(list) = meta else { return Vec::new() };
    list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        .map(|metas| metas.into_iter().collect())
        .unwrap_or_default()
}

fn has_reason(meta: &Meta) -> bool {
    list_of(meta).iter().any(|inner| inner.path().is_ident("reason"))
}

impl<'ast> Visit<'ast> for Looker {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let line = attribute.pound_token.span.start().line;
        self.judge(line, &attribute.meta);
        visit::visit_attribute(self, attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Vec<SourceFile> {
        vec![SourceFile::new(path, text)]
    }

    #[test]
    fn a_silent_ignore_is_found() {
        assert_eq!(ignored_says_why(&file("a.rs", "#[test]\n#[ignore]\nfn t() {}"))[0].line, 2);
        assert_eq!(ignored_says_why(&file("a.rs", "#[cfg_attr(unix, ignore)]\nfn t() {}")).len(), 1);
        assert_eq!(ignored_says_why(&file("a.rs", "#[ignore = \"takes an hour\"]\nfn t() {}")), []);
    }

    #[test]
    fn an_allowed_lint_is_found_wherever_it_stands() {
        for text in [
            "#[allow(dead_code)]\nfn f() {}",
            "#![allow(dead_code)]\nfn f() {}",
            "#[cfg_attr(test, allow(dead_code))]\nfn f() {}",
            "fn f() { #[allow(unused)] let x = 1; }",
            "#[expect(dead_code)]\nfn f() {}",
        ] {
            assert_eq!(expects_never_allows(&file("a.rs", text)).len(), 1, "{text}");
        }
        let right = "#[expect(dead_code, reason = \"read by a macro\")]\nfn f() { let s = \"#[allow(x)]\"; }";
        assert_eq!(expects_never_allows(&file("a.rs", right)), []);
    }

    #[test]
    fn a_file_that_is_no_rust_is_found() {
        assert_eq!(ignored_says_why(&file("a.rs", "fn (")).len(), 1);
    }
}
