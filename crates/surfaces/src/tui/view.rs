//! Rendering of the full screen. A small terminal shows one pane at a time.

use jiff::Zoned;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};
use tokio::time::Instant;

use super::panes::{HELP, Pane};
use super::state::{State, There};
use crate::terminal::screen::{Look, Typed, laid_out};
use crate::terminal::talk::Moment;

/// Minimum columns and rows for showing all panes.
const ROOM: (u16, u16) = (60, 14);
/// Width of the panes next to the conversation.
const BESIDE: u16 = 28;
/// Maximum number of rows of the input line.
const TYPED: u16 = 6;

/// Draws `state`.
pub fn view(state: &State, at: &Moment, look: Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    let typed = typed(state, area.width.saturating_sub(2));
    let rows = u16::try_from(typed.rows.len()).unwrap_or(TYPED).min(TYPED).min(area.height / 3).max(1);
    let [above, below] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(rows + 2)]).areas::<2>(area);
    let draw = Draw { state, at, look };
    if area.width >= ROOM.0 && area.height >= ROOM.1 {
        draw.panes(frame, above)
    } else {
        draw.pane(frame, above, state.focus)
    }
    draw.line(frame, below, &typed);
}

fn typed(state: &State, width: u16) -> crate::terminal::screen::Rows {
    let before = state.talk.editor().before();
    let text = state.talk.editor().text();
    let after = text[before.len()..].to_owned();
    laid_out(&Typed { prompt: state.talk.prompt(), before: before.to_owned(), after }, usize::from(width))
}

/// Inputs of drawing.
struct Draw<'a> {
    state: &'a State,
    at: &'a Moment,
    look: Look,
}

impl Draw<'_> {
    fn panes(&self, frame: &mut Frame<'_>, area: Rect) {
        let beside = if area.width >= 100 { BESIDE + 8 } else { BESIDE };
        let [chat, right] =
            Layout::horizontal([Constraint::Min(20), Constraint::Length(beside)]).areas::<2>(area);
        let inner = usize::from(beside.saturating_sub(2));
        let forks = u16::try_from(self.forks(inner).len()).unwrap_or(6).min(6);
        let pings = u16::try_from(self.state.looked.pings(inner).len()).unwrap_or(3).max(1);
        let [today, aside, gauge] = Layout::vertical([
            Constraint::Min(3),
            Constraint::Length(forks + 2),
            Constraint::Length(pings + 2),
        ])
        .areas::<3>(right);
        self.pane(frame, chat, Pane::Chat);
        for (pane, area) in [(Pane::Today, today), (Pane::Forks, aside), (Pane::Pings, gauge)] {
            self.pane(frame, area, pane);
        }
        if self.state.focus == Pane::Help {
            frame.render_widget(Clear, chat);
            self.pane(frame, chat, Pane::Help);
        }
    }

    fn pane(&self, frame: &mut Frame<'_>, area: Rect, pane: Pane) {
        let width = area.width.saturating_sub(2);
        let height = usize::from(area.height.saturating_sub(2));
        let focused = self.state.focus == pane;
        let scrolled = if focused { self.state.scrolled } else { 0 };
        let wide = usize::from(width);
        let lines = match pane {
            Pane::Chat => self.state.log.rows(width, height, scrolled),
            Pane::Today => self.state.looked.today(wide),
            Pane::Forks => self.forks(wide),
            Pane::Pings => self.state.looked.pings(wide),
            Pane::Help => HELP.iter().map(|line| (*line).to_owned()).collect(),
        };
        let skipped = match pane {
            Pane::Chat => 0,
            Pane::Today | Pane::Forks | Pane::Pings | Pane::Help => {
                scrolled.min(lines.len().saturating_sub(height))
            }
        };
        let rows = lines.into_iter().skip(skipped).take(height).map(|row| self.row(row));
        let block = self.frame(pane).title(self.title(pane));
        frame.render_widget(Paragraph::new(Text::from_iter(rows)).block(block), area);
    }

    fn forks(&self, width: usize) -> Vec<String> {
        let aside = self.state.aside.as_ref();
        self.state.looked.forks(aside.map(String::as_str), width)
    }

    fn title(&self, pane: Pane) -> String {
        match pane {
            Pane::Chat if self.state.scrolled > 0 && self.state.focus == Pane::Chat => {
                " main · pgdn or esc: back to the end ".to_owned()
            }
            Pane::Chat => match &self.state.aside {
                None => " main ".to_owned(),
                Some(topic) if topic.is_empty() => " aside ".to_owned(),
                Some(topic) => format!(" aside: {topic} "),
            },
            Pane::Today => format!(" today · {} ", clock(&self.at.clock)),
            Pane::Forks => " forks ".to_owned(),
            Pane::Pings => " pings ".to_owned(),
            Pane::Help => " keys ".to_owned(),
        }
    }

    /// Messages of the user are bold, remarks are dimmed.
    fn row(&self, row: String) -> Line<'static> {
        let style = match (self.look, row.trim_start().chars().next()) {
            (Look::Shaded, Some('>' | '⏰')) => Style::new().add_modifier(Modifier::BOLD),
            (Look::Shaded, Some('(')) => Style::new().add_modifier(Modifier::DIM),
            (Look::Shaded | Look::Plain, _) => Style::new(),
        };
        Line::styled(row, style)
    }

    /// A focused pane has a thick frame.
    fn frame(&self, pane: Pane) -> Block<'static> {
        match (self.state.focus == pane, pane) {
            (true, Pane::Today | Pane::Forks | Pane::Pings | Pane::Help) => {
                Block::bordered().border_type(BorderType::Thick)
            }
            (_, _) => self.faint(),
        }
    }

    fn faint(&self) -> Block<'static> {
        match self.look {
            Look::Shaded => Block::bordered().border_style(Style::new().add_modifier(Modifier::DIM)),
            Look::Plain => Block::bordered(),
        }
    }

    fn line(&self, frame: &mut Frame<'_>, area: Rect, typed: &crate::terminal::screen::Rows) {
        let status = self.status(self.at.now);
        let block = self.faint().title(status).title_bottom(keys(area.width));
        let (row, column) = typed.cursor;
        let height = usize::from(area.height.saturating_sub(2)).max(1);
        let first = (row + 1).saturating_sub(height);
        let rows = typed.rows.iter().skip(first).take(height).map(|row| Line::raw(row.clone()));
        frame.render_widget(Paragraph::new(Text::from_iter(rows)).block(block), area);
        let place =
            |inner: usize, start: u16| start.saturating_add(u16::try_from(inner).unwrap_or(u16::MAX) + 1);
        let x = place(column, area.x);
        let y = place(row - first, area.y);
        frame.set_cursor_position(Position { x, y });
    }

    fn status(&self, now: Instant) -> String {
        match (self.state.there, self.state.talk.status(now)) {
            (There::No, _) => " not running; looking for it ".to_owned(),
            (There::Still, _) => " stands still; looking for it ".to_owned(),
            (There::Yes, Some(status)) => format!(" {} ", status.trim()),
            (There::Yes, None) => String::new(),
        }
    }
}

fn clock(now: &Zoned) -> String {
    now.strftime("%a %H:%M").to_string().to_lowercase()
}

fn keys(width: u16) -> &'static str {
    match width {
        56.. => " F1 help  F2 today  F3 forks  F4 pings  Esc stop ",
        _ => " F1 help  F2-F4 panes ",
    }
}
