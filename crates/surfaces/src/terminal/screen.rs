//! The screen in line mode: output scrolls up, with a status and the input line below it.
//!
//! Output is written once and not touched again. Only the live area below it is redrawn, and only
//! where it changed, so a screen reader does not repeat text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::readable;

/// Whether text may be dimmed or bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Shaded,
    Plain,
}

/// The area below the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Status of running work.
    pub status: Option<String>,
    /// The input line, if shown.
    pub line: Option<Typed>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    pub prompt: String,
    /// Text before the cursor.
    pub before: String,
    /// Text after the cursor.
    pub after: String,
}

/// State of the terminal as written so far.
#[derive(Clone, Debug)]
pub struct Screen {
    columns: usize,
    rows: usize,
    look: Look,
    open: Open,
    drawn: Option<(Live, Rows)>,
}

/// The unfinished line of output.
#[derive(Clone, Debug, Default)]
struct Open {
    column: usize,
    /// Indentation of its continuation rows.
    margin: usize,
    /// Spaces that are written if a word follows on the same row.
    gap: usize,
    /// The unfinished word.
    word: String,
}

/// Layout of the live area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<String>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

/// Space at which a row is not broken.
pub(super) const TOGETHER: char = '\u{a0}';
/// Minimum number of columns.
const NARROWEST: usize = 10;

impl Screen {
    /// Creates an empty screen of this size.
    pub fn new((columns, rows): (u16, u16), look: Look) -> Self {
        let columns = usize::from(columns).max(NARROWEST);
        let rows = usize::from(rows).max(2);
        Self { columns, rows, look, open: Open::default(), drawn: None }
    }

    /// Changes the size. Returns the output that erases the live area.
    pub fn resize(&mut self, columns: u16, rows: u16) -> String {
        let erased = self.erase();
        (self.columns, self.rows) = (usize::from(columns).max(NARROWEST), usize::from(rows).max(2));
        erased
    }

    /// Returns the usable columns. The last one is left free, because terminals treat it
    /// differently.
    pub fn width(&self) -> usize {
        self.columns - 1
    }

    /// Dims `words`, if allowed.
    pub fn faint(&self, words: &str) -> String {
        match self.look {
            Look::Shaded => format!("\u{1b}[2m{words}\u{1b}[22m"),
            Look::Plain => words.to_owned(),
        }
    }

    /// Returns the output that writes `words` and redraws the live area.
    pub fn show(&mut self, words: &str, live: Live) -> String {
        if words.is_empty() {
            return self.redraw(live);
        }
        let erased = self.erase();
        let said = self.say(words);
        erased + &said + &self.draw(live)
    }

    /// Returns the output that makes the entered line permanent.
    pub fn entered(&mut self, prompt: &str, text: &str) -> String {
        let mut erased = self.erase();
        self.finish_word(&mut erased);
        let line_end = if self.open.column > 0 { "\n" } else { "" };
        self.open = Open::default();
        let rows = laid_out(&typed(prompt, text, ""), self.width()).rows.join("\n");
        format!("{erased}{line_end}{rows}\n")
    }

    /// Returns the output that erases the live area.
    pub fn erase(&mut self) -> String {
        let Some((_, layout)) = self.drawn.take() else { return String::new() };
        let back = match self.open.column {
            0 => String::new(),
            column => format!("\u{1b}[1A\u{1b}[{column}C"),
        };
        format!("\r{}\u{1b}[J{back}", up(layout.cursor.0))
    }

    fn redraw(&mut self, live: Live) -> String {
        match &self.drawn {
            Some((drawn, _)) if *drawn == live => String::new(),
            Some((drawn, layout)) => match self.more(drawn, layout, &live) {
                Some((letters, layout)) => {
                    self.drawn = Some((live, layout));
                    letters
                }
                None => self.erase() + &self.draw(live),
            },
            None => self.draw(live),
        }
    }

    /// Returns the text that was appended to the line, if nothing else changed.
    fn more(&self, drawn: &Live, layout: &Rows, live: &Live) -> Option<(String, Rows)> {
        let old = drawn.line.as_ref()?;
        let new = live.line.as_ref()?;
        let same = drawn.status == live.status && old.prompt == new.prompt;
        let at_end = old.after.is_empty() && new.after.is_empty();
        let letters = new.before.strip_prefix(&old.before).filter(|_| same && at_end)?;
        let now = self.layout(live);
        (now.rows.len() == layout.rows.len() && !letters.contains('\t')).then(|| (readable(letters), now))
    }

