//! Tests with complete drawings.

use expect_test::{Expect, expect};
use jiff::Timestamp;

use super::*;
use crate::conversation::{Conversation, EntryContent, EntryId, Head, Move, UserInput};

/// A conversation and its moves, with entry depths like in the journal.
struct History {
    conversation: Conversation,
    lineage: Lineage,
    depths: Vec<(EntryId, u64)>,
    minute: i64,
    sessions: u32,
}

impl History {
    /// Creates a history with an empty main branch.
    fn new() -> Self {
        let conversation = Conversation::new(Default::default(), EntryId(1));
        let lineage = Lineage::default();
        let mut life = Self { conversation, lineage, depths: Vec::new(), minute: 0, sessions: 0 };
        life.begin_main();
        life
    }

    fn begin_main(&mut self) {
        let session = self.session();
        let now = self.now();
        let moved = self.conversation.create(Branch::Main, session, now);
        self.add_move(moved, None);
    }

    fn now(&mut self) -> Timestamp {
        self.minute += 1;
        Timestamp::from_second(1_794_700_800 + self.minute * 60).unwrap()
    }

    fn session(&mut self) -> SessionId {
        self.sessions += 1;
        SessionId::parse(&format!("session{}-of-main", self.sessions)).unwrap()
    }

    fn say(&mut self, branch: &Branch, times: usize) {
        for _ in 0..times {
            let entry = self.conversation.append(branch, user_entry(), Timestamp::UNIX_EPOCH).unwrap();
            self.add_entry(entry.id, entry.parent);
        }
    }

    fn add_entry(&mut self, entry: EntryId, parent: Option<EntryId>) {
        let depth = self.depth(parent) + 1;
        self.depths.push((entry, depth));
    }

    fn fork(&mut self, name: &str, label: Option<&str>) -> Branch {
        let branch = Branch::fork(name).unwrap();
        let session = self.session();
        let now = self.now();
        let moved = self.conversation.fork(&Branch::Main, branch.clone(), session, now).unwrap();
        self.add_move(moved, label);
        branch
    }

    fn end(&mut self, branch: &Branch, why: MoveReason) {
        let now = self.now();
        let moved = self.conversation.end(branch, why, now).unwrap();
        self.add_move(moved, None);
    }

    fn save(&mut self, fork: &Branch) {
        let now = self.now();
        for moved in self.conversation.promote(fork, now).unwrap() {
            self.add_move(moved, None);
        }
    }

    /// Compacts main and returns its previous head.
    fn compact(&mut self) -> Head {
        let session = self.session();
        let now = self.now();
        let before = self.conversation.head(&Branch::Main).unwrap().clone();
        let short = "short".to_owned();
        let (entry, moved) = self.conversation.compact(&Branch::Main, short, session, now).unwrap();
        self.add_entry(entry.id, entry.parent);
        self.add_move(moved, None);
        before
    }

    fn undo(&mut self, to: Head) {
        let now = self.now();
        let moved = self.conversation.undo(&Branch::Main, to, now);
        self.add_move(moved, None);
    }

    fn clear(&mut self) -> Head {
        let before = self.conversation.head(&Branch::Main).unwrap().clone();
        self.end(&Branch::Main, MoveReason::Cleared);
        before
    }

    fn add_move(&mut self, moved: Move, label: Option<&str>) {
        let place = |head: Option<Head>| head.map(|head| (head.session, self.depth(head.entry)));
        let from = place(moved.from);
        let to = place(moved.to);
        let Move { at, branch, reason: why, .. } = moved;
        self.lineage.moves.push(LineageMove {
            at,
            branch,
            reason: why,
            label: label.map(str::to_owned),
            from,
            to,
        });
    }

    fn depth(&self, entry: Option<EntryId>) -> u64 {
        self.depths.iter().find(|(id, _)| Some(*id) == entry).map_or(0, |(_, depth)| *depth)
    }

    fn check(mut self, expected: &Expect) {
        self.lineage.open = self
            .conversation
            .branches()
            .map(|(branch, head)| (branch.clone(), head.session.clone(), self.depth(head.entry)))
            .collect();
        let drawn = draw(&self.lineage, &TimeZone::UTC);
        expected.assert_eq(&drawn.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>());
    }
}

fn user_entry() -> EntryContent {
    EntryContent::User(UserInput { preface: String::new(), text: "x".to_owned(), images: Vec::new() })
}

