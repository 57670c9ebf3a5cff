//! The screen in line mode: output scrolls up, with a status and the input line below it.
//!
//! Output is written once and not touched again. Only the live area below it is redrawn, and only
//! where it changed, so a screen reader does not repeat text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::strip_control;

/// Whether text may be dimmed or bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    Styled,
    Plain,
}

/// The area below the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveArea {
    /// Status of running work.
    pub status: Option<String>,
    /// The input line, if shown.
    pub line: Option<InputLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputLine {
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
    style: TextStyle,
    unfinished: UnfinishedLine,
    drawn: Option<(LiveArea, Layout)>,
}

/// The unfinished line of output.
#[derive(Clone, Debug, Default)]
struct UnfinishedLine {
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
pub(crate) struct Layout {
    pub(crate) rows: Vec<String>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

/// Space at which a row is not broken.
pub(super) const NO_BREAK_SPACE: char = '\u{a0}';
/// Minimum number of columns.
const MIN_COLUMNS: usize = 10;

impl Screen {
    /// Creates an empty screen of this size.
    pub fn new((columns, rows): (u16, u16), look: TextStyle) -> Self {
        let columns = usize::from(columns).max(MIN_COLUMNS);
        let rows = usize::from(rows).max(2);
        Self { columns, rows, style: look, unfinished: UnfinishedLine::default(), drawn: None }
    }

    /// Changes the size. Returns the output that erases the live area.
    pub fn resize(&mut self, columns: u16, rows: u16) -> String {
        let erased = self.erase();
        (self.columns, self.rows) = (usize::from(columns).max(MIN_COLUMNS), usize::from(rows).max(2));
        erased
    }

    /// Returns the usable columns. The last one is left free, because terminals treat it
    /// differently.
    pub fn width(&self) -> usize {
        self.columns - 1
    }

    /// Dims `words`, if allowed.
    pub fn dim(&self, words: &str) -> String {
        match self.style {
            TextStyle::Styled => format!("\u{1b}[2m{words}\u{1b}[22m"),
            TextStyle::Plain => words.to_owned(),
        }
    }

    /// Returns the output that writes `words` and redraws the live area.
    pub fn show(&mut self, words: &str, live: LiveArea) -> String {
        if words.is_empty() {
            return self.redraw(live);
        }
        let erased = self.erase();
        let said = self.write_text(words);
        erased + &said + &self.draw(live)
    }

    /// Returns the output that makes the entered line permanent.
    pub fn commit_line(&mut self, prompt: &str, text: &str) -> String {
        let mut erased = self.erase();
        self.finish_word(&mut erased);
        let line_end = if self.unfinished.column > 0 { "\n" } else { "" };
        self.unfinished = UnfinishedLine::default();
        let rows = layout_line(&input_line(prompt, text, ""), self.width()).rows.join("\n");
        format!("{erased}{line_end}{rows}\n")
    }

    /// Returns the output that erases the live area.
    pub fn erase(&mut self) -> String {
        let Some((_, layout)) = self.drawn.take() else { return String::new() };
        let back = match self.unfinished.column {
            0 => String::new(),
            column => format!("\u{1b}[1A\u{1b}[{column}C"),
        };
        format!("\r{}\u{1b}[J{back}", cursor_up(layout.cursor.0))
    }

