//! Randomised tests of the job file scanner with all kinds of file changes.

mod job_fixture;
mod job_texts;

use std::collections::{BTreeMap, BTreeSet};

use domain::rng::Rng;
use domain::schedule::JobFileChange;
use job_fixture::JobFixture;
use job_texts::{news_lines, valid_routine};

const FILES: [&str; 8] = ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md", "g.md", "h.md"];
const IDS: [&str; 4] = ["mail", "notes", "news", "call"];

fn one_of<T: Copy>(dice: &mut Rng, choices: &[T]) -> T {
    choices[usize::try_from(dice.next_u64() % choices.len() as u64).unwrap_or(0)]
}

/// Content of a file, as known to the test.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Valid {
        id: &'static str,
        words: String,
    },
    /// Invalid, but with a readable id.
    InvalidWithId {
        id: &'static str,
        words: String,
    },
    /// Without a readable id.
    Unreadable {
        words: String,
    },
}

impl Content {
    fn random(dice: &mut Rng) -> Self {
        let id = one_of(dice, &IDS);
        let words = format!("Words {}.", dice.next_u64() % 4);
        match dice.next_u64() % 4 {
            0 | 1 => Self::Valid { id, words },
            2 => Self::InvalidWithId { id, words },
            _ => Self::Unreadable { words },
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Valid { id, words } => valid_routine(id, words),
            Self::InvalidWithId { id, words } => format!("---\nid: {id}\ncron: {words}\n---\nx\n"),
            Self::Unreadable { words } => words.clone(),
        }
    }
}

/// The expected plans, computed from all files.
#[derive(Default)]
struct ExpectedPlans {
    files: BTreeMap<&'static str, Content>,
    /// The last valid content of each file.
    last: BTreeMap<&'static str, (&'static str, String)>,
    plan: BTreeMap<&'static str, (&'static str, String)>,
}

