//! Status of running work while no text arrives.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::StreamEvent;

/// Delay before a status is shown; most answers are faster.
const SHOW_DELAY: Duration = Duration::from_millis(1_200);
/// Duration from which the end of work is announced.
const LONG_WORK: Duration = Duration::from_secs(60);

/// The running work, if any.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    running: Option<RunningWork>,
}

#[derive(Clone, Debug)]
struct RunningWork {
    started_at: Instant,
    /// When text last arrived.
    last_text_at: Instant,
    step: &'static str,
    /// Progress note of the model, without control characters.
    note: String,
}

/// Duration of finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkLength {
    Short,
    /// Long enough that the user may have looked away.
    Long,
}

impl Progress {
    /// Starts the work, unless it is running.
    pub fn start(&mut self, now: Instant) {
        self.running.get_or_insert(RunningWork {
            started_at: now,
            last_text_at: now,
            step: "thinking",
            note: String::new(),
        });
    }

    /// Handles an event of the followed turn.
    pub fn on_event(&mut self, shown: &StreamEvent, now: Instant) -> WorkLength {
        let step = match shown.name.as_str() {
            "began" => "thinking",
            "compacting" => "tidying up our conversation",
            "working" => tool_description(shown.data["tool"].as_str().unwrap_or_default()),
            "progress" => {
                self.start(now);
                if let Some(work) = &mut self.running {
                    let note = shown.data["note"].as_str().unwrap_or_default();
                    work.note = note.chars().filter(|c| !c.is_control()).collect();
                }
                return WorkLength::Short;
            }
            "delta" => {
                if let Some(work) = &mut self.running {
                    work.last_text_at = now;
                    work.note.clear();
                }
                return WorkLength::Short;
            }
            // Now the assistant waits for the user.
            "ended" | "compacted" | "held" | "reload" | "asked" => return self.end(now),
            _ => return WorkLength::Short,
        };
        self.start(now);
        if let Some(work) = &mut self.running {
            work.step = step;
        }
        WorkLength::Short
    }

    pub fn is_active(&self) -> bool {
        self.running.is_some()
    }

    /// Ends the work.
    pub fn end(&mut self, now: Instant) -> WorkLength {
        match self.running.take() {
            Some(work) if now.duration_since(work.started_at) >= LONG_WORK => WorkLength::Long,
            Some(_) | None => WorkLength::Short,
        }
    }

    /// Returns the status line at `now`.
    pub fn status(&self, now: Instant) -> Option<String> {
        let work = self.running.as_ref()?;
        let quiet = now.duration_since(work.last_text_at);
        let note = if work.note.is_empty() { String::new() } else { format!(" · {}", work.note) };
        // The note is last, so a narrow screen truncates it and not the time.
        (quiet >= SHOW_DELAY).then(|| format!("  {}… {} s{note}", work.step, quiet.as_secs()))
    }

    /// Returns when the status changes next.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        let work = self.running.as_ref()?;
        let quiet = now.duration_since(work.last_text_at);
        if quiet < SHOW_DELAY {
            Some(work.last_text_at + SHOW_DELAY)
        } else {
            Some(work.last_text_at + Duration::from_secs(quiet.as_secs() + 1))
        }
    }
}

/// Describes a tool for the user.
fn tool_description(tool: &str) -> &'static str {
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

    fn shown(name: &str, data: serde_json::Value) -> StreamEvent {
        StreamEvent { name: name.to_owned(), data }
    }

    #[test]
    fn a_fast_answer_shows_no_status_and_a_slow_one_every_second() {
        let mut progress = Progress::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        assert_eq!((progress.status(start), progress.next_change(start)), (None, None));
        progress.start(start);
        assert_eq!((progress.status(after(1_199)), progress.next_change(start)), (None, Some(after(1_200))));
        assert_eq!(progress.status(after(1_200)).as_deref(), Some("  thinking… 1 s"));
        assert_eq!(progress.next_change(after(1_200)), Some(after(2_000)));
        progress.on_event(&shown("working", json!({ "tool": "Read(notes.md)" })), after(2_000));
        assert_eq!(progress.status(after(14_500)).as_deref(), Some("  reading… 14 s"));
        progress.on_event(&shown("delta", json!({})), after(15_000));
        assert_eq!(progress.status(after(16_000)), None);
        assert_eq!(progress.on_event(&shown("ended", json!({})), after(16_000)), WorkLength::Short);
        assert_eq!(progress.status(after(60_000)), None);
    }

    #[test]
    fn a_progress_note_is_shown_with_the_step_until_the_answer_begins() {
        let mut progress = Progress::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let note = |note: &str| shown("progress", json!({ "note": note }));
        progress.on_event(&note("Checking the calendar\u{1b}[2J first.\n"), start);
        let told = |progress: &Progress, millis| progress.status(after(millis)).unwrap_or_default();
        assert_eq!(told(&progress, 2_000), "  thinking… 2 s · Checking the calendar[2J first.");
        progress.on_event(&shown("working", json!({ "tool": "Read(notes.md)" })), after(2_000));
        progress.on_event(&note("Now the notes."), after(2_500));
        assert_eq!(told(&progress, 3_000), "  reading… 3 s · Now the notes.");
        progress.on_event(&shown("delta", json!({})), after(4_000));
        assert_eq!(told(&progress, 6_000), "  reading… 2 s");
    }

    #[test]
    fn the_end_of_long_work_is_reported() {
        let mut progress = Progress::default();
        let start = Instant::now();
        progress.on_event(&shown("compacting", json!({})), start);
        let late = start + LONG_WORK;
        assert_eq!(progress.status(late).as_deref(), Some("  tidying up our conversation… 60 s"));
        assert_eq!(progress.on_event(&shown("compacted", json!({})), late), WorkLength::Long);
    }

    #[test]
    fn an_unknown_tool_has_a_general_description() {
        assert_eq!(
            (tool_description("mcp__ollim__schedule"), tool_description("Frobnicate(x)")),
            ("looking at your plans", "working")
        );
    }
}