    fn redraw(&mut self, live: LiveArea) -> String {
        match &self.drawn {
            Some((drawn, _)) if *drawn == live => String::new(),
            Some((drawn, layout)) => match self.appended(drawn, layout, &live) {
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
    fn appended(&self, drawn: &LiveArea, layout: &Layout, live: &LiveArea) -> Option<(String, Layout)> {
        let old = drawn.line.as_ref()?;
        let new = live.line.as_ref()?;
        let same = drawn.status == live.status && old.prompt == new.prompt;
        let at_end = old.after.is_empty() && new.after.is_empty();
        let letters = new.before.strip_prefix(&old.before).filter(|_| same && at_end)?;
        let now = self.layout(live);
        (now.rows.len() == layout.rows.len() && !letters.contains('\t'))
            .then(|| (strip_control(letters), now))
    }

    fn draw(&mut self, live: LiveArea) -> String {
        if live == LiveArea::default() {
            return String::new();
        }
        let layout = self.layout(&live);
        let (row, column) = layout.cursor;
        let line_end = if self.unfinished.column > 0 { "\n" } else { "" };
        let last = layout.rows.len().saturating_sub(1);
        let mut rows = layout.rows.clone();
        if live.status.is_some() {
            rows[0] = self.dim(&rows[0]);
        }
        let right = if column > 0 { format!("\u{1b}[{column}C") } else { String::new() };
        let drawn = format!("{line_end}{}\r{}{right}", rows.join("\n"), cursor_up(last - row));
        self.drawn = Some((live, layout));
        drawn
    }

    fn layout(&self, live: &LiveArea) -> Layout {
        let mut whole = Layout { rows: Vec::new(), cursor: (0, 0) };
        if let Some(status) = &live.status {
            let status = truncate(&strip_control(status).replace('\n', " "), self.width());
            whole.cursor = (0, status.width());
            whole.rows.push(status);
        }
        if let Some(line) = &live.line {
            let line = layout_line(line, self.width());
            // If the line is higher than the terminal, the part around the cursor is shown.
            let most = self.rows - whole.rows.len() - 1;
            let first = (line.cursor.0 + 1).saturating_sub(most);
            whole.cursor = (whole.rows.len() + line.cursor.0 - first, line.cursor.1);
            whole.rows.extend(line.rows.into_iter().skip(first).take(most));
        }
        whole
    }

    /// Wraps `words` at the width.
    fn write_text(&mut self, words: &str) -> String {
        let mut said = String::with_capacity(words.len());
        for letter in strip_control(words).chars() {
            match letter {
                '\n' => {
                    self.finish_word(&mut said);
                    self.unfinished = UnfinishedLine::default();
                    said.push('\n');
                }
                ' ' | '\t' => {
                    self.finish_word(&mut said);
                    self.unfinished.gap += 1;
                }
                letter => self.unfinished.word.push(letter),
            }
        }
        said
    }

    fn finish_word(&mut self, said: &mut String) {
        if self.unfinished.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.unfinished.word);
        let gap = std::mem::take(&mut self.unfinished.gap);
        if self.unfinished.column == 0 {
            self.unfinished.margin = gap.min(self.width() / 2);
        }
        let fits = self.unfinished.column + gap + word.width() <= self.width();
        if self.unfinished.column > self.unfinished.margin && !fits {
            self.break_row(said);
        } else {
            said.extend(std::iter::repeat_n(' ', gap));
            self.unfinished.column += gap;
            // Text after a wide gap is a second column, which is wrapped below itself.
            if gap > 1 && self.unfinished.column <= self.width() * 3 / 5 {
                self.unfinished.margin = self.unfinished.column;
            }
        }
        for letter in word.chars() {
            let letter = if letter == NO_BREAK_SPACE { ' ' } else { letter };
            let wide = letter.width().unwrap_or(0);
            if self.unfinished.column + wide > self.width() {
                self.break_row(said);
            }
            said.push(letter);
            self.unfinished.column += wide;
        }
    }

    fn break_row(&mut self, said: &mut String) {
        said.push('\n');
        said.extend(std::iter::repeat_n(' ', self.unfinished.margin));
        self.unfinished.column = self.unfinished.margin;
    }
}

fn cursor_up(rows: usize) -> String {
    if rows > 0 { format!("\u{1b}[{rows}A") } else { String::new() }
}

fn input_line(prompt: &str, before: &str, after: &str) -> InputLine {
    InputLine { prompt: prompt.to_owned(), before: before.to_owned(), after: after.to_owned() }
}

/// Truncates `words` to a width.
pub(crate) fn truncate(words: &str, width: usize) -> String {
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
pub(crate) fn layout_line(line: &InputLine, width: usize) -> Layout {
    let prompt = truncate(&strip_control(&line.prompt), width / 2);
    let margin = prompt.width();
    let mut layout = Layout { rows: vec![prompt], cursor: (0, margin) };
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
        Screen::new((columns, 24), TextStyle::Plain)
    }

    fn line(before: &str) -> LiveArea {
        LiveArea { status: None, line: Some(input_line("> ", before, "")) }
    }

    #[test]
    fn an_appended_letter_is_the_only_output() {
        let mut screen = screen(40);
        assert_eq!(screen.show("", line("")), "> \r\u{1b}[2C");
        assert_eq!(screen.show("", line("h")), "h");
        assert_eq!(screen.show("", line("hi")), "i");
        assert_eq!(screen.show("", line("hi")), "");
    }

    #[test]
    fn output_is_written_above_the_input_line() {
        let mut screen = screen(40);
        screen.show("", line("buy mi"));
        assert_eq!(screen.show("news\n", line("buy mi")), "\r\u{1b}[Jnews\n> buy mi\r\u{1b}[8C",);
    }

    #[test]
    fn an_unfinished_line_of_output_is_continued() {
        let mut screen = screen(40);
        assert_eq!(screen.show("  good ", LiveArea::default()), "  good");
        assert_eq!(screen.show("", line("x")), "\n> x\r\u{1b}[3C");
        assert_eq!(screen.show("morning\n", LiveArea::default()), "\r\u{1b}[J\u{1b}[1A\u{1b}[6C morning\n");
    }

    #[test]
    fn output_is_wrapped_between_words_with_its_indentation() {
        let check = |words: &str, expected: &str| {
            assert_eq!(screen(13).show(words, LiveArea::default()), expected, "{words}");
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
    fn text_is_dimmed_only_if_styling_is_allowed() {
        assert_eq!(screen(40).dim("ollim"), "ollim");
        assert_eq!(Screen::new((40, 24), TextStyle::Styled).dim("ollim"), "\u{1b}[2mollim\u{1b}[22m");
    }

    #[test]
    fn an_input_line_of_several_rows_is_erased_completely() {
        let mut screen = screen(13);
        let live = LiveArea {
            status: Some("reading… 14 s".to_owned()),
            line: Some(input_line("> ", "a\nbc", "d")),
        };
        assert_eq!(screen.show("", live), "reading… 14…\n> a\n  bcd\r\u{1b}[4C");
        assert_eq!(screen.erase(), "\r\u{1b}[2A\u{1b}[J");
    }

    #[test]
    fn a_line_higher_than_the_terminal_shows_the_part_around_the_cursor() {
        let mut screen = Screen::new((20, 4), TextStyle::Plain);
        let drawn = screen.show("", line("1\n2\n3\n4\n5"));
        assert_eq!(drawn, "  3\n  4\n  5\r\u{1b}[3C");
    }

    #[test]
    fn an_entered_line_stays_on_the_screen() {
        let mut screen = screen(40);
        screen.show("half", line("one\ntwo"));
        assert_eq!(screen.commit_line("> ", "one\ntwo"), "\r\u{1b}[1A\u{1b}[Jhalf\n> one\n  two\n");
    }
}
