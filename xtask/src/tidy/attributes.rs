//! Rules about attributes in Rust code, checked on the syntax tree.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Meta, Token};

use super::Violation;
use crate::source_files::SourceFile;

/// `#[ignore]` has a reason.
pub fn check_ignore_reasons(files: &[SourceFile]) -> Vec<Violation> {
    collect_violations(files, |looker| &mut looker.ignored)
}

/// `#[expect]` has a reason, and `#[allow]` is not used.
pub fn check_lint_attributes(files: &[SourceFile]) -> Vec<Violation> {
    collect_violations(files, |looker| &mut looker.allowed)
}

/// Returns one of the visitor's lists for all Rust files.
fn collect_violations(
    files: &[SourceFile],
    list: fn(&mut AttributeVisitor) -> &mut Vec<(usize, String)>,
) -> Vec<Violation> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        match syn::parse_file(&file.text) {
            Ok(syntax) => {
                let mut looker = AttributeVisitor::default();
                looker.visit_file(&syntax);
                let found = std::mem::take(list(&mut looker));
                complaints.extend(found.into_iter().map(|(line, what)| Violation::in_line(file, line, what)));
            }
            Err(error) => complaints.push(Violation::in_file(file, format!("is no Rust: {error}"))),
        }
    }
    complaints
}

/// The violations in one file with their lines, by rule.
#[derive(Default)]
struct AttributeVisitor {
    ignored: Vec<(usize, String)>,
    allowed: Vec<(usize, String)>,
}

impl AttributeVisitor {
    fn check(&mut self, line: usize, meta: &Meta) {
        if meta.path().is_ident("cfg_attr") {
            for inner in nested_metas(meta).iter().skip(1) {
                self.check(line, inner);
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
fn nested_metas(meta: &Meta) -> Vec<Meta> {
    let Meta::List(list) = meta else { return Vec::new() };
    list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        .map(|metas| metas.into_iter().collect())
        .unwrap_or_default()
}

fn has_reason(meta: &Meta) -> bool {
    nested_metas(meta).iter().any(|inner| inner.path().is_ident("reason"))
}

impl<'ast> Visit<'ast> for AttributeVisitor {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let line = attribute.pound_token.span.start().line;
        self.check(line, &attribute.meta);
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
    fn ignore_without_a_reason_is_found() {
        assert_eq!(check_ignore_reasons(&file("a.rs", "#[test]\n#[ignore]\nfn t() {}"))[0].line, 2);
        assert_eq!(check_ignore_reasons(&file("a.rs", "#[cfg_attr(unix, ignore)]\nfn t() {}")).len(), 1);
        assert_eq!(check_ignore_reasons(&file("a.rs", "#[ignore = \"takes an hour\"]\nfn t() {}")), []);
    }

    #[test]
    fn allow_attribute_is_found_everywhere() {
        for text in [
            "#[allow(dead_code)]\nfn f() {}",
            "#![allow(dead_code)]\nfn f() {}",
            "#[cfg_attr(test, allow(dead_code))]\nfn f() {}",
            "fn f() { #[allow(unused)] let x = 1; }",
            "#[expect(dead_code)]\nfn f() {}",
        ] {
            assert_eq!(check_lint_attributes(&file("a.rs", text)).len(), 1, "{text}");
        }
        let right = "#[expect(dead_code, reason = \"read by a macro\")]\nfn f() { let s = \"#[allow(x)]\"; }";
        assert_eq!(check_lint_attributes(&file("a.rs", right)), []);
    }

    #[test]
    fn unparsable_file_is_found() {
        assert_eq!(check_ignore_reasons(&file("a.rs", "fn (")).len(), 1);
    }
}
