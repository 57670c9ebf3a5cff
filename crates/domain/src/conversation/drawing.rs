//! The tree, drawn in text: the trunk on the left, newest on top, forks beside the place where they left it.
//!
//! Only the moves of names are drawn, with the number of entries between them, so that a year fits on a
//! screen.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Branch, SessionId, Why};

/// The moves of all names, oldest first, and where the names are now.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    /// What happened.
    pub lines: Vec<Line>,
    /// The branches that exist, with their session and their depth.
    pub open: Vec<(Branch, SessionId, u64)>,
}

/// One move, with how deep in the tree it went from and to.
#[derive(Clone, Debug)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// The branch.
    pub branch: Branch,
    /// Why.
    pub why: Why,
    /// The session and depth before.
    pub from: Option<(SessionId, u64)>,
    /// The session and depth after.
    pub to: Option<(SessionId, u64)>,
}

/// Draws `lineage`, telling times in `zone`.
pub fn draw(lineage: &Lineage, zone: &TimeZone) -> String {
    let mut rows: Vec<String> = Vec::new();
    let main = lineage.open.iter().find(|(branch, ..)| *branch == Branch::Main);
    if let Some((_, session, depth)) = main {
        rows.push(format!("●  main · now · {} · {}", session.short(), entries(*depth)));
    }
    for line in lineage.lines.iter().rev() {
        rows.extend(row(line, lineage, zone));
    }
    match rows.is_empty() {
        true => "nothing was said yet.\n".to_owned(),
        false => rows.join("\n") + "\n",
    }
}

fn row(line: &Line, lineage: &Lineage, zone: &TimeZone) -> Option<String> {
    let time = line.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string();
    let place = |place: &Option<(SessionId, u64)>| place.as_ref().map(|(id, _)| id.short().to_owned());
    let (from, to) = (place(&line.from).unwrap_or_default(), place(&line.to).unwrap_or_default());
    let row = match (&line.branch, line.why) {
        (Branch::Main, Why::Created) => format!("○  created {time} · {to}"),
        (Branch::Main, Why::Compacted) => {
            format!("◆  compacted {time} · {from} → {to} · {} summed up", entries(depth(&line.from)))
        }
        (Branch::Main, Why::Cleared) => {
            format!("╳  cleared {time} · {from} · {}", entries(depth(&line.from)))
        }
        (Branch::Main, Why::Promoted) => format!("┃◀━ kept a fork {time} · {from} → {to}"),
        (Branch::Main, Why::Undone) => format!("↶  undone {time} · back to {to}"),
        (Branch::Main, Why::Forked | Why::Ended | Why::Reported | Why::Dropped | Why::Lapsed) => return None,
        (Branch::Fork(_), Why::Forked | Why::Created) => {
            format!("┃╲  {} started {time} · {to}{}", line.branch, state(line, lineage))
        }
        (Branch::Fork(_), Why::Compacted) => format!("┃ ◆  {} compacted {time} · {from} → {to}", line.branch),
        (Branch::Fork(_), Why::Reported) => {
            format!("┃◁─╯ {} reported {time} · {}", line.branch, entries(grown(line, lineage)))
        }
        (Branch::Fork(_), Why::Ended | Why::Cleared | Why::Dropped | Why::Lapsed) => {
            format!("┃──✕ {} {} {time} · {}", line.branch, line.why.as_str(), entries(grown(line, lineage)))
        }
        (Branch::Fork(_), Why::Promoted | Why::Undone) => {
            format!("┃ ↶  {} reopened {time} · {to}", line.branch)
        }
    };
    Some(row)
}

/// What a started fork is now.
fn state(line: &Line, lineage: &Lineage) -> String {
    let open = lineage.open.iter().find(|(branch, ..)| *branch == line.branch);
    let ended_later = lineage
        .lines
        .iter()
        .any(|other| other.branch == line.branch && other.at > line.at && other.to.is_none());
    match open {
        Some((.., now)) if !ended_later => {
            format!(" · open · {}", entries(now.saturating_sub(depth(&line.to))))
        }
        Some(_) | None => String::new(),
    }
}

/// How much was said on a fork between its start and its end.
fn grown(line: &Line, lineage: &Lineage) -> u64 {
    let start = lineage.lines.iter().rev().find(|other| {
        other.branch == line.branch && other.at <= line.at && matches!(other.why, Why::Forked | Why::Created)
    });
    depth(&line.from).saturating_sub(start.map_or(0, |start| depth(&start.to)))
}