#[test]
fn every_fork_exit_has_its_own_mark() {
    let mut life = History::new();
    life.say(&Branch::Main, 2);
    for (name, label, why) in [
        ("a", Some("flights"), MoveReason::Reported),
        ("b", None, MoveReason::Dropped),
        ("c", Some("taxes"), MoveReason::Lapsed),
        ("d", Some("morning mail"), MoveReason::Ended),
    ] {
        let fork = life.fork(name, label);
        life.say(&fork, 3);
        life.end(&fork, why);
    }
    let fork = life.fork("e", Some("the trip"));
    life.say(&fork, 4);
    life.save(&fork);
    life.fork("f", Some("insurance"));
    life.check(&expect![[r#"
        ●    main · now · session6 · 6 entries
        ┃ ◉  fork/f · insurance · open · session7 · 0 entries
        ┣─╯  fork/f started 2026-11-15 00:12 · insurance · session7
        ┃◀╮  fork/e saved 2026-11-15 00:11 · the trip · 4 entries · main session1 → session6
        ┣─╯  fork/e started 2026-11-15 00:10 · the trip · session6
        ┃ ▪  fork/d ended 2026-11-15 00:09 · morning mail · 3 entries
        ┣─╯  fork/d started 2026-11-15 00:08 · morning mail · session5
        ┃ ◌  fork/c lapsed 2026-11-15 00:07 · taxes · 3 entries
        ┣─╯  fork/c started 2026-11-15 00:06 · taxes · session4
        ┃ ✕  fork/b dropped 2026-11-15 00:05 · 3 entries
        ┣─╯  fork/b started 2026-11-15 00:04 · session3
        ┃◁╮  fork/a reported 2026-11-15 00:03 · flights · 3 entries
        ┣─╯  fork/a started 2026-11-15 00:02 · flights · session2
        ○    created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn concurrent_forks_have_separate_lanes() {
    let mut life = History::new();
    life.say(&Branch::Main, 2);
    let [first, second] = ["first", "second"].map(|name| life.fork(name, None));
    life.say(&first, 1);
    life.end(&first, MoveReason::Ended);
    let third = life.fork("third", None);
    life.say(&second, 5);
    life.end(&second, MoveReason::Reported);
    life.compact();
    life.end(&third, MoveReason::Dropped);
    life.check(&expect![[r#"
        ●      main · now · session5 · 3 entries
        ┃ ✕    fork/third dropped 2026-11-15 00:08 · 0 entries
        ◆ │    compacted 2026-11-15 00:07 · session1 → session5 · 2 entries summed up
        ┃◁┼┄╮  fork/second reported 2026-11-15 00:06 · 5 entries
        ┣─╯ │  fork/third started 2026-11-15 00:05 · session4
        ┃ ▪ │  fork/first ended 2026-11-15 00:04 · 1 entry
        ┣─┼─╯  fork/second started 2026-11-15 00:03 · session3
        ┣─╯    fork/first started 2026-11-15 00:02 · session2
        ○      created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn entries_of_main_beside_a_saved_fork_are_left_behind() {
    let mut life = History::new();
    life.say(&Branch::Main, 4);
    let trip = life.fork("trip", Some("lisbon"));
    life.say(&trip, 3);
    life.say(&Branch::Main, 2);
    life.save(&trip);
    life.say(&Branch::Main, 1);
    life.check(&expect![[r#"
        ●    main · now · session2 · 8 entries
        ┃◀╮  fork/trip saved 2026-11-15 00:03 · lisbon · 3 entries · main session1 → session2 · 2 entries of main left behind
        ┣─╯  fork/trip started 2026-11-15 00:02 · lisbon · session2
        ○    created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn clear_starts_a_new_trunk_and_an_older_run_still_ends() {
    let mut life = History::new();
    life.say(&Branch::Main, 4);
    let run = life.fork("run", Some("morning mail"));
    life.say(&run, 1);
    life.end(&Branch::Main, MoveReason::Cleared);
    life.say(&run, 1);
    life.end(&run, MoveReason::Ended);
    life.begin_main();
    life.say(&Branch::Main, 1);
    let fork = life.fork("next", None);
    life.say(&fork, 2);
    life.check(&expect![[r#"
        ●    main · now · session3 · 1 entry
        ┃ ◉  fork/next · open · session4 · 2 entries
        ┣─╯  fork/next started 2026-11-15 00:06 · session4
        ○    created 2026-11-15 00:05 · session3
          ▪  fork/run ended 2026-11-15 00:04 · morning mail · 2 entries
        ╳ │  cleared 2026-11-15 00:03 · session1 · 4 entries
        ┣─╯  fork/run started 2026-11-15 00:02 · morning mail · session2
        ○    created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn undone_compaction_shows_entries_left_behind() {
    let mut life = History::new();
    life.say(&Branch::Main, 6);
    let before = life.compact();
    life.undo(before);
    let before = life.compact();
    life.say(&Branch::Main, 2);
    let recalled = life.conversation.append(&Branch::Main, user_entry(), Timestamp::UNIX_EPOCH).unwrap();
    life.add_entry(recalled.id, recalled.parent);
    life.undo(Head { entry: Some(recalled.id), ..before });
    life.check(&expect![[r#"
        ●  main · now · session1 · 10 entries
        ↶  undone 2026-11-15 00:05 · back to session1 · took the compaction back
        ◆  compacted 2026-11-15 00:04 · session1 → session3 · 6 entries summed up
        ↶  undone 2026-11-15 00:03 · back to session1 · 1 entry left behind · took the compaction back
        ◆  compacted 2026-11-15 00:02 · session1 → session2 · 6 entries summed up
        ○  created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn undone_save_and_clear_show_entries_left_behind() {
    let mut life = History::new();
    life.say(&Branch::Main, 5);
    let before = life.conversation.head(&Branch::Main).unwrap().clone();
    let trip = life.fork("trip", None);
    life.say(&trip, 3);
    life.save(&trip);
    life.say(&Branch::Main, 2);
    let cleared = life.clear();
    life.begin_main();
    life.say(&Branch::Main, 4);
    life.undo(cleared);
    life.undo(before);
    let cleared = life.clear();
    life.undo(cleared);
    life.check(&expect![[r#"
        ●    main · now · session1 · 5 entries
        ↶    undone 2026-11-15 00:09 · back to session1 · took the clearing back
        ╳    cleared 2026-11-15 00:08 · session1 · 5 entries
        ↶    undone 2026-11-15 00:07 · back to session1 · 5 entries left behind · took the saving back
        ↶    undone 2026-11-15 00:06 · back to session2 · 4 entries left behind · took the clearing back
        ○    created 2026-11-15 00:05 · session3
        ╳    cleared 2026-11-15 00:04 · session2 · 10 entries
        ┃◀╮  fork/trip saved 2026-11-15 00:03 · 3 entries · main session1 → session2
        ┣─╯  fork/trip started 2026-11-15 00:02 · session2
        ○    created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn cleared_main_is_absent_until_the_next_message() {
    let mut life = History::new();
    life.say(&Branch::Main, 2);
    life.end(&Branch::Main, MoveReason::Cleared);
    life.check(&expect![[r#"
        ╳  cleared 2026-11-15 00:02 · session1 · 2 entries
        ○  created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn fork_topic_fits_on_one_line() {
    let mut life = History::new();
    life.fork("x", Some(&format!("a\u{1b}[31m\nb  {}", "long ".repeat(20))));
    life.check(&expect![[r#"
        ●    main · now · session1 · 0 entries
        ┃ ◉  fork/x · a [31m b long long long long long long long long long long l… · open · session2 · 0 entries
        ┣─╯  fork/x started 2026-11-15 00:02 · a [31m b long long long long long long long long long long l… · session2
        ○    created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn omitted_moves_are_counted() {
    let mut life = History::new();
    life.lineage.omitted = 1;
    let one = draw(&life.lineage, &TimeZone::UTC);
    assert!(one.ends_with("\n1 older move is left out.\n"), "{one}");
    life.lineage.omitted = 1200;
    let many = draw(&life.lineage, &TimeZone::UTC);
    assert!(many.ends_with("\n1200 older moves are left out.\n"), "{many}");
}

/// A fork whose start is missing, and an open fork without any move, are still drawn.
#[test]
fn branch_without_start_is_drawn() {
    let mut life = History::new();
    let fork = life.fork("lost", None);
    life.say(&fork, 1);
    life.end(&fork, MoveReason::Dropped);
    life.fork("alsolost", None);
    life.lineage.moves.retain(|line| line.reason != MoveReason::Forked);
    life.check(&expect![[r#"
        ●    main · now · session1 · 0 entries
        ┃ ◉  fork/alsolost · open · session3 · 0 entries
        ┃ ✕  fork/lost dropped 2026-11-15 00:03 · 0 entries
        ○ │  created 2026-11-15 00:01 · session1
    "#]]);
}

#[test]
fn empty_lineage_has_a_message() {
    assert_eq!(draw(&Lineage::default(), &TimeZone::UTC), "nothing was said yet.\n");
}

/// Twenty thousand consecutive forks fit into one lane.
#[test]
fn many_forks_are_drawn() {
    let place = |depth| Some((SessionId::parse("session-of-a-fork").unwrap(), depth));
    let lines = (0..20_000_u64).flat_map(|number| {
        let branch = Branch::fork(&format!("run-{number}")).unwrap();
        let line = |why, from, to| LineageMove {
            at: Timestamp::UNIX_EPOCH,
            branch: branch.clone(),
            reason: why,
            label: None,
            from,
            to,
        };
        [line(MoveReason::Forked, None, place(number)), line(MoveReason::Ended, place(number + 2), None)]
    });
    let lineage = Lineage { moves: lines.collect(), open: Vec::new(), omitted: 0 };
    let drawn = draw(&lineage, &TimeZone::UTC);
    assert_eq!((drawn.lines().count(), lineage.graph().lanes), (40_000, 1));
    assert!(drawn.lines().step_by(2).all(|row| row.ends_with(" · 2 entries")));
}
