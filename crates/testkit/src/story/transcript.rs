//! The transcript of a story: a surface that records every update as a line.

use std::collections::{BTreeMap, BTreeSet};

use domain::approval::Waiter;
use domain::assistant::{ApprovalUpdate, CompactionUpdate, KeyNotice, SideUpdate, Update};
use domain::context::message_text;
use domain::conversation::{Block, Branch, Completeness, EntryContent};
use domain::fork::end_line;
use domain::record::MessageId;
use domain::tool::{Outcome, ShownContent};
use domain::turn::{TurnEnding, TurnId};
use engine::ports::Surface;
use tokio::sync::watch;

/// The transcript and the expected answers.
#[derive(Debug, Default)]
pub struct Transcript(watch::Sender<TranscriptState>);

#[derive(Debug, Default)]
struct TranscriptState {
    lines: Vec<String>,
    /// The tool name of every call, by call id.
    tools: BTreeMap<String, String>,
    /// The message that each running turn answers.
    running: BTreeMap<TurnId, MessageId>,
    expected: BTreeSet<MessageId>,
    started: BTreeSet<MessageId>,
    answered: BTreeSet<MessageId>,
    /// All turns that ended, including compactions.
    finished_turns: BTreeSet<TurnId>,
}

impl Transcript {
    pub fn push_line(&self, line: String) {
        self.0.send_modify(|state| state.lines.push(line));
    }

    /// Returns the transcript as text.
    pub fn text(&self) -> String {
        self.0.borrow().lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Registers an expected answer to `message`.
    pub fn expect_answer(&self, message: MessageId) {
        self.0.send_modify(|state| {
            state.expected.insert(message);
        });
    }

    /// Replaces the expected answers by those to `messages`.
    pub fn expect_only_answers(&self, messages: impl Iterator<Item = MessageId>) {
        self.0.send_modify(|state| {
            state.expected = messages.collect();
            state.started.clear();
            state.running.clear();
        });
    }

    /// Waits for the end of the answer to `message`.
    pub async fn wait_for_answer(&self, message: MessageId) {
        self.wait_until(|state| state.answered.contains(&message)).await;
    }

    /// Waits for the end of `turn`.
    pub async fn wait_for_turn(&self, turn: TurnId) {
        self.wait_until(|state| state.finished_turns.contains(&turn)).await;
    }

    /// Waits for the first text of the answer to `message`.
    pub async fn wait_for_text_of(&self, message: MessageId) {
        self.wait_until(|state| state.started.contains(&message)).await;
    }

    /// Waits for the first text of any answer.
    pub async fn wait_for_any_text(&self) {
        self.wait_until(|state| !state.started.is_empty()).await;
    }

    /// Waits for the end of every expected answer.
    pub async fn wait_for_all_answers(&self) {
        self.wait_until(|state| state.expected.is_subset(&state.answered)).await;
    }

    /// Waits for a line that contains `text`.
    pub async fn wait_for_line(&self, text: &str) {
        self.wait_until(|state| state.lines.iter().any(|line| line.contains(text))).await;
    }

    /// Waits until the last line contains `text`.
    pub async fn wait_for_last_line(&self, text: &str) {
        self.wait_until(|state| state.lines.last().is_some_and(|line| line.contains(text))).await;
    }

    /// Returns true if no turn is running.
    pub fn is_idle(&self) -> bool {
        self.0.borrow().running.is_empty()
    }

    async fn wait_until(&self, condition: impl FnMut(&TranscriptState) -> bool) {
        // This object owns the sender, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(condition).await;
    }
}

impl Surface for Transcript {
    fn show(&self, shown: &Update) {
        self.0.send_modify(|state| state.record(shown));
    }
}

impl TranscriptState {
    fn record(&mut self, shown: &Update) {
        match shown {
            Update::EntryAppended { branch, entry } => self.record_entry(branch, &entry.content),
            Update::TurnStarted { turn, answers, .. } => {
                self.running.insert(*turn, *answers);
            }
            Update::Delta { turn, .. } => self.started.extend(self.running.get(turn)),
            Update::ProgressNote { .. } | Update::ToolProgress { .. } | Update::ModelWait { .. } => {}
            Update::TurnEnded { turn, branch, answers, ending } => {
                self.running.remove(turn);
                self.answered.insert(*answers);
                self.finished_turns.insert(*turn);
                match ending {
                    TurnEnding::Finished => {}
                    TurnEnding::Interrupted => self.lines.push(format!("{branch}> stopped")),
                    TurnEnding::Failed(failure) => self.lines.push(format!("{branch}> failed: {failure}")),
                }
            }
            Update::Compaction(CompactionUpdate::Started { branch, tokens, .. }) => {
                let size = tokens.map(|tokens| format!(" {tokens} tokens"));
                self.lines.push(format!("{branch}> compacting{}", size.unwrap_or_default()));
            }
            Update::Compaction(CompactionUpdate::Ended { turn, branch, outcome }) => {
                self.finished_turns.insert(*turn);
                self.lines.push(match outcome {
                    Ok(report) => format!("{branch}> compacted: {report}"),
                    Err(reason) => format!("{branch}> {reason}"),
                });
            }
            Update::Approval(ApprovalUpdate::Open(open)) => {
                let waits = match open.waiter {
                    Waiter::Turn => "",
                    Waiter::Detached => " (nobody waits)",
                    Waiter::Card => " (a card)",
                };
                let id = open.id.0;
                let call = &open.call;
                self.lines.push(format!("asks {id}> {} {}{waits}", call.name, call.input.0));
            }
            Update::Approval(ApprovalUpdate::Closed(_, closed)) => {
                let id = closed.id.0;
                let how = closed.outcome.as_str();
                let by = closed.surface.as_str();
                self.lines.push(format!("asks {id}> {how} ({by})"));
            }
            Update::TurnBlocked { turn, branch, notice: known, why: reason, .. } => {
                self.running.remove(turn);
                self.lines.push(match known {
                    KeyNotice::NotShown => format!("notice> {reason}"),
                    KeyNotice::Shown => format!("{branch}> still waits"),
                });
            }
            Update::Compaction(CompactionUpdate::Undone { branch, .. }) => {
                self.lines.push(format!("{branch}> undone"))
            }
            Update::Side(aside) => self.record_side_event(aside),
            Update::MainMoved(reason) => self.lines.push(format!("main> {}", reason.as_str())),
            Update::Notice(text) => self.lines.push(format!("notice> {text}")),
        }
    }

