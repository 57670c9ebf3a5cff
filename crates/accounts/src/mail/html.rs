//! Converts HTML to text. Referenced resources are never fetched.

use mail_parser::decoders::html::add_html_token;

/// Elements whose content is dropped.
const HIDDEN_ELEMENTS: [&str; 4] = ["style", "script", "head", "title"];

/// Returns the text between tags with collapsed white space.
pub fn html_to_text(html: &str) -> String {
    let mut words = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        words.push_str(before);
        rest = if opens_tag(tag) {
            words.push(' ');
            skip_tag(tag)
        } else {
            words.push('<');
            tag
        };
    }
    words.push_str(rest);
    unescape(&words).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A `<` without a following name is text.
fn opens_tag(tag: &str) -> bool {
    tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

/// Skips a tag, or the whole hidden element that it opens. An unclosed one extends to the end.
fn skip_tag(tag: &str) -> &str {
    if let Some(comment) = tag.strip_prefix("!--") {
        return comment.split_once("-->").map_or("", |(_, rest)| rest);
    }
    let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let Some(unread) = HIDDEN_ELEMENTS.iter().find(|unread| unread.eq_ignore_ascii_case(name)) else {
        return tag.split_once('>').map_or("", |(_, rest)| rest);
    };
    let end = find_end(tag, unread).unwrap_or(tag.len());
    tag[end..].split_once('>').map_or("", |(_, rest)| rest)
}

fn find_end(block: &str, name: &str) -> Option<usize> {
    block.match_indices("</").map(|(at, _)| at).find(|at| {
        let closing = block.as_bytes().get(at + 2..at + 2 + name.len());
        closing.is_some_and(|closing| closing.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// Replaces character references by their characters.
fn unescape(text: &str) -> String {
    /// The maximum length of a character reference.
    const LONGEST: usize = 34;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest.bytes().take(LONGEST).position(|byte| byte == b';');
        match name
            .filter(|end| rest[1..*end].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#'))
        {
            Some(end) => {
                add_html_token(&mut plain, &rest.as_bytes()[..=end], false);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GO-23: style blocks and tags are removed, spaces are collapsed.
    #[test]
    fn html_becomes_its_visible_text() {
        let check = |html: &str, text: &str| assert_eq!(html_to_text(html), text, "{html}");
        check("<p>Hello</p>\n\n<p>you &amp; me</p>", "Hello you & me");
        check("<STYLE type='text/css'>p { color: red }</Style >kept", "kept");
        check("<head><title>no</title></head><body>yes</body>", "yes");
        check("<script>if (1 < 2) alert('</p>')</script>calm", "calm");
        check("a<!-- <b>hidden</b> -- > -->b", "a b");
        check(
            "1 < 2 && 3 > 2 &lt;b&gt; &#8217;&#x1F600; &euro; &unknown; &",
            "1 < 2 && 3 > 2 <b> ’😀 € &unknown; &",
        );
        check("<header>top</header><img src=\"http://evil.example/pixel\" alt=x>end", "top end");
        check("<a href='x'>unfinished", "unfinished");
        check("text <unfinished", "text");
        check("text <style>never ends", "text");
        check("ü<br/>ß<", "ü ß<");
    }
}
