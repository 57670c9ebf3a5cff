//! The transcript of a story: a surface that records every update as a line.

use std::collections::{BTreeMap, BTreeSet};

use domain::approval::Waits;
use domain::assistant::{Aside, Asking, Compaction, Known, Shown};
use domain::context::message_words;
use domain::conversation::{Block, Branch, Reach, Said};
use domain::fork::ended_line;
use domain::record::MessageId;
use domain::tool::{Outcome, Showing};
use domain::turn::{Ending, TurnId};
use engine::ports::Surface;
use tokio::sync::watch;

/// The transcript and the expected answers.
#[derive(Debug, Default)]
pub struct Teller(watch::Sender<Telling>);

#[derive(Debug, Default)]
struct Telling {
    lines: Vec<String>,
    /// The tool name of every call, by call id.
    tools: BTreeMap<String, String>,
    /// The message that each running turn answers.
    running: BTreeMap<TurnId, MessageId>,
    expected: BTreeSet<MessageId>,
    begun: BTreeSet<MessageId>,
    ended: BTreeSet<MessageId>,
    /// All turns that ended, including compactions.
    worked: BTreeSet<TurnId>,
}

impl Teller {
    pub fn tell(&self, line: String) {
        self.0.send_modify(|telling| telling.lines.push(line));
    }

    /// Returns the transcript as text.
    pub fn told(&self) -> String {
        self.0.borrow().lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Registers an expected answer to `message`.
    pub fn expect(&self, message: MessageId) {
        self.0.send_modify(|telling| {
            telling.expected.insert(message);
        });
    }

    /// Replaces the expected answers by those to `messages`.
    pub fn expect_only(&self, messages: impl Iterator<Item = MessageId>) {
        self.0.send_modify(|telling| {
            telling.expected = messages.collect();
            telling.begun.clear();
            telling.running.clear();
        });
    }

    /// Waits for the end of the answer to `message`.
    pub async fn heard_the_end_of(&self, message: MessageId) {
        self.when(|telling| telling.ended.contains(&message)).await;
    }

    /// Waits for the end of `turn`.
    pub async fn heard_the_end_of_work(&self, turn: TurnId) {
        self.when(|telling| telling.worked.contains(&turn)).await;
    }

    /// Waits for the first text of the answer to `message`.
    pub async fn heard_a_word_of(&self, message: MessageId) {
        self.when(|telling| telling.begun.contains(&message)).await;
    }

    /// Waits for the first text of any answer.
    pub async fn heard_a_word(&self) {
        self.when(|telling| !telling.begun.is_empty()).await;
    }

    /// Waits for the end of every expected answer.
    pub async fn heard_everything(&self) {
        self.when(|telling| telling.expected.is_subset(&telling.ended)).await;
    }

    /// Waits for a line that contains `text`.
    pub async fn heard(&self, words: &str) {
        self.when(|telling| telling.lines.iter().any(|line| line.contains(words))).await;
    }

    /// Waits until the last line contains `text`.
    pub async fn heard_last(&self, words: &str) {
        self.when(|telling| telling.lines.last().is_some_and(|line| line.contains(words))).await;
    }

    /// Returns true if no turn is running.
    pub fn is_quiet(&self) -> bool {
        self.0.borrow().running.is_empty()
    }

    async fn when(&self, is_so: impl FnMut(&Telling) -> bool) {
        // This object owns the sender, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(is_so).await;
    }
}

impl Surface for Teller {
    fn show(&self, shown: &Shown) {
        self.0.send_modify(|telling| telling.take(shown));
    }
}

impl Telling {
    fn take(&mut self, shown: &Shown) {
        match shown {
            Shown::Said { branch, entry } => self.said(branch, &entry.said),
            Shown::Began { turn, answers, .. } => {
                self.running.insert(*turn, *answers);
            }
            Shown::Delta { turn, .. } => self.begun.extend(self.running.get(turn)),
            Shown::Progress { .. } | Shown::Working { .. } | Shown::Waiting { .. } => {}
            Shown::Ended { turn, branch, answers, ending } => {
                self.running.remove(turn);
                self.ended.insert(*answers);
                self.worked.insert(*turn);
                match ending {
                    Ending::Finished => {}
                    Ending::Interrupted => self.lines.push(format!("{branch}> stopped")),
                    Ending::Failed(failure) => self.lines.push(format!("{branch}> failed: {failure}")),
                }
            }
            Shown::Compaction(Compaction::Began { branch, tokens, .. }) => {
                let size = tokens.map(|tokens| format!(" {tokens} tokens"));
                self.lines.push(format!("{branch}> compacting{}", size.unwrap_or_default()));
            }
            Shown::Compaction(Compaction::Ended { turn, branch, outcome }) => {
                self.worked.insert(*turn);
                self.lines.push(match outcome {
                    Ok(report) => format!("{branch}> compacted: {report}"),
                    Err(why) => format!("{branch}> {why}"),
                });
            }
            Shown::Approval(Asking::Open(open)) => {
                let waits = match open.waits {
                    Waits::Turn => "",
                    Waits::Nobody => " (nobody waits)",
                    Waits::Card => " (a card)",
                };
                let id = open.id.0;
                let call = &open.call;
                self.lines.push(format!("asks {id}> {} {}{waits}", call.name, call.input.0));
            }
            Shown::Approval(Asking::Closed(_, closed)) => {
                let id = closed.id.0;
                let how = closed.how.as_str();
                let by = closed.by.as_str();
                self.lines.push(format!("asks {id}> {how} ({by})"));
            }
            Shown::Held { turn, branch, known, why, .. } => {
                self.running.remove(turn);
                self.lines.push(match known {
                    Known::Unknown => format!("notice> {why}"),
                    Known::Told => format!("{branch}> still waits"),
                });
            }
            Shown::Compaction(Compaction::Undone { branch, .. }) => {
                self.lines.push(format!("{branch}> undone"))
            }
            Shown::Aside(aside) => self.aside(aside),
            Shown::Moved(why) => self.lines.push(format!("main> {}", why.as_str())),
            Shown::Notice(text) => self.lines.push(format!("notice> {text}")),
        }
    }

