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
    Letter(char),
    /// May contain several lines.
    Pasted(String),
    /// Finish the line.
    Enter,
    /// Insert a line break.
    Newline,
    /// Complete the word.
    Tab,
    Move(To),
    /// Erase from the cursor to the target.
    Erase(To),
    /// Recall the previous or next line.
    Recall(Way),
    /// Stop the answer.
    Escape,
    /// Clear the line, or quit.
    Interrupt,
    /// End of input.
    Leave,
    /// A key of the full screen.
    Pane(Pane),
}

/// Target of a motion, relative to the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Left,
    Right,
    WordLeft,
    WordRight,
    Start,
    End,
}

/// Direction through history or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards older items.
    Earlier,
    /// Towards newer items.
    Later,
}

/// Keys used only by the full screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Function(u8),
    /// Scroll by a page.
    Page(Way),
}

/// Returns the input of this terminal.
pub fn pressed_here() -> impl Stream<Item = io::Result<Input>> + Unpin {
    EventStream::new().filter_map(|event| ready(event.map(read).transpose()))
}

/// Converts an event. Returns `None` for events that are not used.
pub fn read(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Key(Key::Pasted(text.replace("\r\n", "\n").replace('\r', "\n")))),
        Event::Resize(columns, rows) => Some(Input::Resized(columns, rows)),
        Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => None,
    }
}

fn pressed(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(letter) if control => with_control(letter),
        KeyCode::Char(letter) if alt => with_alt(letter),
        KeyCode::Char(letter) => Some(Key::Letter(letter)),
        KeyCode::Enter if alt => Some(Key::Newline),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Tab => Some(Key::Tab),
        KeyCode::Backspace if alt || control => Some(Key::Erase(To::WordLeft)),
        KeyCode::Backspace => Some(Key::Erase(To::Left)),
        KeyCode::Delete => Some(Key::Erase(To::Right)),
        KeyCode::Left if alt || control => Some(Key::Move(To::WordLeft)),
        KeyCode::Right if alt || control => Some(Key::Move(To::WordRight)),
        KeyCode::Left => Some(Key::Move(To::Left)),
        KeyCode::Right => Some(Key::Move(To::Right)),
        KeyCode::Home => Some(Key::Move(To::Start)),
        KeyCode::End => Some(Key::Move(To::End)),
        KeyCode::Up => Some(Key::Recall(Way::Earlier)),
        KeyCode::Down => Some(Key::Recall(Way::Later)),
        KeyCode::PageUp => Some(Key::Pane(Pane::Page(Way::Earlier))),
        KeyCode::PageDown => Some(Key::Pane(Pane::Page(Way::Later))),
        KeyCode::F(number) => Some(Key::Pane(Pane::Function(number))),
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
        'd' => Some(Key::Leave),
        'a' => Some(Key::Move(To::Start)),
        'e' => Some(Key::Move(To::End)),
        'b' => Some(Key::Move(To::Left)),
        'f' => Some(Key::Move(To::Right)),
        'p' => Some(Key::Recall(Way::Earlier)),
        'n' => Some(Key::Recall(Way::Later)),
        'u' => Some(Key::Erase(To::Start)),
        'k' => Some(Key::Erase(To::End)),
        'w' => Some(Key::Erase(To::WordLeft)),
        'h' => Some(Key::Erase(To::Left)),
        _ => None,
    }
}

fn with_alt(letter: char) -> Option<Key> {
    match letter {
        'b' => Some(Key::Move(To::WordLeft)),
        'f' => Some(Key::Move(To::WordRight)),
        'd' => Some(Key::Erase(To::WordRight)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_what_they_mean() {
        let check = |code, modifiers, expected: Option<Key>| {
            let read = read(Event::Key(KeyEvent::new(code, modifiers)));
            assert_eq!(read, expected.map(Input::Key), "{code:?} {modifiers:?}");
        };
        let none = KeyModifiers::NONE;
        let control = KeyModifiers::CONTROL;
        let alt = KeyModifiers::ALT;
        check(KeyCode::Char('d'), none, Some(Key::Letter('d')));
        check(KeyCode::Char('D'), KeyModifiers::SHIFT, Some(Key::Letter('D')));
        check(KeyCode::Char('j'), control, Some(Key::Newline));
        check(KeyCode::Char('c'), control, Some(Key::Interrupt));
        check(KeyCode::Char('b'), alt, Some(Key::Move(To::WordLeft)));
        check(KeyCode::Char('x'), control, None);
        check(KeyCode::Enter, none, Some(Key::Enter));
        check(KeyCode::F(2), none, Some(Key::Pane(Pane::Function(2))));
        check(KeyCode::PageUp, none, Some(Key::Pane(Pane::Page(Way::Earlier))));
        assert_eq!(
            read(Event::Paste("a\r\nb\rc".to_owned())),
            Some(Input::Key(Key::Pasted("a\nb\nc".to_owned())))
        );
        assert_eq!(read(Event::FocusLost), None);
    }
}