    fn draw(&mut self, live: Live) -> String {
        if live == Live::default() {
            return String::new();
        }
        let layout = self.layout(&live);
        let (row, column) = layout.cursor;
        let line_end = if self.open.column > 0 { "\n" } else { "" };
        let last = layout.rows.len().saturating_sub(1);
        let mut rows = layout.rows.clone();
        if live.status.is_some() {
            rows[0] = self.faint(&rows[0]);
        }
        let right = if column > 0 { format!("\u{1b}[{column}C") } else { String::new() };
        let drawn = format!("{line_end}{}\r{}{right}", rows.join("\n"), up(last - row));
        self.drawn = Some((live, layout));
        drawn
    }

    fn layout(&self, live: &Live) -> Rows {
        let mut whole = Rows { rows: Vec::new(), cursor: (0, 0) };
        if let Some(status) = &live.status {
            let status = cut(&readable(status).replace('\n', " "), self.width());
            whole.cursor = (0, status.width());
            whole.rows.push(status);
        }
        if let Some(line) = &live.line {
            let line = laid_out(line, self.width());
            // If the line is higher than the terminal, the part around the cursor is shown.
            let most = self.rows - whole.rows.len() - 1;
            let first = (line.cursor.0 + 1).saturating_sub(most);
            whole.cursor = (whole.rows.len() + line.cursor.0 - first, line.cursor.1);
            whole.rows.extend(line.rows.into_iter().skip(first).take(most));
        }
        whole
    }

    /// Wraps `words` at the width.
    fn say(&mut self, words: &str) -> String {
        let mut said = String::with_capacity(words.len());
        for letter in readable(words).chars() {
            match letter {
                '\n' => {
                    self.finish_word(&mut said);
                    self.open = Open::default();
                    said.push('\n');
                }
                ' ' | '\t' => {
                    self.finish_word(&mut said);
                    self.open.gap += 1;
                }
                letter => self.open.word.push(letter),
            }
        }
        said
    }

    fn finish_word(&mut self, said: &mut String) {
        if self.open.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.open.word);
        let gap = std::mem::take(&mut self.open.gap);
        if self.open.column == 0 {
            self.open.margin = gap.min(self.width() / 2);
        }
        let fits = self.open.column + gap + word.width() <= self.width();
        if self.open.column > self.open.margin && !fits {
            self.break_row(said);
        } else {
            said.extend(std::iter::repeat_n(' ', gap));
            self.open.column += gap;
            // Text after a wide gap is a second column, which is wrapped below itself.
            if gap > 1 && self.open.column <= self.width() * 3 / 5 {
                self.open.margin = self.open.column;
            }
        }
        for letter in word.chars() {
            let letter = if letter == TOGETHER { ' ' } else { letter };
            let wide = letter.width().unwrap_or(0);
            if self.open.column + wide > self.width() {
                self.break_row(said);
            }
            said.push(letter);
            self.open.column += wide;
        }
    }

    fn break_row(&mut self, said: &mut String) {
        said.push('\n');
        said.extend(std::iter::repeat_n(' ', self.open.margin));
        self.open.column = self.open.margin;
    }
}

fn up(rows: usize) -> String {
    if rows > 0 { format!("\u{1b}[{rows}A") } else { String::new() }
}

fn typed(prompt: &str, before: &str, after: &str) -> Typed {
    Typed { prompt: prompt.to_owned(), before: before.to_owned(), after: after.to_owned() }
}

/// Truncates `words` to a width.
pub(crate) fn cut(words: &str, width: usize) -> String {
    if words.width() <= width {
        return words.to_owned();
    }
    let mut used = 1;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= width
    };
    words.chars().take_while(fits).chain(['…']).collect()
}