    fn aside(&mut self, aside: &Aside) {
        match aside {
            Aside::Began { branch, topic } => {
                let topic = topic.as_ref().map(|topic| format!(" about {topic}"));
                self.lines.push(format!("-- {branch} begins{}", topic.unwrap_or_default()));
            }
            Aside::Ended { branch, why, note } => {
                self.lines.push(format!("-- {branch} {}", ended_line(*why, note)));
            }
            Aside::Sent { source, entry } => {
                let words = message_words(&entry.said).replace('\n', " / ");
                self.lines.push(format!("{source} ({}) to the human> {words}", entry.id.0));
            }
            // The reminder's text is already recorded.
            Aside::Card(_) => {}
            Aside::PutAway(message) => self.lines.push(format!("-- {} is put away", message.0)),
        }
    }

    fn said(&mut self, branch: &Branch, said: &Said) {
        match said {
            // Messages of the program are shown only to the model.
            Said::Human(heard) if heard.text.is_empty() && heard.images.is_empty() => {}
            Said::Human(heard) if heard.text.is_empty() => self.lines.push("human> (a picture)".to_owned()),
            Said::Human(heard) => self.lines.push(format!("human> {}", heard.text)),
            Said::Assistant(blocks, reach) => {
                let cut = if *reach == Reach::Cut { " (cut)" } else { "" };
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
            Said::Tools(results) => {
                for result in results {
                    let tool = self.tools.get(&result.call).map_or("a tool", String::as_str);
                    self.lines.push(format!("{branch}> {tool}: {}", result.text));
                    if let Outcome::Shown(Showing::Embed(embed)) = &result.outcome {
                        self.lines.push(format!("{branch}> shows: {}", embed.title));
                    }
                }
            }
            Said::Summary(text) => self.lines.push(format!("{branch}> summary: {text}")),
            Said::Recalled(_) => self.lines.push(format!("{branch}> the summary is taken back")),
        }
    }
}
