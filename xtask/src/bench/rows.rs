//! Promises about speed and size, and how each is measured.
//!
//! A row without a probe is shown as not measured, so that its target is not taken for a result.

use super::amount::{Amount, Target, Unit, count, kb, mb, ms, percent, us};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    /// The promised value, if any.
    pub target: Option<Target>,
    /// The way to measure it.
    pub probe: Probe,
}

impl Row {
    /// Returns whether a program measures it, so that no divan bench has to run.
    pub fn is_measured_by_a_program(&self) -> bool {
        matches!(self.probe, Probe::Program(..))
    }
}

/// The way to measure a row.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// Not measured yet.
    Unmeasured,
    /// The median of the divan bench with this name.
    Divan(&'static str),
    /// The median of one divan bench divided by that of another, which cancels noise.
    Ratio(&'static str, &'static str),
    /// A program, run in the root of the repository, and the function that reads the number from
    /// its output.
    Program(&'static [&'static str], ReadAmount),
}

/// Reads the amount from the output of a program.
pub type ReadAmount = fn(&str) -> Option<Amount>;

/// Measures the release binary from outside.
const FOOTPRINT: &[&str] = &["cargo", "xtask", "footprint"];

/// Measures one turn through the whole application. The command equals that of the bench, so it
/// runs once.
const TURN: &[&str] = &["cargo", "bench", "--quiet", "--workspace", "--bench", "turn"];

/// Counts the tokens that every request needs before the first message.
const OVERHEAD: &[&str] = &["cargo", "run", "--quiet", "-p", "tools", "--example", "overhead"];

/// Measures forks that are driven like in the application.
const FORKS: &[&str] = &["cargo", "bench", "--quiet", "--workspace", "--bench", "forks"];

/// Measures the start delay of jobs in real time.
const JITTER: &[&str] = &["cargo", "bench", "--quiet", "--workspace", "--bench", "jitter"];

/// Measures the display delay of reminders under faults, in real time.
const LATENESS: &[&str] = &["cargo", "bench", "--quiet", "--workspace", "--bench", "lateness"];

/// Searches a generated journal of a million entries.
const SEARCH: &[&str] = &[
    "env",
    "OLLIM_SEARCH_ENTRIES=1000000",
    "cargo",
    "bench",
    "--quiet",
    "--workspace",
    "--bench",
    "search",
    "--",
    "nothing else",
];

/// Sends endless model replies to the program.
const REPLIES: &[&str] = &[
    "cargo",
    "test",
    "--quiet",
    "--release",
    "--package",
    "ollim-bot",
    "--test",
    "reply_bounds",
    "--",
    "--nocapture",
];

/// Measures the share of a long conversation that is read from the model's cache.
const CACHED_SHARE: &[&str] = &[
    "cargo",
    "test",
    "--quiet",
    "--package",
    "models",
    "--test",
    "wires",
    "cached_share",
    "--",
    "--nocapture",
];

/// Measures in virtual time when the first words of a streamed answer are sent to Discord.
const FIRST_WORDS: &[&str] = &[
    "cargo",
    "test",
    "--quiet",
    "--package",
    "ollim-bot",
    "--test",
    "dm",
    "first_words",
    "--",
    "--nocapture",
];

/// Measures in virtual time when simultaneous background runs reach the model.
const BACKGROUND_RUNS: &[&str] = &[
    "cargo",
    "test",
    "--quiet",
    "--package",
    "engine",
    "--test",
    "calls",
    "background_runs",
    "--",
    "--nocapture",
];

