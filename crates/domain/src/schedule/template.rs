//! Templates with placeholders `{name}` or `{{name}}`. All other braces are text.

/// The distinct names of the placeholders in `text`, in order.
pub fn placeholders(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for piece in segments(text) {
        if let Segment::Placeholder(name) = piece
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
    for piece in segments(text) {
        match piece {
            Segment::Text(words) => filled.push_str(words),
            Segment::Placeholder(name) => match value(name) {
                Some(value) => filled.push_str(&value),
                None if missing.iter().any(|known| known == name) => {}
                None => missing.push(name.to_owned()),
            },
        }
    }
    if missing.is_empty() { Ok(filled) } else { Err(missing) }
}

/// A segment of a template.
enum Segment<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

fn segments(text: &str) -> impl Iterator<Item = Segment<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let open = rest.find('{').unwrap_or(rest.len());
        if open > 0 {
            let (words, after) = rest.split_at(open);
            rest = after;
            return Some(Segment::Text(words));
        }
        match parse_placeholder(rest, "{{", "}}").or_else(|| parse_placeholder(rest, "{", "}")) {
            Some((name, after)) => {
                rest = after;
                Some(Segment::Placeholder(name))
            }
            None => {
                let (brace, after) = rest.split_at(1);
                rest = after;
                Some(Segment::Text(brace))
            }
        }
    })
}

/// The name of the placeholder at the beginning of `text`, and the rest.
fn parse_placeholder<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
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
    fn placeholders_have_one_or_two_braces() {
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
        assert_eq!(placeholders("{b} {{a}} {b} {2}"), ["b", "a"]);
    }

    /// WH-10: inserted values are not expanded again, and missing names are reported.
    #[test]
    fn inserted_values_are_not_expanded_again() {
        let value = |name: &str| (name == "title").then(|| "{secret} {{repo}}".to_owned());
        assert_eq!(fill("{title}!", value).as_deref(), Ok("{secret} {{repo}}!"));
        assert_eq!(fill("{title} {repo} {when}", value), Err(vec!["repo".to_owned(), "when".to_owned()]));
        assert_eq!(fill("{repo} {when} {repo}", value), Err(vec!["repo".to_owned(), "when".to_owned()]));
    }
}
