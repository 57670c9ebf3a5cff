//! Rules about the shape of Rust code, on the syntax tree.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ItemEnum, ItemStruct, Meta, Token};

use super::Complaint;
use crate::tree::SourceFile;

const VARIANTS: usize = 12;
const FIELDS: usize = 10;

/// An enum has at most 12 variants and a struct at most 10 fields; a vendor's wire types may be as they are.
pub fn are_small(files: &[SourceFile]) -> Vec<Complaint> {
    let ours: Vec<_> = files.iter().filter(|file| !is_wire(file)).cloned().collect();
    looked_at(&ours, |looker| &mut looker.big)
}

/// A test that is ignored says why.
pub fn ignored_says_why(files: &[SourceFile]) -> Vec<Complaint> {
    looked_at(files, |looker| &mut looker.ignored)
}

/// A lint is expected, with a reason; it is never allowed.
pub fn expects_never_allows(files: &[SourceFile]) -> Vec<Complaint> {
    looked_at(files, |looker| &mut looker.allowed)
}

fn is_wire(file: &SourceFile) -> bool {
    file.name() == "wire.rs" || file.path.contains("/wire/")
}

/// What one of the lists holds after looking through all Rust files.
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

/// What was found in one file, with its line, by the rule it breaks.
#[derive(Default)]
struct Looker {
    big: Vec<(usize, String)>,
    ignored: Vec<(usize, String)>,
    allowed: Vec<(usize, String)>,
}

impl Looker {
    fn measure(&mut self, name: &Ident, parts: (usize, &str), most: usize) {
        let (count, what) = parts;
        if count > most {
            let line = name.span().start().line;
            self.big
                .push((line, format!("`{name}` has {count} {what}, {most} at most: find the noun in it")));
        }
    }

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

/// The metas between the brackets; none if they are something else.
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
    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.measure(&item.ident, (item.variants.len(), "variants"), VARIANTS);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.measure(&item.ident, (item.fields.len(), "fields"), FIELDS);
        visit::visit_item_struct(self, item);
    }

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

    fn big(kind: &str, parts: usize) -> String {
        let parts: Vec<_> =
            (0..parts).map(|n| if kind == "enum" { format!("V{n}") } else { format!("f{n}: u8") }).collect();
        format!("{kind} Big {{ {} }}", parts.join(", "))
    }

    #[test]
    fn a_wide_enum_and_a_wide_struct_are_found() {
        assert_eq!(are_small(&file("a.rs", &big("enum", 13))).len(), 1);
        assert_eq!(are_small(&file("a.rs", &big("struct", 11))).len(), 1);
        assert_eq!(
            are_small(&file("a.rs", &format!("mod a {{ fn b() {{ {} }} }}", big("enum", 13)))).len(),
            1
        );
        assert_eq!(are_small(&file("a.rs", &big("enum", 12))), []);
        assert_eq!(are_small(&file("a.rs", &big("struct", 10))), []);
    }

    #[test]
    fn the_wire_of_a_vendor_may_be_wide() {
        assert_eq!(are_small(&file("models/src/anthropic/wire.rs", &big("enum", 40))), []);
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
        assert_eq!(are_small(&file("a.rs", "fn (")).len(), 1);
    }
}
