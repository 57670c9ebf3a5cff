//! Randomised tests of the job file scanner with all kinds of file changes.

mod desk;
mod shelves;

use std::collections::{BTreeMap, BTreeSet};

use desk::Desk;
use domain::dice::Dice;
use domain::schedule::FileNews;
use shelves::{good, told};

const FILES: [&str; 8] = ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md", "g.md", "h.md"];
const IDS: [&str; 4] = ["mail", "notes", "news", "call"];

fn one_of<T: Copy>(dice: &mut Dice, choices: &[T]) -> T {
    choices[usize::try_from(dice.roll() % choices.len() as u64).unwrap_or(0)]
}

/// Content of a file, as known to the test.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Good {
        id: &'static str,
        words: String,
    },
    /// Invalid, but with a readable id.
    Signed {
        id: &'static str,
        words: String,
    },
    /// Without a readable id.
    Illegible {
        words: String,
    },
}

impl Content {
    fn any(dice: &mut Dice) -> Self {
        let id = one_of(dice, &IDS);
        let words = format!("Words {}.", dice.roll() % 4);
        match dice.roll() % 4 {
            0 | 1 => Self::Good { id, words },
            2 => Self::Signed { id, words },
            _ => Self::Illegible { words },
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Good { id, words } => good(id, words),
            Self::Signed { id, words } => format!("---\nid: {id}\ncron: {words}\n---\nx\n"),
            Self::Illegible { words } => words.clone(),
        }
    }
}

/// The expected plans, computed from all files.
#[derive(Default)]
struct Model {
    files: BTreeMap<&'static str, Content>,
    /// The last valid content of each file.
    last: BTreeMap<&'static str, (&'static str, String)>,
    plan: BTreeMap<&'static str, (&'static str, String)>,
}

impl Model {
    fn change(&mut self, dice: &mut Dice, desk: &Desk) -> &'static str {
        let file = one_of(dice, &FILES);
        let other = one_of(dice, &FILES);
        let path = |file: &str| format!("routines/{file}");
        match dice.roll() % 6 {
            0 => {
                self.files.remove(file);
                desk.remove(&path(file));
            }
            1 if file != other => {
                if let Some(content) = self.files.remove(file) {
                    self.files.insert(other, content);
                    desk.rename(&path(file), &path(other));
                }
            }
            2 => {
                if let Some(content) = self.files.get(file).cloned() {
                    desk.write(&path(other), &content.text());
                    self.files.insert(other, content);
                }
            }
            _ => {
                let content = Content::any(dice);
                desk.write(&path(file), &content.text());
                self.files.insert(file, content);
            }
        }
        other
    }

    fn reckon(&mut self) {
        self.last.retain(|file, _| self.files.contains_key(file));
        for (file, content) in &self.files {
            if let Content::Good { id, words } = content {
                self.last.insert(file, (id, words.clone()));
            }
        }
        for (id, (_, words)) in &self.plan {
            let said = |content: &Content| matches!(content, Content::Signed { id: said, .. } if said == id);
            let heir =
                self.files.iter().find(|(file, content)| said(content) && !self.last.contains_key(*file));
            if let Some((heir, _)) = heir.filter(|_| !self.last.values().any(|(held, _)| held == id)) {
                self.last.insert(heir, (id, words.clone()));
            }
        }
        self.plan.clear();
        for (file, (id, words)) in self.last.iter().rev() {
            self.plan.insert(id, (file, words.clone()));
        }
    }

    fn broken(&self) -> BTreeSet<String> {
        let counts = |file: &str| self.plan.values().any(|(first, _)| *first == file);
        let fine = |file: &str, content: &Content| matches!(content, Content::Good { .. }) && counts(file);
        self.files
            .iter()
            .filter(|(file, content)| !fine(file, content))
            .map(|(file, _)| format!("routines/{file}"))
            .collect()
    }

    fn planned(&self) -> BTreeMap<String, (String, String)> {
        let line = |(id, (file, words)): (&&str, &(&str, String))| {
            (format!("routine:{id}"), (format!("routines/{file}"), words.clone()))
        };
        self.plan.iter().map(line).collect()
    }
}

/// The state that follows from the news alone.
#[derive(Default)]
struct Reader {
    planned: BTreeMap<String, (String, String)>,
    broken: BTreeMap<String, String>,
}