    fn record_side_event(&mut self, aside: &SideUpdate) {
        match aside {
            SideUpdate::ForkStarted { branch, topic } => {
                let topic = topic.as_ref().map(|topic| format!(" about {topic}"));
                self.lines.push(format!("-- {branch} begins{}", topic.unwrap_or_default()));
            }
            SideUpdate::ForkEnded { branch, why, note } => {
                self.lines.push(format!("-- {branch} {}", end_line(*why, note)));
            }
            SideUpdate::RunShowed { source, entry } => {
                let words = message_text(&entry.content).replace('\n', " / ");
                self.lines.push(format!("{source} ({}) to the human> {words}", entry.id.0));
            }
            // The reminder's text is already recorded.
            SideUpdate::CardChanged(_) => {}
            SideUpdate::MessagePutAway(message) => self.lines.push(format!("-- {} is put away", message.0)),
        }
    }

    fn record_entry(&mut self, branch: &Branch, said: &EntryContent) {
        match said {
            // Messages of the program are shown only to the model.
            EntryContent::User(heard) if heard.text.is_empty() && heard.images.is_empty() => {}
            EntryContent::User(heard) if heard.text.is_empty() => {
                self.lines.push("human> (a picture)".to_owned())
            }
            EntryContent::User(heard) => self.lines.push(format!("human> {}", heard.text)),
            EntryContent::Assistant(blocks, reach) => {
                let cut = if *reach == Completeness::Interrupted { " (cut)" } else { "" };
                for block in blocks {
                    let line = match block {
                        Block::Text(text) => format!("{branch}> assistant: {text}{cut}"),
                        Block::Call(call) => {
                            self.tools.insert(call.id.clone(), call.name.clone());
                            format!("{branch}> calls {} {}", call.name, call.input.0)
                        }
                        Block::Opaque(_) => format!("{branch}> (something only its vendor reads)"),
                    };
                    self.lines.push(line);
                }
            }
            EntryContent::Tools(results) => {
                for result in results {
                    let tool = self.tools.get(&result.call).map_or("a tool", String::as_str);
                    self.lines.push(format!("{branch}> {tool}: {}", result.text));
                    if let Outcome::Shown(ShownContent::Embed(embed)) = &result.outcome {
                        self.lines.push(format!("{branch}> shows: {}", embed.title));
                    }
                }
            }
            EntryContent::Summary(text) => self.lines.push(format!("{branch}> summary: {text}")),
            EntryContent::SummaryRecalled(_) => {
                self.lines.push(format!("{branch}> the summary is taken back"))
            }
        }
    }
}
