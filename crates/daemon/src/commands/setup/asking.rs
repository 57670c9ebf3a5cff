//! Asking the human before us: lines, and secrets that are not shown. Where nobody can answer, nobody is asked.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use surfaces::terminal::readable;

use crate::exit::Failed;

/// The longest secret that is read.
const LONGEST: u64 = 64 * 1024;

/// How often an answer may be wrong before the section ends.
const TRIES: usize = 3;

/// Why a section did not come to its end.
#[derive(Debug)]
pub enum Ended {
    /// The human left it. That is no failure.
    Left,
    /// It could not be done.
    Failed(Failed),
}

impl From<Failed> for Ended {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// How often an answer was wrong.
#[derive(Debug, Default)]
pub struct Tries(usize);

impl Tries {
    /// Tells why an answer was wrong, so that it can be asked for again; or ends with that, where nobody is asked or it
    /// has been wrong often enough.
    pub fn again(&mut self, asker: &Asker, given: Given<'_>, why: &str) -> Result<(), Ended> {
        self.0 += 1;
        let why = stopped(&as_typed(why));
        if given.is_said() || !asker.can_ask() || self.0 >= TRIES {
            return Err(Failed::NotDone(format!("{why} Nothing was changed.")).into());
        }
        asker.say(&format!("✗ {}\n  once more, or q to leave.", why.trim_end()));
        Ok(())
    }
}

/// Ends a section whose place cannot be reached now: nobody is asked for a new secret because of that. `anew` is what
/// sets up another one all the same.
pub fn unreached(why: &str, anew: &str) -> Ended {
    let why = stopped(why);
    Failed::NotDone(format!("{why} Nothing was changed. To set up another one now, give it: {anew}")).into()
}

/// What a reason that tells of settings calls what was typed or given here.
const TYPED: [(&str, &str); 4] = [
    ("OLLIM_IMAP_URL", "the address"),
    ("OLLIM_CALDAV_URL", "the address"),
    ("put the key into ANTHROPIC_API_KEY instead", "give the key alone, with --key-file FILE"),
    ("put the key into OPENAI_API_KEY instead", "give the key alone, with --key-file FILE"),
];

/// `why` without the names of settings that nobody here has spoken of.
fn as_typed(why: &str) -> String {
    TYPED.iter().fold(why.to_owned(), |why, (name, typed)| why.replace(name, typed))
}

/// `why` with a full stop, unless it ends with one. After an address there is a line's end instead, so that it can be
/// followed as it is.
fn stopped(why: &str) -> String {
    match why.rsplit(' ').next() {
        Some(word) if word.starts_with("https://") => format!("{why}\n "),
        _ if why.ends_with('.') => why.to_owned(),
        _ => format!("{why}."),
    }
}

/// Who asks.
pub struct Asker {
    attended: bool,
}

/// Where a secret comes from, as far as the command line says.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// From this file.
    File(&'a Path),
    /// From stdin.
    Stdin,
    /// Nothing was said: the human is asked.
    Nothing,
}

impl<'a> Given<'a> {
    /// What two arguments say.
    pub fn new((file, stdin): (Option<&'a Path>, bool)) -> Self {
        match (file, stdin) {
            (Some(file), _) => Self::File(file),
            (None, true) => Self::Stdin,
            (None, false) => Self::Nothing,
        }
    }

    /// Whether anything was said.
    pub fn is_said(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

impl Asker {
    /// Somebody who asks if both ends are a terminal.
    pub fn new() -> Self {
        Self { attended: io::stdin().is_terminal() && io::stderr().is_terminal() }
    }

    /// Somebody who never asks.
    pub fn silent() -> Self {
        Self { attended: false }
    }

    /// Whether anybody can be asked.
    pub fn can_ask(&self) -> bool {
        self.attended
    }

    /// Says something beside the questions.
    pub fn say(&self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(io::stderr(), "{}", readable(line));
        }
    }

    /// Says something to who can be asked, and to nobody else.
    pub fn tell(&self, text: &str) {
        if self.attended {
            self.say(text);
        }
    }

    /// A line, without what surrounds it; nothing, if the human has gone.
    pub fn line(&self, question: &str) -> Result<Option<String>, Failed> {
        if !self.attended {
            return Ok(None);
        }
        let _ = write!(io::stderr(), "{question}");
        let _ = io::stderr().flush();
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(line.trim().to_owned())),
        }
    }

    /// What was given, or else a line. `missing` says how to give it where nobody is asked.
    pub fn text(&self, given: Option<&str>, question: &str, missing: &str) -> Result<String, Ended> {
        if let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) {
            return Ok(given.to_owned());
        }
        if !self.attended {
            return Err(Failed::Usage(missing.to_owned()).into());
        }
        self.line(question)?.filter(|answer| !leaves(answer)).ok_or(Ended::Left)
    }

