//! Checks the labels of branches in random histories against an independent computation.

use std::collections::BTreeMap;

use domain::conversation::{Branch, Conversation, Entry, EntryContent, EntryId, Head, UserInput};
use domain::label::{Label, Realm};
use domain::rng::Rng;
use domain::tool::{Outcome, ToolResult};
use jiff::Timestamp;

/// A randomly growing tree, and the labels of its content.
struct History {
    conversation: Conversation,
    entries: BTreeMap<EntryId, Entry>,
    /// The label of the content of each entry.
    true_labels: BTreeMap<EntryId, Label>,
    /// The label that a branch was created with, before its first entry.
    initial_labels: BTreeMap<Branch, Label>,
    /// Earlier heads that can be returned to.
    past_heads: Vec<Head>,
    rng: Rng,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut conversation = Conversation::new(BTreeMap::new(), EntryId(1));
        let mut dice = Rng::new(seed);
        conversation.create(Branch::Main, dice.session_id(), Timestamp::UNIX_EPOCH);
        let entries = BTreeMap::new();
        let truth = BTreeMap::new();
        let begun = BTreeMap::new();
        Self {
            conversation,
            entries,
            true_labels: truth,
            initial_labels: begun,
            past_heads: Vec::new(),
            rng: dice,
        }
    }

    fn roll(&mut self, most: u64) -> u64 {
        self.rng.next_u64() % most
    }

    fn label(&mut self) -> Label {
        let realm = Realm::ALL[self.roll(11) as usize];
        match self.roll(6) {
            0 => Label::both(realm),
            1 => Label::outside(realm),
            2 => Label::private(realm),
            _ => Label::PLAIN,
        }
    }

    fn branch(&mut self) -> Option<Branch> {
        let branches: Vec<Branch> = self.conversation.branches().map(|(branch, _)| branch.clone()).collect();
        (!branches.is_empty()).then(|| branches[self.roll(branches.len() as u64) as usize].clone())
    }

    fn add_entry(&mut self, branch: &Branch, entry: Option<Entry>, put: Label) {
        let Some(entry) = entry else { return };
        let begun = self.initial_labels.remove(branch).unwrap_or(Label::PLAIN);
        self.true_labels.insert(entry.id, put.join(begun));
        self.entries.insert(entry.id, entry);
    }

    /// Does one random step: an entry, a result, a fork, a summary, a promotion, an undo, an end,
    /// or a restart.
    fn random_step(&mut self) {
        let at = Timestamp::UNIX_EPOCH;
        let Some(branch) = self.branch() else { return };
        match self.roll(9) {
            0 | 1 => {
                let label = self.label();
                let result =
                    ToolResult { call: String::new(), text: String::new(), outcome: Outcome::Done, label };
                let entry = self.conversation.append(&branch, EntryContent::Tools(vec![result]), at);
                self.add_entry(&branch, entry, label);
            }
            2 => {
                let more = self.label();
                let entry = self.conversation.append_labelled(
                    &branch,
                    EntryContent::User(user_input("hello")),
                    more,
                    at,
                );
                self.add_entry(&branch, entry, more.join(Label::private(Realm::Chat)));
            }
            3 => {
                let fork = self.rng.new_branch();
                let session = self.rng.session_id();
                self.conversation.fork(&branch, fork, session, at);
            }
            4 => self.compact(&branch, at),
            5 => self.promote(&branch, at),
            6 => {
                let stood = self.conversation.head(&branch).cloned();
                self.past_heads.extend(stood);
                let back = self.roll(self.past_heads.len() as u64) as usize;
                let fork = self.rng.new_branch();
                let to = self.past_heads[back].clone();
                match self.roll(2) {
                    // A persistent session continues from an earlier head.
                    0 => drop(self.conversation.fork_at(fork, to, at)),
                    _ => drop(self.conversation.undo(&branch, to, at)),
                }
            }
            7 => self.start_with_label(at),
            _ => self.restart(),
        }
    }

    fn compact(&mut self, branch: &Branch, at: Timestamp) {
        let session = self.rng.session_id();
        let summed = self.conversation.compact(branch, "so far".to_owned(), session, at);
        self.add_entry(branch, summed.map(|(entry, _)| entry), Label::PLAIN);
    }

    fn promote(&mut self, branch: &Branch, at: Timestamp) {
        if *branch != Branch::Main {
            self.conversation.promote(branch, at);
        }
    }

    /// Creates a branch that only has the label of another one, like a subagent or a reader.
    fn start_with_label(&mut self, at: Timestamp) {
        let branch = self.rng.new_branch();
        let session = self.rng.session_id();
        let label = self.label();
        self.conversation.create(branch.clone(), session, at);
        self.conversation.raise_label(&branch, label);
        self.initial_labels.insert(branch.clone(), label);
        let entry = self.conversation.append(&branch, EntryContent::User(user_input("look")), at);
        self.add_entry(&branch, entry, Label::private(Realm::Chat));
    }

    /// Restarts the program: only the stored labels remain.
    fn restart(&mut self) {
        let next = self.entries.keys().next_back().map_or(EntryId(1), |last| EntryId(last.0 + 1));
        let read = |head: &Head| {
            let kept = head.entry.map(|entry| self.entries[&entry].label.to_string());
            let label = kept.map_or(Label::PLAIN, |kept| kept.parse().expect("a label"));
            Head { label, ..head.clone() }
        };
        let heads = self.conversation.branches().map(|(branch, head)| (branch.clone(), read(head))).collect();
        self.conversation = Conversation::new(heads, next);
    }

    /// Computes the label of an entry from the whole path.
    fn expected_label(&self, entry: Option<EntryId>) -> Label {
        let way = std::iter::successors(entry, |id| self.entries[id].parent);
        way.map(|id| self.true_labels[&id]).fold(Label::PLAIN, Label::join)
    }
}

fn user_input(text: &str) -> UserInput {
    UserInput { preface: String::new(), text: text.to_owned(), images: Vec::new() }
}

/// I4: In 20,000 histories of forks, summaries, promotions, undos, sessions and restarts no label
/// is lost or invented.
#[test]
fn no_label_is_lost_in_any_history() {
    let mut tainted = 0_usize;
    for seed in 0..20_000 {
        let mut history = History::new(seed);
        for _ in 0..24 {
            history.random_step();
        }
        for (branch, head) in history.conversation.branches() {
            assert_eq!(head.label, history.expected_label(head.entry), "{branch} in history {seed}");
            tainted += usize::from(head.label.is_tainted());
        }
        for entry in history.entries.values() {
            assert_eq!(entry.label, history.expected_label(Some(entry.id)), "{entry:?} in history {seed}");
        }
    }
    assert!(tainted > 20_000, "{tainted}");
}
