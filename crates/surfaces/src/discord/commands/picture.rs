//! Image of a day or a week: a strip of 24 hours for each day, with a numbered mark for each time.

mod font;
mod png;

use bytes::Bytes;

/// Width and height in pixels.
pub(super) const SIZE: (usize, usize) = (978, 584);
/// Left and right end of the hours.
const HOURS: (usize, usize) = (110, 958);
/// Top and bottom of the strips.
const STRIPS: (usize, usize) = (64, 544);
/// Width and height of a mark.
const MARK: (usize, usize) = (30, 22);

/// One day in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DayStrip {
    /// Label such as `mon 16`.
    pub(super) label: String,
    /// In order of time.
    pub(super) marks: Vec<Mark>,
    /// The current minute of this day, if it is today.
    pub(super) now: Option<u32>,
}

/// One time on a strip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) number: usize,
    /// Minute of the day.
    pub(super) minute: u32,
    pub(super) kind: MarkKind,
    /// Text beside the mark, drawn if there is space.
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// Drawn as a filled mark.
    Reminder,
    /// Drawn as an empty mark.
    Routine,
}

/// Indexes into the palette of `png`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Background,
    Line,
    Text,
    Now,
}

/// Draws `strips` below `title`.
pub(super) fn draw(title: &str, strips: &[DayStrip]) -> Bytes {
    let mut canvas = Canvas::new();
    canvas.draw_text(20, 20, title, 3, Ink::Text);
    for hour in (0..=24).step_by(3) {
        let x = minute_x(hour * 60);
        canvas.fill((x, STRIPS.0), (1, STRIPS.1 - STRIPS.0), Ink::Line);
        canvas.draw_text(x.saturating_sub(11), STRIPS.1 + 12, &format!("{hour:02}"), 2, Ink::Text);
    }
    let height = (STRIPS.1 - STRIPS.0) / strips.len().max(1);
    for (row, strip) in strips.iter().enumerate() {
        canvas.draw_strip(strip, STRIPS.0 + row * height, height);
    }
    png::encode(SIZE, &canvas.dots)
}

/// Returns the x coordinate of a minute of the day.
fn minute_x(minute: u32) -> usize {
    let minute = usize::try_from(minute.min(1_440)).unwrap_or(0);
    HOURS.0 + (HOURS.1 - HOURS.0) * minute / 1_440
}

/// Returns the width of the text beside a mark.
fn text_width(words: &str) -> usize {
    words.chars().count() * (font::WIDTH + 1) * 2
}

/// Returns where the text of a mark begins: after it, or before it at the right edge.
fn text_x(left: usize, mark: &Mark) -> usize {
    let after = left + MARK.0 + 6;
    if after + text_width(&mark.text) <= SIZE.0 {
        after
    } else {
        left.saturating_sub(6 + text_width(&mark.text))
    }
}

struct Canvas {
    dots: Vec<u8>,
}

impl Canvas {
    fn new() -> Self {
        Self { dots: vec![Ink::Background as u8; SIZE.0 * SIZE.1] }
    }

    fn fill(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), ink: Ink) {
        for y in top..(top + height).min(SIZE.1) {
            let from = left.min(SIZE.0);
            let to = (left + width).min(SIZE.0);
            self.dots[y * SIZE.0 + from..y * SIZE.0 + to].fill(ink as u8);
        }
    }

    /// Draws `text`; `scale` multiplies the size of the font's dots.
    fn draw_text(&mut self, left: usize, top: usize, text: &str, scale: usize, ink: Ink) {
        for (place, letter) in text.chars().enumerate() {
            for (row, line) in font::glyph(letter).iter().enumerate() {
                for column in (0..font::WIDTH).filter(|column| line >> (font::WIDTH - 1 - column) & 1 == 1) {
                    let x = left + (place * (font::WIDTH + 1) + column) * scale;
                    self.fill((x, top + row * scale), (scale, scale), ink);
                }
            }
        }
    }

    /// Draws a strip. Overlapping marks are drawn below each other.
    fn draw_strip(&mut self, strip: &DayStrip, top: usize, height: usize) {
        self.fill((20, top), (HOURS.1 - 20, 1), Ink::Line);
        self.draw_text(20, top + 10, &strip.label, 2, Ink::Text);
        let lanes = (height.saturating_sub(6) / (MARK.1 + 3)).max(1);
        let mut ends = vec![0_usize; lanes];
        for mark in &strip.marks {
            let left = minute_x(mark.minute).min(SIZE.0 - MARK.0);
            let words = text_x(left, mark);
            let free = ends.iter().position(|end| *end <= left.min(words));
            let lane = free.unwrap_or(lanes - 1);
            let high = top + 4 + lane * (MARK.1 + 3);
            ends[lane] = (left + MARK.0).max(words + text_width(&mark.text)) + 6;
            self.draw_mark(mark, left, high);
            self.draw_text(words, high + 4, &mark.text, 2, Ink::Text);
        }
        if let Some(minute) = strip.now {
            self.fill((minute_x(minute), top), (3, height), Ink::Now);
        }
    }

    fn draw_mark(&mut self, mark: &Mark, left: usize, top: usize) {
        let (width, height) = MARK;
        self.fill((left, top), MARK, Ink::Text);
        let ink = match mark.kind {
            MarkKind::Reminder => Ink::Background,
            MarkKind::Routine => {
                self.fill((left + 2, top + 2), (width - 4, height - 4), Ink::Background);
                Ink::Text
            }
        };
        self.draw_text(left + 4, top + 4, &mark.number.to_string(), 2, ink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(minutes: &[u32]) -> DayStrip {
        let mark = |(at, minute): (usize, &u32)| Mark {
            number: at + 1,
            minute: *minute,
            kind: MarkKind::Reminder,
            text: String::new(),
        };
        DayStrip {
            label: "mon 16".to_owned(),
            marks: minutes.iter().enumerate().map(mark).collect(),
            now: Some(545),
        }
    }

    #[test]
    fn marks_at_one_time_are_drawn_below_each_other() {
        let mut canvas = Canvas::new();
        canvas.draw_strip(&strip(&[600, 600]), 64, 480);
        let corner = |lane: usize| canvas.dots[(64 + 4 + lane * (MARK.1 + 3)) * SIZE.0 + minute_x(600)];
        assert_eq!(
            [corner(0), corner(1), corner(2)],
            [Ink::Text as u8, Ink::Text as u8, Ink::Background as u8]
        );
        assert_eq!(canvas.dots[300 * SIZE.0 + minute_x(545)], Ink::Now as u8);
    }

    #[test]
    fn many_marks_and_long_titles_stay_inside_the_image() {
        let crowd: Vec<u32> = (0..200).map(|at| at * 8).collect();
        let week: Vec<DayStrip> = (0..7).map(|_| strip(&crowd)).collect();
        assert!(
            draw("a title that is far too long to stand in one line of the picture as it is", &week).len()
                > 100
        );
        assert!(draw("", &[]).len() > 100);
    }
}