impl Reader {
    fn read(&mut self, news: &[FileNews]) {
        for news in news {
            match news {
                FileNews::Plans(planned) => {
                    let new = (planned.file.clone(), planned.message().to_string());
                    let before = self.planned.insert(planned.source().to_string(), new.clone());
                    assert_ne!(before, Some(new), "told twice");
                }
                FileNews::Gone(source) => assert!(self.planned.remove(&source.to_string()).is_some()),
                FileNews::Broken { file, why, .. } => {
                    self.broken.insert(file.clone(), why.clone());
                }
                FileNews::Held { file, why, .. } => panic!("{file} {why}"),
                FileNews::Mended(file) => assert!(self.broken.remove(file).is_some(), "{file}"),
            }
        }
    }
}

/// A6, DD-34, RP-29, SC-3: after any changes both the plans and the news correspond to all files
/// together.
#[test]
fn the_plan_is_what_the_files_say_whatever_is_done_to_them() {
    let mut steps = 0;
    for seed in 0..25 {
        let mut dice = Dice::new(seed);
        let mut desk = Desk::new();
        let mut model = Model::default();
        let mut reader = Reader::default();
        while steps < (seed + 1) * 400 {
            for _ in 0..=dice.roll() % 3 {
                model.change(&mut dice, &desk);
                steps += 1;
            }
            desk.pass(i64::try_from(dice.roll() % 3_000).unwrap_or(0));
            let news = desk.settled();
            reader.read(&news);
            model.reckon();
            let context = || format!("seed {seed}, step {steps}: {:?}\n{}", model.files, told(&news));
            assert_eq!(reader.planned, model.planned(), "{}", context());
            assert_eq!(
                reader.broken.keys().cloned().collect::<BTreeSet<_>>(),
                model.broken(),
                "{}",
                context()
            );
        }
    }
    assert!(steps >= 10_000);
}

/// A6: scanning only the changed files has the same result as scanning all files.
#[test]
fn looking_at_changed_files_alone_is_enough() {
    for seed in 100..140 {
        let mut dice = Dice::new(seed);
        let mut desk = Desk::new();
        let mut model = Model::default();
        let mut reader = Reader::default();
        for _ in 0..100 {
            let before = desk.disk.files();
            model.change(&mut dice, &desk);
            let after = desk.disk.files();
            let changed = FILES.map(|file| format!("routines/{file}"));
            let changed = changed.iter().filter(|file| {
                let path = std::path::Path::new("/data").join(file);
                before.get(&path) != after.get(&path)
            });
            for file in changed {
                reader.read(&desk.look_at(file));
            }
            desk.pass(2_000);
            reader.read(&desk.book.look_at(&[], desk.now));
            desk.pass(2_000);
            reader.read(&desk.book.look_at(&[], desk.now));
            model.reckon();
            assert_eq!(reader.planned, model.planned(), "seed {seed}: {:?}", model.files);
            assert_eq!(reader.broken.keys().cloned().collect::<BTreeSet<_>>(), model.broken(), "seed {seed}");
        }
    }
}

/// A file with an error in a known line and key.
fn mistaken(dice: &mut Dice) -> (String, usize, &'static str) {
    let wrong = [
        ("cron", "cron: 61 * * * *"),
        ("cron", "cron: every day"),
        ("background", "background: perhaps"),
        ("allow-ping", "allow_ping: 7"),
        ("update-main-session", "update-main-session: loudly"),
        ("skills", "skills: one"),
        ("session", "session: weekly"),
        ("if-missed", "if_missed: later"),
        ("overlap", "overlap: both"),
        ("paused", "paused: soon"),
        ("until", "until: someday"),
        ("timezone", "timezone: Mars/Olympus"),
    ];
    let (key, line) = one_of(dice, &wrong);
    let mut lines = vec!["id: mine".to_owned(), "mood: [calm]".to_owned(), "# a comment".to_owned()];
    if key != "cron" {
        lines.push("cron: 0 9 * * *".to_owned());
    }
    let place = usize::try_from(dice.roll()).unwrap_or(0) % (lines.len() + 1);
    lines.insert(place, line.to_owned());
    (format!("---\n{}\n---\nDo it.\n", lines.join("\n")), place + 2, key)
}

/// A randomly modified text.
fn scrambled(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = mistaken(dice).0.into_bytes();
    for _ in 0..=dice.roll() % 8 {
        let at = usize::try_from(dice.roll()).unwrap_or(0) % (bytes.len() + 1);
        match dice.roll() % 4 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, u8::try_from(dice.roll() % 256).unwrap_or(0)),
            2 => bytes
                .splice(at..at, one_of(dice, &["---\n", "{", "[", "\"", "&a *a", "\t", ": "]).bytes())
                .for_each(drop),
            _ => bytes.drain(at..(at + 5).min(bytes.len())).for_each(drop),
        }
    }
    bytes
}

