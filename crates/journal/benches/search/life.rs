//! A life with words in it, as people use them.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::path::Path;

use domain::dice::Dice;
use journal::Paths;
use rusqlite::Connection;
use tempfile::TempDir;
use testkit::long_life;

/// Words that are said often, words that are said seldom, and all that is between them.
const WORDS: u64 = 30_000;

/// A beginning that half of all entries have, a common word, usual ones, rare ones, several, and one nobody said.
pub const LOOKED_FOR: [&str; 10] = [
    "the",
    "re",
    "t",
    "conta",
    "inmo",
    "lisothe",
    "verconre",
    "contra the re",
    "delisoinpertra be",
    "nobodysaidthis",
];

/// A life of so many entries.
pub fn lay_out(entries: u64) -> TempDir {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    long_life::lay_out(dir.path(), entries).unwrap();
    talk(&Paths::new(dir.path()).database(), entries);
    dir
}

/// Gives the life words as people use them: the word of rank `n` is said `n` times as seldom as the first one.
fn talk(path: &Path, entries: u64) {
    let mut connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;").unwrap();
    let transaction = connection.transaction().unwrap();
    transaction.execute_batch("INSERT INTO words (words) VALUES ('delete-all');").unwrap();
    let mut dice = Dice::new(7);
    {
        let mut word = transaction.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)").unwrap();
        let mut body = transaction.prepare("UPDATE entries SET body = ? WHERE id = ?").unwrap();
        for id in 1..=entries {
            let text = (0..24).map(|_| spelled(rank(&mut dice))).collect::<Vec<_>>().join(" ");
            word.execute((id, &text)).unwrap();
            body.execute((said(id, &text), id)).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// What was said as it is kept, by the human and the assistant in turn.
fn said(id: u64, text: &str) -> String {
    match (id % 10_000, id % 2) {
        (1, _) => format!("{{\"text\":\"{text}\"}}"),
        (_, 1) => format!("{{\"preface\":\"\",\"text\":\"{text}\"}}"),
        (_, _) => format!("{{\"blocks\":[{{\"text\":\"{text}\"}}]}}"),
    }
}

fn rank(dice: &mut Dice) -> u64 {
    let roll = u64::from_str_radix(&dice.id8(), 16).unwrap() as f64 / f64::from(u32::MAX);
    (WORDS as f64).powf(roll) as u64
}

/// A word for `rank`, in which beginnings are shared as they are in real words.
fn spelled(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "the", "con", "ta", "re", "in", "mo", "de", "li", "per", "so", "ver", "na", "tra", "be", "cu", "ing",
    ];
    let mut word = String::new();
    let mut left = rank;
    loop {
        word += SYLLABLES[(left % 16) as usize];
        left /= 16;
        if left == 0 {
            return word;
        }
    }
}
