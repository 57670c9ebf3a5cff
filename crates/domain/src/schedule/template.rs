//! Templates with placeholders `{name}` or `{{name}}`. All other braces are text.

/// The distinct names of the placeholders in `text`, in order.
pub fn places(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for piece in pieces(text) {
        if let Piece::Place(name) = piece
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// WH-10: replaces the placeholders of `text` by `value(name)`; the error lists the names without a
/// value.
pub fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, Vec<String>> {
    let mut filled = String::new();
    let mut missing = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Words(words) => filled.push_str(words),
            Piece::Place(name) => match value(name) {
                Some(value) => filled.push_str(&value),
                None => missing.push(name.to_owned()),
            },
        }
    }
    missing.dedup();
    if missing.is_empty() { Ok(filled) } else { Err(missing) }
}

/// A segment of a template.
enum Piece<'a> {
    Words(&'a str),
    Place(&'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let open = rest.find('{').unwrap_or(rest.len());
        if open > 0 {
            let (words, after) = rest.split_at(open);
            rest = after;
            return Some(Piece::Words(words));
        }
        match place(rest, "{{", "}}").or_else(|| place(rest, "{", "}")) {
            Some((name, after)) => {
                rest = after;
                Some(Piece::Place(name))
            }
            None => {
                let (brace, after) = rest.split_at(1);
                rest = after;
                Some(Piece::Words(brace))
            }
        }
    })
}

/// The name of the placeholder at the beginning of `text`, and the rest.
fn place<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    let inside = text.strip_prefix(open)?;
    let end = inside.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, after) = inside.split_at(end);
    let is_name = name.chars().next().is_some_and(|first| !first.is_numeric());
    Some((name, after.strip_prefix(close)?)).filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WH-10: both spellings are placeholders, and other braces are text.
    #[test]
    fn a_place_has_one_brace_or_two_and_all_else_is_text() {
        let check = |text: &str, filled: &str| {
            let value = |name: &str| Some(format!("<{name}>"));
            assert_eq!(fill(text, value).as_deref(), Ok(filled), "{text}");
        };
        check("The checks of {repo} have {{result}}.", "The checks of <repo> have <result>.");
        check("{a}{b}{{c}}", "<a><b><c>");
        check("{{{a}}}", "{<a>}");
        check("{{a}", "{<a>");
        check("{a}}", "<a>}");
        check(r#"answer {"ok": true} or {}"#, r#"answer {"ok": true} or {}"#);
        check("{1st} { a } {{ a }} {a-b} {", "{1st} { a } {{ a }} {a-b} {");
        check("{_a1} {größe}", "<_a1> <größe>");
        assert_eq!(places("{b} {{a}} {b} {2}"), ["b", "a"]);
    }

    /// WH-10: inserted values are not expanded again, and missing names are reported.
    #[test]
    fn a_value_that_looks_like_a_place_stays_a_value() {
        let value = |name: &str| (name == "title").then(|| "{secret} {{repo}}".to_owned());
        assert_eq!(fill("{title}!", value).as_deref(), Ok("{secret} {{repo}}!"));
        assert_eq!(fill("{title} {repo} {when}", value), Err(vec!["repo".to_owned(), "when".to_owned()]));
    }
}