fn depth(place: &Option<(SessionId, u64)>) -> u64 {
    place.as_ref().map_or(0, |(_, depth)| *depth)
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::{Branch, Conversation, EntryId, Heard, Move, Said};
    use super::*;

    /// A conversation and its moves, with depths as the journal counts them.
    struct Life {
        conversation: Conversation,
        lineage: Lineage,
        depths: Vec<(EntryId, u64)>,
        hour: i64,
    }

    impl Life {
        fn new() -> Self {
            let conversation = Conversation::new(Default::default(), EntryId(1));
            Self { conversation, lineage: Lineage::default(), depths: Vec::new(), hour: 0 }
        }

        fn now(&mut self) -> Timestamp {
            self.hour += 1;
            Timestamp::from_second(1_794_700_800 + self.hour * 3600).unwrap()
        }

        fn session(name: &str) -> SessionId {
            SessionId::read(name).unwrap()
        }

        fn say(&mut self, branch: &Branch, times: usize) -> &mut Self {
            for _ in 0..times {
                let heard = Heard { preface: String::new(), text: "x".to_owned(), images: Vec::new() };
                let entry = self.conversation.say(branch, Said::Human(heard), Timestamp::UNIX_EPOCH).unwrap();
                let depth = entry.parent.map_or(1, |parent| self.depth(Some(parent)) + 1);
                self.depths.push((entry.id, depth));
            }
            self
        }

        fn depth(&self, entry: Option<EntryId>) -> u64 {
            self.depths.iter().find(|(id, _)| Some(*id) == entry).map_or(0, |(_, depth)| *depth)
        }

        fn moved(&mut self, moved: Move) {
            let place =
                |head: Option<super::super::Head>| head.map(|head| (head.session, self.depth(head.entry)));
            let (from, to) = (place(moved.from), place(moved.to));
            self.lineage.lines.push(Line { at: moved.at, branch: moved.branch, why: moved.why, from, to });
        }

        fn drawn(mut self) -> String {
            self.lineage.open = self
                .conversation
                .branches()
                .map(|(branch, head)| (branch.clone(), head.session.clone(), self.depth(head.entry)))
                .collect();
            draw(&self.lineage, &TimeZone::UTC)
        }
    }

    #[test]
    fn every_way_a_branch_can_go_is_drawn() {
        let (main, trip, mail) = (Branch::Main, Branch::fork("trip").unwrap(), Branch::fork("mail").unwrap());
        let mut life = Life::new();
        let now = life.now();
        let moved = life.conversation.create(main.clone(), Life::session("5f0c77aa-1"), now);
        life.moved(moved);
        life.say(&main, 4);
        let now = life.now();
        let moved = life.conversation.fork(&main, trip.clone(), Life::session("77aa0000-2"), now).unwrap();
        life.moved(moved);
        life.say(&trip, 3).say(&main, 2);
        let now = life.now();
        let moved = life.conversation.fork(&main, mail.clone(), Life::session("mail0000-3"), now).unwrap();
        life.moved(moved);
        life.say(&mail, 1);
        let now = life.now();
        for moved in life.conversation.promote(&trip, now).unwrap() {
            life.moved(moved);
        }
        let now = life.now();
        let (entry, moved) =
            life.conversation.compact(&main, "short".to_owned(), Life::session("9d1e02ab-4"), now).unwrap();
        life.depths.push((entry.id, 8));
        life.moved(moved);
        life.say(&main, 1);

        expect![[r#"
            ●  main · now · 9d1e02ab · 9 entries
            ◆  compacted 2026-11-15 05:00 · 77aa0000 → 9d1e02ab · 7 entries summed up
            ┃──✕ fork/trip ended 2026-11-15 04:00 · 3 entries
            ┃◀━ kept a fork 2026-11-15 04:00 · 5f0c77aa → 77aa0000
            ┃╲  fork/mail started 2026-11-15 03:00 · mail0000 · open · 1 entry
            ┃╲  fork/trip started 2026-11-15 02:00 · 77aa0000
            ○  created 2026-11-15 01:00 · 5f0c77aa
        "#]]
        .assert_eq(&life.drawn());
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(draw(&Lineage::default(), &TimeZone::UTC), "nothing was said yet.\n");
    }
}