/// All rows.
pub const ROWS: &[Row] = &[
    row(
        "start to ready, empty",
        Target::AtMost(ms(20.0)),
        program(FOOTPRINT, |said| number_after(said, "start to ready, empty: ", Unit::Time)),
    ),
    row(
        "start to ready, empty, in memory",
        Target::AtMost(ms(20.0)),
        program(FOOTPRINT, |said| number_after(said, "start to ready, empty, in memory: ", Unit::Time)),
    ),
    row(
        "start to ready, empty, with a model's key",
        Target::AtMost(ms(50.0)),
        program(FOOTPRINT, |said| number_after(said, "start to ready, empty, with a key: ", Unit::Time)),
    ),
    row(
        "start to ready, 1 M entries",
        Target::AtMost(ms(100.0)),
        program(FOOTPRINT, |said| number_after(said, "start to ready, 1 M entries: ", Unit::Time)),
    ),
    row(
        "idle memory",
        Target::AtMost(mb(15.0)),
        program(FOOTPRINT, |said| number_after(said, "idle memory: ", Unit::Size)),
    ),
    row(
        "idle memory after 100 requests, page open",
        Target::AtMost(mb(20.0)),
        program(FOOTPRINT, |said| number_after(said, "idle memory, used: ", Unit::Size)),
    ),
    row(
        "idle memory, in Discord and page open",
        Target::AtMost(mb(20.0)),
        program(FOOTPRINT, |said| number_after(said, "idle memory, connected: ", Unit::Size)),
    ),
    row(
        "memory at most, with replies of a model that does not stop",
        Target::AtMost(mb(60.0)),
        program(REPLIES, |said| number_after(said, "memory at most: ", Unit::Size)),
    ),
    row(
        "health at 1 M entries",
        Target::AtMost(ms(5.0)),
        program(FOOTPRINT, |said| number_after(said, "health, 1 M entries: ", Unit::Time)),
    ),
    row(
        "page to its first byte",
        Target::AtMost(ms(5.0)),
        program(FOOTPRINT, |said| number_after(said, "page to its first byte: ", Unit::Time)),
    ),
    row(
        "capture of plain words until it is stored, p95",
        Target::AtMost(ms(50.0)),
        program(FOOTPRINT, |said| number_after(said, "capture, p95: ", Unit::Time)),
    ),
    row(
        "plain words read by the offline brain",
        Target::AtMost(ms(5.0)),
        Probe::Divan("offline_brain_reads"),
    ),
    row(
        "fork of 10,000 entries, to the model's first byte",
        Target::AtMost(ms(5.0)),
        program(FORKS, |said| number_after(said, "fork of 10000 to the wire, median: ", Unit::Time)),
    ),
    row(
        "fork of 10,000 entries, to the model's first byte, p99",
        Target::AtMost(ms(5.0)),
        program(FORKS, |said| number_after(said, "fork of 10000 to the wire, p99: ", Unit::Time)),
    ),
    row("fork of 10,000 entries, in the store", Target::AtMost(us(50.0)), Probe::Divan("fork/10000")),
    row(
        "fork of 100,000 entries over one of 100",
        Target::AtMost(count(1.5)),
        Probe::Ratio("fork/100000", "fork/100"),
    ),
    row("stepping aside at 100,000 entries", Target::AtMost(ms(1.0)), Probe::Divan("step_aside/100000")),
    row("saving a fork at 100,000 entries", Target::AtMost(ms(1.0)), Probe::Divan("save/100000")),
    row("undo at 100,000 entries", Target::AtMost(ms(1.0)), Probe::Divan("undo/100000")),
    row(
        "main reads ten updates at 100,000 entries",
        Target::AtMost(ms(2.0)),
        Probe::Divan("say_with_ten_updates/100000"),
    ),
    row(
        "a week of a calendar of 10,000 events",
        Target::AtMost(ms(50.0)),
        Probe::Divan("a_week_of_the_calendar/10000"),
    ),
    row("a command starts in its cage", Target::AtMost(ms(25.0)), Probe::Divan("caged_shell")),
    row("first look at 100,000 job files", Target::AtMost(ms(2000.0)), Probe::Divan("first_look/100000")),
    row("one changed job file of 100,000", Target::AtMost(ms(10.0)), Probe::Divan("one_changed_file/100000")),
    row(
        "one time of 100,000 plans comes, decided",
        Target::AtMost(ms(10.0)),
        Probe::Divan("one_time_of_100_000_plans_comes"),
    ),
    row(
        "1,000 times come at once, all decided",
        Target::AtMost(ms(1000.0)),
        Probe::Divan("a_thousand_times_come_at_once"),
    ),
    row(
        "memory of one of 1,000 background runs",
        Target::AtMost(kb(100.0)),
        program(FORKS, |said| number_after(said, "memory of one of 1000 forks: ", Unit::Size)),
    ),
    row(
        "message in to model request out at 10,000 entries, p99",
        Target::AtMost(ms(5.0)),
        program(TURN, |said| {
            number_after(said, "message in to model request out at 10000, p99: ", Unit::Time)
        }),
    ),
    row(
        "message in to model request out at 10,000 entries",
        Target::AtMost(ms(5.0)),
        program(TURN, |said| {
            number_after(said, "message in to model request out at 10000, median: ", Unit::Time)
        }),
    ),
    row(
        "message in to model request out at 1,000 entries, p99",
        Target::AtMost(ms(5.0)),
        program(TURN, |said| {
            number_after(said, "message in to model request out at 1000, p99: ", Unit::Time)
        }),
    ),
    row_without_target(
        "first message after a start to model request out at 10,000 entries",
        program(TURN, |said| {
            number_after(said, "first message in to model request out at 10000, median: ", Unit::Time)
        }),
    ),
    row(
        "model delta to page",
        Target::AtMost(ms(1.0)),
        program(TURN, |said| number_after(said, "model delta to page at 10000, median: ", Unit::Time)),
    ),
    row(
        "offline reply, with the disk, p99",
        Target::AtMost(ms(5.0)),
        program(TURN, |said| number_after(said, "offline reply with the disk, p99: ", Unit::Time)),
    ),
    row(
        "fire jitter under 1,000 runs, p99",
        Target::AtMost(ms(20.0)),
        program(JITTER, |said| {
            number_after(said, "fire jitter under 1000 runs in memory, p99: ", Unit::Time)
        }),
    ),
    row_without_target(
        "fire jitter under 1,000 runs, with the disk, p99",
        program(JITTER, |said| {
            number_after(said, "fire jitter under 1000 runs with the disk, p99: ", Unit::Time)
        }),
    ),
    row(
        "the last of 900 fires at once",
        Target::AtMost(ms(1000.0)),
        program(JITTER, |said| number_after(said, "the last of 900 fires at once in memory: ", Unit::Time)),
    ),
    row(
        "first words of an answer of 6 s in Discord",
        Target::AtMost(ms(1000.0)),
        program(FIRST_WORDS, |said| {
            number_after(said, "first words of an answer of 6 s in Discord: ", Unit::Time)
        }),
    ),
    row(
        "the last of 10 background runs reaches the model",
        Target::AtMost(ms(200.0)),
        program(BACKGROUND_RUNS, |said| {
            number_after(said, "the last of 10 background runs reaches the model: ", Unit::Time)
        }),
    ),
    row(
        "100 background runs of 6 s are answered",
        Target::AtMost(ms(7000.0)),
        program(BACKGROUND_RUNS, |said| {
            number_after(said, "100 background runs of 6 s are answered: ", Unit::Time)
        }),
    ),
    row(
        "reminder during no trouble, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during no trouble, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during no model, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during no model, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a dead model, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a dead model, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a silent model, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a silent model, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a stream of pings, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a stream of pings, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a long answer, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a long answer, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a compaction, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a compaction, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a tool that does not end, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(
                said,
                "reminder during a tool that does not end, page and terminal, p99: ",
                Unit::Time,
            )
        }),
    ),
    row(
        "reminder during an open approval, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during an open approval, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a full outbox, page and terminal, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a full outbox, page and terminal, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during no trouble, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during no trouble, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during no model, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| number_after(said, "reminder during no model, Discord, p99: ", Unit::Time)),
    ),
    row(
        "reminder during a dead model, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a dead model, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a silent model, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a silent model, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a stream of pings, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a stream of pings, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a long answer, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a long answer, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a compaction, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a compaction, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during a tool that does not end, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during a tool that does not end, Discord, p99: ", Unit::Time)
        }),
    ),
    row(
        "reminder during an open approval, Discord, p99",
        Target::AtMost(ms(50.0)),
        program(LATENESS, |said| {
            number_after(said, "reminder during an open approval, Discord, p99: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a full outbox, Discord, p99",
        program(LATENESS, |said| {
            number_after(said, "reminder during a full outbox, Discord, p99: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during no trouble, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during no trouble, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during no model, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during no model, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a dead model, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a dead model, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a silent model, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a silent model, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a stream of pings, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a stream of pings, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a long answer, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a long answer, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a compaction, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a compaction, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a tool that does not end, page and terminal, median",
        program(LATENESS, |said| {
            number_after(
                said,
                "reminder during a tool that does not end, page and terminal, median: ",
                Unit::Time,
            )
        }),
    ),
    row_without_target(
        "reminder during an open approval, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during an open approval, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a full outbox, page and terminal, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a full outbox, page and terminal, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during no trouble, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during no trouble, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during no model, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during no model, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a dead model, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a dead model, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a silent model, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a silent model, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a stream of pings, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a stream of pings, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a long answer, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a long answer, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a compaction, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a compaction, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a tool that does not end, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a tool that does not end, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during an open approval, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during an open approval, Discord, median: ", Unit::Time)
        }),
    ),
    row_without_target(
        "reminder during a full outbox, Discord, median",
        program(LATENESS, |said| {
            number_after(said, "reminder during a full outbox, Discord, median: ", Unit::Time)
        }),
    ),
    row(
        "a week of 60 routines, simulated",
        Target::AtMost(ms(5000.0)),
        program(FOOTPRINT, |said| number_after(said, "a week of sixty routines, simulated: ", Unit::Time)),
    ),
    row(
        "history search over 1 M entries, p99",
        Target::AtMost(ms(20.0)),
        program(SEARCH, |said| number_after(said, "history search, p99: ", Unit::Time)),
    ),
    row("a call of a tool is decided upon", Target::AtMost(us(20.0)), Probe::Divan("call_is_decided_upon")),
    cached_row("cached share of a main turn's input", |said| cached_share(said, "a main turn")),
    cached_row("cached share of a fork's first input", |said| cached_share(said, "a fork")),
    cached_row("cached share of a background fork's input", |said| cached_share(said, "a background fork")),
    row_without_target(
        "cached share of the first input after a compaction",
        program(CACHED_SHARE, |said| cached_share(said, "a compaction")),
    ),
    row(
        "fixed prompt overhead, tokens",
        Target::AtMost(count(5000.0)),
        program(OVERHEAD, |said| number_after(said, "fixed prompt overhead: ", Unit::Count)),
    ),
    row(
        "release binary",
        Target::AtMost(mb(25.0)),
        program(FOOTPRINT, |said| number_after(said, "release binary: ", Unit::Size)),
    ),
];

const fn row(name: &'static str, target: Target, probe: Probe) -> Row {
    Row { name, target: Some(target), probe }
}

/// Creates a row without a target.
const fn row_without_target(name: &'static str, probe: Probe) -> Row {
    Row { name, target: None, probe }
}

const fn program(words: &'static [&'static str], read: ReadAmount) -> Probe {
    Probe::Program(words, read)
}

const fn cached_row(name: &'static str, read: ReadAmount) -> Row {
    row(name, Target::AtLeast(percent(98.0)), program(CACHED_SHARE, read))
}

fn cached_share(output: &str, of: &str) -> Option<Amount> {
    number_after(output, &format!("cached share of {of}: "), Unit::Percent)
}

/// Returns the number after `words` in `output`, for programs that print `words: 12.5`.
pub fn number_after(output: &str, words: &str, unit: Unit) -> Option<Amount> {
    let (_, rest) = output.split_once(words)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    Some(Amount { value: rest[..end].parse().ok()?, unit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_read_after_its_words() {
        assert_eq!(
            number_after("rss: 1200 kB\n", "rss: ", Unit::Size).map(|amount| amount.value),
            Some(1200.0)
        );
        assert_eq!(number_after("rss: none", "rss: ", Unit::Size), None);
        assert_eq!(number_after("nothing", "rss: ", Unit::Size), None);
    }

    #[test]
    fn row_names_are_unique() {
        let mut names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }
}
