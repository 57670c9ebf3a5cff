//! Status of running work while no text arrives.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::Shown;

/// Delay before a status is shown; most answers are faster.
const PATIENCE: Duration = Duration::from_millis(1_200);
/// Duration from which the end of work is announced.
const LONG: Duration = Duration::from_secs(60);

/// The running work, if any.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    work: Option<Work>,
}

#[derive(Clone, Debug)]
struct Work {
    began: Instant,
    /// When text last arrived.
    quiet: Instant,
    step: &'static str,
    /// Progress note of the model, without control characters.
    note: String,
}

/// Duration of finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    Short,
    /// Long enough that the user may have looked away.
    Long,
}

impl Progress {
    /// Starts the work, unless it is running.
    pub fn asked(&mut self, now: Instant) {
        self.work.get_or_insert(Work { began: now, quiet: now, step: "thinking", note: String::new() });
    }

    /// Handles an event of the followed turn.
    pub fn hear(&mut self, shown: &Shown, now: Instant) -> Took {
        let step = match shown.name.as_str() {
            "began" => "thinking",
            "compacting" => "tidying up our conversation",
            "working" => step(shown.data["tool"].as_str().unwrap_or_default()),
            "progress" => {
                self.asked(now);
                if let Some(work) = &mut self.work {
                    let note = shown.data["note"].as_str().unwrap_or_default();
                    work.note = note.chars().filter(|c| !c.is_control()).collect();
                }
                return Took::Short;
            }
            "delta" => {
                if let Some(work) = &mut self.work {
                    work.quiet = now;
                    work.note.clear();
                }
                return Took::Short;
            }
            // Now the assistant waits for the user.
            "ended" | "compacted" | "held" | "reload" | "asked" => return self.end(now),
            _ => return Took::Short,
        };
        self.asked(now);
        if let Some(work) = &mut self.work {
            work.step = step;
        }
        Took::Short
    }

    pub fn is_on(&self) -> bool {
        self.work.is_some()
    }

    /// Ends the work.
    pub fn end(&mut self, now: Instant) -> Took {
        match self.work.take() {
            Some(work) if now.duration_since(work.began) >= LONG => Took::Long,
            Some(_) | None => Took::Short,
        }
    }

    /// Returns the status line at `now`.
    pub fn status(&self, now: Instant) -> Option<String> {
        let work = self.work.as_ref()?;
        let quiet = now.duration_since(work.quiet);
        let note = if work.note.is_empty() { String::new() } else { format!(" · {}", work.note) };
        // The note is last, so a narrow screen truncates it and not the time.
        (quiet >= PATIENCE).then(|| format!("  {}… {} s{note}", work.step, quiet.as_secs()))
    }

    /// Returns when the status changes next.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let work = self.work.as_ref()?;
        let quiet = now.duration_since(work.quiet);
        if quiet < PATIENCE {
            Some(work.quiet + PATIENCE)
        } else {
            Some(work.quiet + Duration::from_secs(quiet.as_secs() + 1))
        }
    }
}

/// Describes a tool for the user.
fn step(tool: &str) -> &'static str {
    let name = tool.split(['(', ':', ' ']).next().unwrap_or_default();
    match name.rsplit("__").next().unwrap_or(name) {
        "schedule" | "routine" | "follow_up_chain" => "looking at your plans",
        "status" => "looking how things stand",
        "inbox_add" | "inbox_list" | "inbox_remove" => "looking into the inbox",
        "ping_user" | "discord_embed" => "writing to you",
        "report_updates" | "save_context" => "writing a summary",
        "enter_fork" | "exit_fork" => "stepping aside",
        "compact_session" => "tidying up our conversation",
        "Read" | "Grep" | "Glob" | "LS" => "reading",
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => "writing",
        "Bash" => "running a command",
        "WebSearch" => "searching the web",
        "WebFetch" => "reading a page",
        _ => "working",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(name: &str, data: serde_json::Value) -> Shown {
        Shown { name: name.to_owned(), data }
    }

    #[test]
    fn nothing_is_told_of_a_fast_answer_and_every_second_of_a_slow_one() {
        let mut progress = Progress::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        assert_eq!((progress.status(start), progress.next(start)), (None, None));
        progress.asked(start);
        assert_eq!((progress.status(after(1_199)), progress.next(start)), (None, Some(after(1_200))));
        assert_eq!(progress.status(after(1_200)).as_deref(), Some("  thinking… 1 s"));
        assert_eq!(progress.next(after(1_200)), Some(after(2_000)));
        progress.hear(&shown("working", json!({ "tool": "Read(notes.md)" })), after(2_000));
        assert_eq!(progress.status(after(14_500)).as_deref(), Some("  reading… 14 s"));
        progress.hear(&shown("delta", json!({})), after(15_000));
        assert_eq!(progress.status(after(16_000)), None);
        assert_eq!(progress.hear(&shown("ended", json!({})), after(16_000)), Took::Short);
        assert_eq!(progress.status(after(60_000)), None);
    }

    #[test]
    fn a_progress_note_is_told_beside_the_step_until_the_answer_begins() {
        let mut progress = Progress::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let note = |note: &str| shown("progress", json!({ "note": note }));
        progress.hear(&note("Checking the calendar\u{1b}[2J first.\n"), start);
        let told = |progress: &Progress, millis| progress.status(after(millis)).unwrap_or_default();
        assert_eq!(told(&progress, 2_000), "  thinking… 2 s · Checking the calendar[2J first.");
        progress.hear(&shown("working", json!({ "tool": "Read(notes.md)" })), after(2_000));
        progress.hear(&note("Now the notes."), after(2_500));
        assert_eq!(told(&progress, 3_000), "  reading… 3 s · Now the notes.");
        progress.hear(&shown("delta", json!({})), after(4_000));
        assert_eq!(told(&progress, 6_000), "  reading… 2 s");
    }

    #[test]
    fn the_end_of_long_work_is_told() {
        let mut progress = Progress::default();
        let start = Instant::now();
        progress.hear(&shown("compacting", json!({})), start);
        let late = start + LONG;
        assert_eq!(progress.status(late).as_deref(), Some("  tidying up our conversation… 60 s"));
        assert_eq!(progress.hear(&shown("compacted", json!({})), late), Took::Long);
    }

    #[test]
    fn an_unknown_tool_is_work() {
        assert_eq!(
            (step("mcp__ollim__schedule"), step("Frobnicate(x)")),
            ("looking at your plans", "working")
        );
    }
}
