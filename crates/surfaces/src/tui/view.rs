//! Rendering of the full screen. A small terminal shows one pane at a time.

use jiff::Zoned;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};
use tokio::time::Instant;

use super::panes::{HELP_LINES, Pane};
use super::state::{Availability, State};
use crate::terminal::chat_state::Moment;
use crate::terminal::screen::{InputLine, TextStyle, layout_line};

/// Minimum columns and rows for showing all panes.
const MIN_SIZE_FOR_PANES: (u16, u16) = (60, 14);
/// Width of the panes next to the conversation.
const SIDE_WIDTH: u16 = 28;
/// Maximum number of rows of the input line.
const MAX_INPUT_ROWS: u16 = 6;

/// Draws `state`.
pub fn draw(state: &State, at: &Moment, style: TextStyle, frame: &mut Frame<'_>) {
    let area = frame.area();
    let typed = input_layout(state, area.width.saturating_sub(2));
    let rows = u16::try_from(typed.rows.len())
        .unwrap_or(MAX_INPUT_ROWS)
        .min(MAX_INPUT_ROWS)
        .min(area.height / 3)
        .max(1);
    let [above, below] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(rows + 2)]).areas::<2>(area);
    let draw = View { state, at, style };
    if area.width >= MIN_SIZE_FOR_PANES.0 && area.height >= MIN_SIZE_FOR_PANES.1 {
        draw.draw_panes(frame, above)
    } else {
        draw.draw_pane(frame, above, state.focus)
    }
    draw.draw_input(frame, below, &typed);
}

fn input_layout(state: &State, width: u16) -> crate::terminal::screen::Layout {
    let before = state.chat.editor().before();
    let text = state.chat.editor().text();
    let after = text[before.len()..].to_owned();
    layout_line(
        &InputLine { prompt: state.chat.prompt(), before: before.to_owned(), after },
        usize::from(width),
    )
}

/// Inputs of drawing.
struct View<'a> {
    state: &'a State,
    at: &'a Moment,
    style: TextStyle,
}

impl View<'_> {
    fn draw_panes(&self, frame: &mut Frame<'_>, area: Rect) {
        let beside = if area.width >= 100 { SIDE_WIDTH + 8 } else { SIDE_WIDTH };
        let [chat, right] =
            Layout::horizontal([Constraint::Min(20), Constraint::Length(beside)]).areas::<2>(area);
        let inner = usize::from(beside.saturating_sub(2));
        let forks = u16::try_from(self.forks(inner).len()).unwrap_or(6).min(6);
        let pings = u16::try_from(self.state.overview.pings(inner).len()).unwrap_or(3).max(1);
        let [today, aside, gauge] = Layout::vertical([
            Constraint::Min(3),
            Constraint::Length(forks + 2),
            Constraint::Length(pings + 2),
        ])
        .areas::<3>(right);
        self.draw_pane(frame, chat, Pane::Chat);
        for (pane, area) in [(Pane::Today, today), (Pane::Forks, aside), (Pane::Pings, gauge)] {
            self.draw_pane(frame, area, pane);
        }
        if self.state.focus == Pane::Help {
            frame.render_widget(Clear, chat);
            self.draw_pane(frame, chat, Pane::Help);
        }
    }

    fn draw_pane(&self, frame: &mut Frame<'_>, area: Rect, pane: Pane) {
        let width = area.width.saturating_sub(2);
        let height = usize::from(area.height.saturating_sub(2));
        let focused = self.state.focus == pane;
        let scrolled = if focused { self.state.scrolled } else { 0 };
        let wide = usize::from(width);
        let lines = match pane {
            Pane::Chat => self.state.log.rows(width, height, scrolled),
            Pane::Today => self.state.overview.today(wide),
            Pane::Forks => self.forks(wide),
            Pane::Pings => self.state.overview.pings(wide),
            Pane::Help => HELP_LINES.iter().map(|line| (*line).to_owned()).collect(),
        };
        let skipped = match pane {
            Pane::Chat => 0,
            Pane::Today | Pane::Forks | Pane::Pings | Pane::Help => {
                scrolled.min(lines.len().saturating_sub(height))
            }
        };
        let rows = lines.into_iter().skip(skipped).take(height).map(|row| self.styled_row(row));
        let block = self.pane_block(pane).title(self.title(pane));
        frame.render_widget(Paragraph::new(Text::from_iter(rows)).block(block), area);
    }

    fn forks(&self, width: usize) -> Vec<String> {
        let aside = self.state.fork_topic.as_ref();
        self.state.overview.forks(aside.map(String::as_str), width)
    }

    fn title(&self, pane: Pane) -> String {
        match pane {
            Pane::Chat if self.state.scrolled > 0 && self.state.focus == Pane::Chat => {
                " main · pgdn or esc: back to the end ".to_owned()
            }
            Pane::Chat => match &self.state.fork_topic {
                None => " main ".to_owned(),
                Some(topic) if topic.is_empty() => " aside ".to_owned(),
                Some(topic) => format!(" aside: {topic} "),
            },
            Pane::Today => format!(" today · {} ", time_of_day(&self.at.clock)),
            Pane::Forks => " forks ".to_owned(),
            Pane::Pings => " pings ".to_owned(),
            Pane::Help => " keys ".to_owned(),
        }
    }

    /// Messages of the user are bold, remarks are dimmed.
    fn styled_row(&self, row: String) -> Line<'static> {
        let style = match (self.style, row.trim_start().chars().next()) {
            (TextStyle::Styled, Some('>' | '⏰')) => Style::new().add_modifier(Modifier::BOLD),
            (TextStyle::Styled, Some('(')) => Style::new().add_modifier(Modifier::DIM),
            (TextStyle::Styled | TextStyle::Plain, _) => Style::new(),
        };
        Line::styled(row, style)
    }

    /// A focused pane has a thick frame.
    fn pane_block(&self, pane: Pane) -> Block<'static> {
        match (self.state.focus == pane, pane) {
            (true, Pane::Today | Pane::Forks | Pane::Pings | Pane::Help) => {
                Block::bordered().border_type(BorderType::Thick)
            }
            (_, _) => self.dim_block(),
        }
    }

    fn dim_block(&self) -> Block<'static> {
        match self.style {
            TextStyle::Styled => Block::bordered().border_style(Style::new().add_modifier(Modifier::DIM)),
            TextStyle::Plain => Block::bordered(),
        }
    }

    fn draw_input(&self, frame: &mut Frame<'_>, area: Rect, typed: &crate::terminal::screen::Layout) {
        let status = self.status(self.at.now);
        let block = self.dim_block().title(status).title_bottom(key_hint(area.width));
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
        match (self.state.availability, self.state.chat.status(now)) {
            (Availability::Gone, _) => " not running; looking for it ".to_owned(),
            (Availability::Unresponsive, _) => " stands still; looking for it ".to_owned(),
            (Availability::Available, Some(status)) => format!(" {} ", status.trim()),
            (Availability::Available, None) => String::new(),
        }
    }
}

fn time_of_day(now: &Zoned) -> String {
    now.strftime("%a %H:%M").to_string().to_lowercase()
}

fn key_hint(width: u16) -> &'static str {
    match width {
        56.. => " F1 help  F2 today  F3 forks  F4 pings  Esc stop ",
        _ => " F1 help  F2-F4 panes ",
    }
}