    /// What was given, or else a line, if `check` finds nothing wrong with it: an address that is none is told before
    /// anything else is asked for.
    pub fn address(
        &self,
        given: Option<&str>,
        question: &str,
        missing: &str,
        check: fn(&str) -> Result<(), String>,
    ) -> Result<String, Ended> {
        let mut tries = Tries::default();
        loop {
            let address = self.text(given, question, missing)?;
            let asked = if given.is_some() { Given::Stdin } else { Given::Nothing };
            match check(&address) {
                Ok(()) => return Ok(address),
                Err(why) => tries.again(self, asked, &why)?,
            }
        }
    }

    /// A secret, from where it was said to be, or typed without being shown.
    pub fn secret(&self, given: Given<'_>, question: &str, missing: &str) -> Result<String, Ended> {
        let text = match given {
            Given::File(file) => from_file(file)?,
            Given::Stdin => read_all(io::stdin().lock(), "stdin")?,
            Given::Nothing if self.attended => return self.typed(question)?.ok_or(Ended::Left),
            Given::Nothing => return Err(Failed::Usage(missing.to_owned()).into()),
        };
        match text.trim() {
            "" => Err(Failed::Usage(format!("that was empty. {missing}")).into()),
            secret if secret.lines().count() > 1 => Err(Failed::Usage(
                "that has more than one line, and no secret has. copy it alone.".to_owned(),
            )
            .into()),
            secret => Ok(secret.to_owned()),
        }
    }

    /// A secret that the human types now; nothing, if they only press enter.
    pub fn typed(&self, question: &str) -> Result<Option<String>, Ended> {
        match hidden(question)?.trim() {
            "" => Ok(None),
            answer if leaves(answer) => Err(Ended::Left),
            secret => Ok(Some(secret.to_owned())),
        }
    }
}

/// Whether an answer says that the human wants to leave.
pub fn leaves(answer: &str) -> bool {
    matches!(answer, "" | "q" | "quit" | "exit")
}

fn from_file(file: &Path) -> Result<String, Failed> {
    let opened = std::fs::File::open(file);
    let opened = opened.map_err(|error| Failed::Usage(format!("{}: {error}", file.display())))?;
    read_all(opened, &file.display().to_string())
}

fn read_all(from: impl Read, name: &str) -> Result<String, Failed> {
    let mut bytes = Vec::new();
    from.take(LONGEST).read_to_end(&mut bytes).map_err(|error| Failed::Usage(format!("{name}: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failed::Usage(format!("{name}: that is not text (UTF-8).")))
}

/// A line of which only its length is shown.
fn hidden(question: &str) -> Result<String, Ended> {
    let _ = write!(io::stderr(), "{question}");
    let _ = io::stderr().flush();
    let secret = {
        let _dark = Dark::enter()?;
        typed()
    };
    let _ = writeln!(io::stderr());
    secret
}

/// What is typed until the end of the line, letter by letter.
fn typed() -> Result<String, Ended> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    loop {
        let mut letter = [0];
        if stdin.read(&mut letter).map_err(Failed::from)? == 0 {
            return Err(Ended::Left);
        }
        match letter[0] {
            b'\r' | b'\n' => break,
            // Ctrl+C and Ctrl+D: whoever types them wants to leave, and the terminal is to be as it was.
            0x03 | 0x04 => return Err(Ended::Left),
            0x15 => bytes.clear(),
            0x08 | 0x7f => drop(bytes.pop()),
            letter if letter < 0x20 => {}
            letter => bytes.push(letter),
        }
        // How much was pasted is seen, and nothing of it.
        let _ = write!(io::stderr(), "\u{b7}");
        let _ = io::stderr().flush();
    }
    String::from_utf8(bytes).map_err(|_| Failed::Usage("that is not text (UTF-8).".to_owned()).into())
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Dark(Termios);

impl Dark {
    fn enter() -> Result<Self, Failed> {
        let told = |error: rustix::io::Errno| {
            Failed::NotDone(format!("the terminal cannot be made to hide it: {error}"))
        };
        let before = tcgetattr(io::stdin().as_fd()).map_err(told)?;
        let mut dark = before.clone();
        dark.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &dark).map_err(told)?;
        Ok(Self(before))
    }
}

impl Drop for Dark {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What went wrong and what that means are two sentences, and an address can be followed.
    #[test]
    fn a_reason_ends_before_what_follows_from_it() {
        let check =
            |why: &str, told: &str| match Tries::default().again(&Asker::silent(), Given::Nothing, why) {
                Err(Ended::Failed(failed)) => assert_eq!(failed.to_string(), told),
                other => panic!("{other:?}"),
            };
        check("it broke", "it broke. Nothing was changed.");
        check("it broke.", "it broke. Nothing was changed.");
        check("OLLIM_CALDAV_URL: it is none.", "the address: it is none. Nothing was changed.");
        check(
            "it looks like https://api.anthropic.com",
            "it looks like https://api.anthropic.com\n  Nothing was changed.",
        );
    }
}