/// G1, DD-27: of ten thousand malformed files each is reported once with its line, key and reason,
/// and the next valid version is accepted.
#[test]
fn every_malformed_file_is_named_once() {
    let mut dice = Dice::new(7);
    let mut desk = Desk::new();
    let mut expected = BTreeMap::new();
    for n in 0..5_000 {
        let (text, line, key) = mistaken(&mut dice);
        desk.write(&format!("routines/known-{n}.md"), &text);
        expected.insert(format!("routines/known-{n}.md"), format!("line {line}: `{key}`: "));
        desk.disk.put(format!("/data/routines/any-{n}.md"), &scrambled(&mut dice));
    }
    desk.pass(2_000);
    let mut reader = Reader::default();
    let news = desk.look();
    let named = news.iter().filter(|news| matches!(news, FileNews::Broken { .. })).count();
    reader.read(&news);
    assert_eq!(named, reader.broken.len(), "no file is named twice");
    for (file, begins) in &expected {
        let why = reader.broken.get(file).map(String::as_str).unwrap_or_default();
        assert!(why.starts_with(begins), "{file}: {why}");
    }
    assert_eq!(reader.broken.len() + reader.planned.len(), 10_000);
    desk.pass(5_000);
    assert_eq!(told(&desk.look()), "");
    for n in 0..5_000 {
        desk.write(&format!("routines/known-{n}.md"), &good(&format!("known-{n}"), "Do it."));
        desk.write(&format!("routines/any-{n}.md"), &good(&format!("any-{n}"), "Do it."));
    }
    reader.read(&desk.look());
    assert_eq!((reader.broken.len(), reader.planned.len()), (0, 10_000));
}

/// G2, SC-5: a few invalid files remove no plan of two hundred valid jobs.
#[test]
fn bad_files_among_good_ones_take_nobody_away() {
    let mut dice = Dice::new(3);
    for bad in 1..=50 {
        let mut desk = Desk::new();
        for n in 0..200 {
            desk.write(&format!("routines/{n:03}.md"), &good(&format!("job-{n}"), "Do it."));
        }
        for n in 0..bad {
            let text = mistaken(&mut dice).0;
            desk.write(&format!("routines/{:03}-bad.md", n * 4), &text);
        }
        desk.look();
        assert_eq!(desk.book.planned().count(), 200, "{bad} bad ones");
    }
}

/// B8: ten thousand saves in all ways that editors use, with scans at any moment: no file is
/// reported as invalid or gone, and the last save counts.
#[test]
fn an_editor_that_saves_is_never_complained_about() {
    let mut dice = Dice::new(11);
    let mut desk = Desk::new();
    desk.write("routines/mail.md", &good("mail", "Version 0."));
    desk.settled();
    for version in 1..=10_000 {
        let text = good("mail", &format!("Version {version}."));
        let cut = usize::try_from(dice.roll()).unwrap_or(0) % text.len();
        let file = "routines/mail.md";
        let swap = "routines/.mail.md.swp";
        let steps: [&dyn Fn(&Desk); 3] = match dice.roll() % 4 {
            0 => [&|desk| desk.write(file, ""), &|desk| desk.write(file, &text[..cut]), &|desk| {
                desk.write(file, &text)
            }],
            1 => [&|desk| desk.write(swap, &text[..cut]), &|desk| desk.write(swap, &text), &|desk| {
                desk.rename(swap, file)
            }],
            2 => [
                &|desk| desk.rename(file, "routines/mail.md~"),
                &|desk| desk.write(file, &text[..cut]),
                &|desk| desk.write(file, &text),
            ],
            _ => [&|desk| desk.remove(file), &|desk| desk.touch(swap), &|desk| desk.write(file, &text)],
        };
        let mut news = Vec::new();
        for step in steps {
            step(&desk);
            news.extend(desk.look());
            desk.pass(i64::try_from(dice.roll() % 80).unwrap_or(0));
            news.extend(if dice.roll().is_multiple_of(2) { desk.look_at(file) } else { desk.look() });
        }
        // A file that is truncated within its body is valid.
        assert!(news.iter().all(|news| matches!(news, FileNews::Plans(_))), "{}", told(&news));
        assert_eq!(desk.words("mail"), Some(format!("Version {version}.")));
        desk.pass(i64::try_from(dice.roll() % 1_000).unwrap_or(0));
    }
}
