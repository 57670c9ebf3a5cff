//! Keys of the terminal, independent of the terminal library.

use std::future::ready;
use std::io;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::{Stream, StreamExt};

/// Input from a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    /// New number of columns and rows.
    Resized(u16, u16),
}

/// A key or pasted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// May contain several lines.
    Pasted(String),
    /// Finish the line.
    Enter,
    /// Insert a line break.
    Newline,
    /// Complete the word.
    Tab,
    Move(Motion),
    /// Erase from the cursor to the target.
    Erase(Motion),
    /// Recall the previous or next line.
    Recall(Direction),
    /// Stop the answer.
    Escape,
    /// Clear the line, or quit.
    Interrupt,
    /// End of input.
    EndOfInput,
    /// A key of the full screen.
    Pane(PaneKey),
}

/// Target of a motion, relative to the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    Start,
    End,
}

/// Direction through history or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards older items.
    Earlier,
    /// Towards newer items.
    Later,
}

/// Keys used only by the full screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaneKey {
    Function(u8),
    /// Scroll by a page.
    Page(Direction),
}

/// Returns the input of this terminal.
pub fn input_stream() -> impl Stream<Item = io::Result<Input>> + Unpin {
    EventStream::new().filter_map(|event| ready(event.map(convert).transpose()))
}

/// Converts an event. Returns `None` for events that are not used.
pub fn convert(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => convert_key(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Key(Key::Pasted(text.replace("\r\n", "\n").replace('\r', "\n")))),
        Event::Resize(columns, rows) => Some(Input::Resized(columns, rows)),
        Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => None,
    }
}

fn convert_key(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(letter) if control => with_control(letter),
        KeyCode::Char(letter) if alt => with_alt(letter),
        KeyCode::Char(letter) => Some(Key::Char(letter)),
        KeyCode::Enter if alt => Some(Key::Newline),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Tab => Some(Key::Tab),
        KeyCode::Backspace if alt || control => Some(Key::Erase(Motion::WordLeft)),
        KeyCode::Backspace => Some(Key::Erase(Motion::Left)),
        KeyCode::Delete => Some(Key::Erase(Motion::Right)),
        KeyCode::Left if alt || control => Some(Key::Move(Motion::WordLeft)),
        KeyCode::Right if alt || control => Some(Key::Move(Motion::WordRight)),
        KeyCode::Left => Some(Key::Move(Motion::Left)),
        KeyCode::Right => Some(Key::Move(Motion::Right)),
        KeyCode::Home => Some(Key::Move(Motion::Start)),
        KeyCode::End => Some(Key::Move(Motion::End)),
        KeyCode::Up => Some(Key::Recall(Direction::Earlier)),
        KeyCode::Down => Some(Key::Recall(Direction::Later)),
        KeyCode::PageUp => Some(Key::Pane(PaneKey::Page(Direction::Earlier))),
        KeyCode::PageDown => Some(Key::Pane(PaneKey::Page(Direction::Later))),
        KeyCode::F(number) => Some(Key::Pane(PaneKey::Function(number))),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::BackTab | KeyCode::Insert | KeyCode::Null | KeyCode::Menu | KeyCode::Media(_) => None,
        KeyCode::CapsLock | KeyCode::ScrollLock | KeyCode::NumLock | KeyCode::Modifier(_) => None,
        KeyCode::PrintScreen | KeyCode::Pause | KeyCode::KeypadBegin => None,
    }
}

fn with_control(letter: char) -> Option<Key> {
    match letter.to_ascii_lowercase() {
        'j' => Some(Key::Newline),
        'c' => Some(Key::Interrupt),
        'd' => Some(Key::EndOfInput),
        'a' => Some(Key::Move(Motion::Start)),
        'e' => Some(Key::Move(Motion::End)),
        'b' => Some(Key::Move(Motion::Left)),
        'f' => Some(Key::Move(Motion::Right)),
        'p' => Some(Key::Recall(Direction::Earlier)),
        'n' => Some(Key::Recall(Direction::Later)),
        'u' => Some(Key::Erase(Motion::Start)),
        'k' => Some(Key::Erase(Motion::End)),
        'w' => Some(Key::Erase(Motion::WordLeft)),
        'h' => Some(Key::Erase(Motion::Left)),
        _ => None,
    }
}

fn with_alt(letter: char) -> Option<Key> {
    match letter {
        'b' => Some(Key::Move(Motion::WordLeft)),
        'f' => Some(Key::Move(Motion::WordRight)),
        'd' => Some(Key::Erase(Motion::WordRight)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_events_are_converted_to_keys() {
        let check = |code, modifiers, expected: Option<Key>| {
            let read = convert(Event::Key(KeyEvent::new(code, modifiers)));
            assert_eq!(read, expected.map(Input::Key), "{code:?} {modifiers:?}");
        };
        let none = KeyModifiers::NONE;
        let control = KeyModifiers::CONTROL;
        let alt = KeyModifiers::ALT;
        check(KeyCode::Char('d'), none, Some(Key::Char('d')));
        check(KeyCode::Char('D'), KeyModifiers::SHIFT, Some(Key::Char('D')));
        check(KeyCode::Char('j'), control, Some(Key::Newline));
        check(KeyCode::Char('c'), control, Some(Key::Interrupt));
        check(KeyCode::Char('b'), alt, Some(Key::Move(Motion::WordLeft)));
        check(KeyCode::Char('x'), control, None);
        check(KeyCode::Enter, none, Some(Key::Enter));
        check(KeyCode::F(2), none, Some(Key::Pane(PaneKey::Function(2))));
        check(KeyCode::PageUp, none, Some(Key::Pane(PaneKey::Page(Direction::Earlier))));
        assert_eq!(
            convert(Event::Paste("a\r\nb\rc".to_owned())),
            Some(Input::Key(Key::Pasted("a\nb\nc".to_owned())))
        );
        assert_eq!(convert(Event::FocusLost), None);
    }
}
