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
pub(super) struct Strip {
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
    pub(super) kind: Kind,
    /// Text beside the mark, drawn if there is space.
    pub(super) words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Drawn as a filled mark.
    Once,
    /// Drawn as an empty mark.
    Again,
}

/// Indexes into the palette of `png`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Ground,
    Line,
    Word,
    Now,
}

/// Draws `strips` below `title`.
pub(super) fn draw(title: &str, strips: &[Strip]) -> Bytes {
    let mut canvas = Canvas::new();
    canvas.text(20, 20, title, 3, Ink::Word);
    for hour in (0..=24).step_by(3) {
        let x = at(hour * 60);
        canvas.fill((x, STRIPS.0), (1, STRIPS.1 - STRIPS.0), Ink::Line);
        canvas.text(x.saturating_sub(11), STRIPS.1 + 12, &format!("{hour:02}"), 2, Ink::Word);
    }
    let height = (STRIPS.1 - STRIPS.0) / strips.len().max(1);
    for (row, strip) in strips.iter().enumerate() {
        canvas.strip(strip, STRIPS.0 + row * height, height);
    }
    png::png(SIZE, &canvas.dots)
}

/// Returns the x coordinate of a minute of the day.
fn at(minute: u32) -> usize {
    let minute = usize::try_from(minute.min(1_440)).unwrap_or(0);
    HOURS.0 + (HOURS.1 - HOURS.0) * minute / 1_440
}

/// Returns the width of the text beside a mark.
fn wide(words: &str) -> usize {
    words.chars().count() * (font::WIDTH + 1) * 2
}

/// Returns where the text of a mark begins: after it, or before it at the right edge.
fn beside(left: usize, mark: &Mark) -> usize {
    let after = left + MARK.0 + 6;
    if after + wide(&mark.words) <= SIZE.0 { after } else { left.saturating_sub(6 + wide(&mark.words)) }
}

struct Canvas {
    dots: Vec<u8>,
}

impl Canvas {
    fn new() -> Self {
        Self { dots: vec![Ink::Ground as u8; SIZE.0 * SIZE.1] }
    }

    fn fill(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), ink: Ink) {
        for y in top..(top + height).min(SIZE.1) {
            let from = left.min(SIZE.0);
            let to = (left + width).min(SIZE.0);
            self.dots[y * SIZE.0 + from..y * SIZE.0 + to].fill(ink as u8);
        }
    }

    /// Draws `text`; `scale` multiplies the size of the font's dots.
    fn text(&mut self, left: usize, top: usize, text: &str, scale: usize, ink: Ink) {
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
    fn strip(&mut self, strip: &Strip, top: usize, height: usize) {
        self.fill((20, top), (HOURS.1 - 20, 1), Ink::Line);
        self.text(20, top + 10, &strip.label, 2, Ink::Word);
        let lanes = (height.saturating_sub(6) / (MARK.1 + 3)).max(1);
        let mut ends = vec![0_usize; lanes];
        for mark in &strip.marks {
            let left = at(mark.minute).min(SIZE.0 - MARK.0);
            let words = beside(left, mark);
            let free = ends.iter().position(|end| *end <= left.min(words));
            let lane = free.unwrap_or(lanes - 1);
            let high = top + 4 + lane * (MARK.1 + 3);
            ends[lane] = (left + MARK.0).max(words + wide(&mark.words)) + 6;
            self.mark(mark, left, high);
            self.text(words, high + 4, &mark.words, 2, Ink::Word);
        }
        if let Some(minute) = strip.now {
            self.fill((at(minute), top), (3, height), Ink::Now);
        }
    }

    fn mark(&mut self, mark: &Mark, left: usize, top: usize) {
        let (width, height) = MARK;
        self.fill((left, top), MARK, Ink::Word);
        let ink = match mark.kind {
            Kind::Once => Ink::Ground,
            Kind::Again => {
                self.fill((left + 2, top + 2), (width - 4, height - 4), Ink::Ground);
                Ink::Word
            }
        };
        self.text(left + 4, top + 4, &mark.number.to_string(), 2, ink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(minutes: &[u32]) -> Strip {
        let mark = |(at, minute): (usize, &u32)| Mark {
            number: at + 1,
            minute: *minute,
            kind: Kind::Once,
            words: String::new(),
        };
        Strip {
            label: "mon 16".to_owned(),
            marks: minutes.iter().enumerate().map(mark).collect(),
            now: Some(545),
        }
    }

    #[test]
    fn marks_at_one_time_stand_below_one_another() {
        let mut canvas = Canvas::new();
        canvas.strip(&strip(&[600, 600]), 64, 480);
        let corner = |lane: usize| canvas.dots[(64 + 4 + lane * (MARK.1 + 3)) * SIZE.0 + at(600)];
        assert_eq!([corner(0), corner(1), corner(2)], [Ink::Word as u8, Ink::Word as u8, Ink::Ground as u8]);
        assert_eq!(canvas.dots[300 * SIZE.0 + at(545)], Ink::Now as u8);
    }

    #[test]
    fn the_ends_of_the_day_and_a_crowd_stay_inside() {
        let crowd: Vec<u32> = (0..200).map(|at| at * 8).collect();
        let week: Vec<Strip> = (0..7).map(|_| strip(&crowd)).collect();
        assert!(
            draw("a title that is far too long to stand in one line of the picture as it is", &week).len()
                > 100
        );
        assert!(draw("", &[]).len() > 100);
    }
}