/// Lays out an input line. Continuation rows are indented to the end of the prompt.
pub(crate) fn laid_out(line: &Typed, width: usize) -> Rows {
    let prompt = cut(&readable(&line.prompt), width / 2);
    let margin = prompt.width();
    let mut layout = Rows { rows: vec![prompt], cursor: (0, margin) };
    let mut column = margin;
    let text = line.before.chars().map(Some).chain([None]).chain(line.after.chars().map(Some));
    for letter in text {
        let Some(letter) = letter else {
            layout.cursor = (layout.rows.len() - 1, column);
            continue;
        };
        let letter = if letter == '\t' { ' ' } else { letter };
        let wide = letter.width().unwrap_or(0);
        if letter == '\n' || column + wide > width {
            layout.rows.push(" ".repeat(margin));
            column = margin;
        }
        if let (Some(row), false) = (layout.rows.last_mut(), letter.is_control()) {
            row.push(letter);
            column += wide;
        }
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(columns: u16) -> Screen {
        Screen::new((columns, 24), Look::Plain)
    }

    fn line(before: &str) -> Live {
        Live { status: None, line: Some(typed("> ", before, "")) }
    }

    #[test]
    fn a_letter_at_the_end_is_all_that_is_written() {
        let mut screen = screen(40);
        assert_eq!(screen.show("", line("")), "> \r\u{1b}[2C");
        assert_eq!(screen.show("", line("h")), "h");
        assert_eq!(screen.show("", line("hi")), "i");
        assert_eq!(screen.show("", line("hi")), "");
    }

    #[test]
    fn what_comes_is_written_above_and_the_line_is_kept() {
        let mut screen = screen(40);
        screen.show("", line("buy mi"));
        assert_eq!(screen.show("news\n", line("buy mi")), "\r\u{1b}[Jnews\n> buy mi\r\u{1b}[8C",);
    }

    #[test]
    fn an_unfinished_line_of_words_goes_on_where_it_was() {
        let mut screen = screen(40);
        assert_eq!(screen.show("  good ", Live::default()), "  good");
        assert_eq!(screen.show("", line("x")), "\n> x\r\u{1b}[3C");
        assert_eq!(screen.show("morning\n", Live::default()), "\r\u{1b}[J\u{1b}[1A\u{1b}[6C morning\n");
    }

    #[test]
    fn words_are_broken_between_words_and_keep_their_margin() {
        let check = |words: &str, expected: &str| {
            assert_eq!(screen(13).show(words, Live::default()), expected, "{words}");
        };
        check("  one two three\n", "  one two\n  three\n");
        check("  one\n  two\n", "  one\n  two\n");
        check("one   two\n", "one   two\n");
        check(" /a   one two three\n", " /a   one\n      two\n      three\n");
        check("ab [1]\u{a0}10\u{a0}min\n", "ab\n[1] 10 min\n");
        check("  abcdefghijklmno\n", "  abcdefghij\n  klmno\n");
        check("  日本語日本語\n", "  日本語日本\n  語\n");
        check("a\u{1b}[2Jb\n", "a[2Jb\n");
        check("trailing   \n", "trailing\n");
    }

    #[test]
    fn words_are_shaded_only_where_they_may_be() {
        assert_eq!(screen(40).faint("ollim"), "ollim");
        assert_eq!(Screen::new((40, 24), Look::Shaded).faint("ollim"), "\u{1b}[2mollim\u{1b}[22m");
    }

    #[test]
    fn a_line_of_several_rows_is_taken_away_whole() {
        let mut screen = screen(13);
        let live = Live { status: Some("reading… 14 s".to_owned()), line: Some(typed("> ", "a\nbc", "d")) };
        assert_eq!(screen.show("", live), "reading… 14…\n> a\n  bcd\r\u{1b}[4C");
        assert_eq!(screen.erase(), "\r\u{1b}[2A\u{1b}[J");
    }

    #[test]
    fn of_a_line_higher_than_the_terminal_the_part_around_the_cursor_is_seen() {
        let mut screen = Screen::new((20, 4), Look::Plain);
        let drawn = screen.show("", line("1\n2\n3\n4\n5"));
        assert_eq!(drawn, "  3\n  4\n  5\r\u{1b}[3C");
    }

    #[test]
    fn what_was_typed_stays_where_it_was_typed() {
        let mut screen = screen(40);
        screen.show("half", line("one\ntwo"));
        assert_eq!(screen.entered("> ", "one\ntwo"), "\r\u{1b}[1A\u{1b}[Jhalf\n> one\n  two\n");
    }
}