impl ExpectedPlans {
    fn change(&mut self, dice: &mut Rng, desk: &JobFixture) -> &'static str {
        let file = one_of(dice, &FILES);
        let other = one_of(dice, &FILES);
        let path = |file: &str| format!("routines/{file}");
        match dice.next_u64() % 6 {
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
                let content = Content::random(dice);
                desk.write(&path(file), &content.text());
                self.files.insert(file, content);
            }
        }
        other
    }

    fn compute(&mut self) {
        self.last.retain(|file, _| self.files.contains_key(file));
        for (file, content) in &self.files {
            if let Content::Valid { id, words } = content {
                self.last.insert(file, (id, words.clone()));
            }
        }
        for (id, (_, words)) in &self.plan {
            let said =
                |content: &Content| matches!(content, Content::InvalidWithId { id: said, .. } if said == id);
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
        let fine = |file: &str, content: &Content| matches!(content, Content::Valid { .. }) && counts(file);
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
struct NewsReader {
    planned: BTreeMap<String, (String, String)>,
    broken: BTreeMap<String, String>,
}

impl NewsReader {
    fn apply(&mut self, news: &[JobFileChange]) {
        for news in news {
            match news {
                JobFileChange::Planned(planned) => {
                    let new = (planned.file.clone(), planned.prompt().to_string());
                    let before = self.planned.insert(planned.source().to_string(), new.clone());
                    assert_ne!(before, Some(new), "told twice");
                }
                JobFileChange::Removed(source) => assert!(self.planned.remove(&source.to_string()).is_some()),
                JobFileChange::Invalid { file, reason: why, .. } => {
                    self.broken.insert(file.clone(), why.clone());
                }
                JobFileChange::Withheld { file, reason: why, .. } => panic!("{file} {why}"),
                JobFileChange::Repaired(file) => assert!(self.broken.remove(file).is_some(), "{file}"),
            }
        }
    }
}

/// A6, DD-34, RP-29, SC-3: after any changes both the plans and the news correspond to all files
/// together.
#[test]
fn plans_correspond_to_the_files_after_any_changes() {
    let mut steps = 0;
    for seed in 0..25 {
        let mut dice = Rng::new(seed);
        let mut desk = JobFixture::new();
        let mut model = ExpectedPlans::default();
        let mut reader = NewsReader::default();
        while steps < (seed + 1) * 400 {
            for _ in 0..=dice.next_u64() % 3 {
                model.change(&mut dice, &desk);
                steps += 1;
            }
            desk.advance(i64::try_from(dice.next_u64() % 3_000).unwrap_or(0));
            let news = desk.scan_settled();
            reader.apply(&news);
            model.compute();
            let context = || format!("seed {seed}, step {steps}: {:?}\n{}", model.files, news_lines(&news));
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
fn scanning_only_changed_files_is_sufficient() {
    for seed in 100..140 {
        let mut dice = Rng::new(seed);
        let mut desk = JobFixture::new();
        let mut model = ExpectedPlans::default();
        let mut reader = NewsReader::default();
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
                reader.apply(&desk.scan_file(file));
            }
            desk.advance(2_000);
            reader.apply(&desk.scanner.scan_paths(&[], desk.now));
            desk.advance(2_000);
            reader.apply(&desk.scanner.scan_paths(&[], desk.now));
            model.compute();
            assert_eq!(reader.planned, model.planned(), "seed {seed}: {:?}", model.files);
            assert_eq!(reader.broken.keys().cloned().collect::<BTreeSet<_>>(), model.broken(), "seed {seed}");
        }
    }
}

/// A file with an error in a known line and key.
fn invalid_file(dice: &mut Rng) -> (String, usize, &'static str) {
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
    let place = usize::try_from(dice.next_u64()).unwrap_or(0) % (lines.len() + 1);
    lines.insert(place, line.to_owned());
    (format!("---\n{}\n---\nDo it.\n", lines.join("\n")), place + 2, key)
}

/// A randomly modified text.
fn random_file(dice: &mut Rng) -> Vec<u8> {
    let mut bytes = invalid_file(dice).0.into_bytes();
    for _ in 0..=dice.next_u64() % 8 {
        let at = usize::try_from(dice.next_u64()).unwrap_or(0) % (bytes.len() + 1);
        match dice.next_u64() % 4 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, u8::try_from(dice.next_u64() % 256).unwrap_or(0)),
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
fn every_malformed_file_is_reported_once() {
    let mut dice = Rng::new(7);
    let mut desk = JobFixture::new();
    let mut expected = BTreeMap::new();
    for n in 0..5_000 {
        let (text, line, key) = invalid_file(&mut dice);
        desk.write(&format!("routines/known-{n}.md"), &text);
        expected.insert(format!("routines/known-{n}.md"), format!("line {line}: `{key}`: "));
        desk.disk.put(format!("/data/routines/any-{n}.md"), &random_file(&mut dice));
    }
    desk.advance(2_000);
    let mut reader = NewsReader::default();
    let news = desk.scan();
    let named = news.iter().filter(|news| matches!(news, JobFileChange::Invalid { .. })).count();
    reader.apply(&news);
    assert_eq!(named, reader.broken.len(), "no file is named twice");
    for (file, begins) in &expected {
        let why = reader.broken.get(file).map(String::as_str).unwrap_or_default();
        assert!(why.starts_with(begins), "{file}: {why}");
    }
    assert_eq!(reader.broken.len() + reader.planned.len(), 10_000);
    desk.advance(5_000);
    assert_eq!(news_lines(&desk.scan()), "");
    for n in 0..5_000 {
        desk.write(&format!("routines/known-{n}.md"), &valid_routine(&format!("known-{n}"), "Do it."));
        desk.write(&format!("routines/any-{n}.md"), &valid_routine(&format!("any-{n}"), "Do it."));
    }
    reader.apply(&desk.scan());
    assert_eq!((reader.broken.len(), reader.planned.len()), (0, 10_000));
}

/// G2, SC-5: a few invalid files remove no plan of two hundred valid jobs.
#[test]
fn invalid_files_remove_no_plans_of_valid_ones() {
    let mut dice = Rng::new(3);
    for bad in 1..=50 {
        let mut desk = JobFixture::new();
        for n in 0..200 {
            desk.write(&format!("routines/{n:03}.md"), &valid_routine(&format!("job-{n}"), "Do it."));
        }
        for n in 0..bad {
            let text = invalid_file(&mut dice).0;
            desk.write(&format!("routines/{:03}-bad.md", n * 4), &text);
        }
        desk.scan();
        assert_eq!(desk.scanner.planned().count(), 200, "{bad} bad ones");
    }
}

/// B8: ten thousand saves in all ways that editors use, with scans at any moment: no file is
/// reported as invalid or gone, and the last save counts.
#[test]
fn saves_of_an_editor_are_never_reported_as_invalid() {
    let mut dice = Rng::new(11);
    let mut desk = JobFixture::new();
    desk.write("routines/mail.md", &valid_routine("mail", "Version 0."));
    desk.scan_settled();
    for version in 1..=10_000 {
        let text = valid_routine("mail", &format!("Version {version}."));
        let cut = usize::try_from(dice.next_u64()).unwrap_or(0) % text.len();
        let file = "routines/mail.md";
        let swap = "routines/.mail.md.swp";
        let steps: [&dyn Fn(&JobFixture); 3] = match dice.next_u64() % 4 {
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
            news.extend(desk.scan());
            desk.advance(i64::try_from(dice.next_u64() % 80).unwrap_or(0));
            news.extend(if dice.next_u64().is_multiple_of(2) { desk.scan_file(file) } else { desk.scan() });
        }
        // A file that is truncated within its body is valid.
        assert!(news.iter().all(|news| matches!(news, JobFileChange::Planned(_))), "{}", news_lines(&news));
        assert_eq!(desk.routine_text("mail"), Some(format!("Version {version}.")));
        desk.advance(i64::try_from(dice.next_u64() % 1_000).unwrap_or(0));
    }
}
