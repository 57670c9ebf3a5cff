//! The forward schedule: other background jobs around the current time, so that a run can judge
//! whether to spend a ping.

use jiff::{SignedDuration, Timestamp};

use super::{Pings, Planned, What};

/// Fires up to this long ago are shown.
pub const GRACE: SignedDuration = SignedDuration::from_mins(15);
/// All fires up to this far ahead are shown.
const NEAR: SignedDuration = SignedDuration::from_hours(3);
/// No fire further ahead than this is shown.
pub const FAR: SignedDuration = SignedDuration::from_hours(12);
/// At least this many fires are shown, if there are that many before [`MAX_LOOKAHEAD`].
const FEW: usize = 3;
/// The maximum length of a description, in characters.
const WORDS: usize = 60;

/// A job that may be part of the forward schedule.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub planned: &'a Planned,
    /// Its last fire, if within [`RECENT_WINDOW`].
    pub recent: Option<Timestamp>,
    pub next: Option<Timestamp>,
    pub role: Role,
}

/// The relation of a candidate to the run that reads the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The run itself.
    Running,
    Other,
}

/// One fire in the forward schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upcoming {
    pub id: String,
    pub at: Timestamp,
    pub label: String,
    pub description: String,
    /// The path of its file, relative to the data directory.
    pub file: String,
    pub silence: Pings,
    pub tag: Option<Tag>,
}

impl Upcoming {
    /// Returns a copy without texts of the job: only the time and whether it may ping.
    #[must_use]
    pub fn time_only(self) -> Self {
        let label = "another task".to_owned();
        let description = String::new();
        let file = String::new();
        Self { label, description, file, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The run that reads this.
    ThisTask,
    /// A job that has already started.
    JustFired,
}

/// FS-1 to FS-5: recent fires, then upcoming ones, in order.
///
/// Shows all fires of the next three hours, or the first three within twelve hours if there are
/// fewer.
pub fn forward<'a>(candidates: impl IntoIterator<Item = Candidate<'a>>, now: Timestamp) -> Vec<Upcoming> {
    let near = now.checked_add(NEAR).unwrap_or(Timestamp::MAX);
    let mut fires: Vec<Fire<'a>> = candidates.into_iter().flat_map(|one| one.fires(now)).collect();
    fires.sort_by_key(|fire| fire.at);
    let recent = fires.partition_point(|fire| fire.at <= now);
    let soon = fires[recent..].partition_point(|fire| fire.at <= near);
    fires.truncate(recent + soon.max(FEW));
    fires.into_iter().map(Fire::upcoming).collect()
}

struct Fire<'a> {
    planned: &'a Planned,
    at: Timestamp,
    silence: Pings,
    tag: Option<Tag>,
}

impl<'a> Candidate<'a> {
    /// FS-3, FS-12: its last and next fire, as far as they are shown.
    fn fires(self, now: Timestamp) -> impl Iterator<Item = Fire<'a>> {
        let since = now.checked_sub(GRACE).unwrap_or(Timestamp::MIN);
        let until = now.checked_add(FAR).unwrap_or(Timestamp::MAX);
        let tag = match self.role {
            Role::Running => Tag::ThisTask,
            Role::Other => Tag::JustFired,
        };
        let recent = self.recent.filter(|at| (since..=now).contains(at)).map(|at| (at, Some(tag)));
        let next = self.next.filter(|at| *at > now && *at <= until).map(|at| (at, None));
        let silence = self.planned.charter().terms().map(|terms| terms.voice.pings);
        let fire = move |(at, tag)| Some(Fire { planned: self.planned, at, silence: silence?, tag });
        recent.into_iter().chain(next).filter_map(fire)
    }
}

impl Fire<'_> {
    /// FS-6: the displayed form.
    fn upcoming(self) -> Upcoming {
        Upcoming {
            id: self.planned.id().to_string(),
            at: self.at,
            label: label(self.planned),
            description: description(self.planned),
            file: self.planned.file.clone(),
            silence: self.silence,
            tag: self.tag,
        }
    }
}

/// FS-7: the label.
fn label(planned: &Planned) -> String {
    match &planned.what {
        What::Routine(routine) if routine.description.is_empty() => "Routine".to_owned(),
        What::Routine(routine) => one_line(&routine.description),
        What::Reminder(reminder) => match &reminder.chain {
            chain if chain.max > 0 => {
                format!("Chain reminder ({}/{})", chain.depth.saturating_add(1), chain.max.saturating_add(1))
            }
            _ => "Reminder".to_owned(),
        },
    }
}

/// FS-8: the description.
fn description(planned: &Planned) -> String {
    if !planned.description().is_empty() {
        return one_line(planned.description());
    }
    let words = one_line(planned.message().as_str());
    match words.char_indices().nth(WORDS) {
        Some((cut, _)) => format!("{}...", &words[..cut]),
        None => words,
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Rhythm;
    use crate::schedule::{
        Chain, Charter, Cron, ItemId, Moment, Prompt, Reminder, Reporting, Routine, Terms, Voice,
    };
    use jiff::tz::TimeZone;

    const NOW: &str = "2026-11-16T10:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn minutes(minutes: i64) -> Timestamp {
        now() + SignedDuration::from_mins(minutes)
    }

    fn aside(pings: Pings) -> Charter {
        let voice = Voice { reporting: Reporting::OnPing, pings };
        Charter::Fork(Terms { voice, ..Terms::default() })
    }

    fn routine(id: &str) -> Routine {
        let cron = Cron::parse("0 9 * * *").unwrap();
        let routine =
            Routine::new(ItemId::parse(id).unwrap(), Rhythm::new(cron), Prompt::new("look\nat the mail"));
        Routine { charter: aside(Pings::Allowed), ..routine }
    }

    fn planned(routine: Routine) -> Planned {
        let file = format!("routines/{}.md", routine.id);
        Planned { what: What::Routine(routine), file }
    }

    fn reminder(charter: Charter) -> Reminder {
        let id = ItemId::parse("r").unwrap();
        let due = Moment::parse(NOW, &TimeZone::UTC).unwrap();
        Reminder::new(id, due, charter, Prompt::new(&"word ".repeat(30))).unwrap()
    }

    /// Formats fires as `id+minutes` with a sign for the tag.
    fn told(fires: &[Upcoming]) -> String {
        let one = |fire: &Upcoming| {
            let tag = match fire.tag {
                Some(Tag::ThisTask) => "!",
                Some(Tag::JustFired) => "?",
                None => "",
            };
            format!("{}{:+}{tag}", fire.id, fire.at.duration_since(now()).as_mins())
        };
        fires.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The forward schedule of jobs with one fire each, in minutes from now.
    fn shown(fires: &[i64]) -> String {
        let jobs: Vec<Planned> = (0..fires.len()).map(|n| planned(routine(&format!("j{n}")))).collect();
        let candidates = jobs.iter().zip(fires).map(|(planned, at)| {
            let (recent, next) =
                if *at > 0 { (None, Some(minutes(*at))) } else { (Some(minutes(*at)), None) };
            Candidate { planned, recent, next, role: Role::Other }
        });
        told(&forward(candidates, now()))
    }

    /// FS-2, FS-3, FS-4, FS-5, FS-11: recent fires and three hours, or the first three of twelve
    /// hours.
    #[test]
    fn three_hours_are_shown_or_three_fires() {
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[-16, -15, 0, 720, 721]), "j1-15? j2+0? j3+720");
        assert_eq!(shown(&[30, 20, 10, 180, 181]), "j2+10 j1+20 j0+30 j3+180");
        assert_eq!(shown(&[30, 179, 181, 240, 300]), "j0+30 j1+179 j2+181");
        assert_eq!(shown(&[400, 500]), "j0+400 j1+500");
        assert_eq!(shown(&[400, 500, 600, 700, -1]), "j4-1? j0+400 j1+500 j2+600");
    }

    /// FS-11, FS-12: the running job is tagged once; its own next fire is not.
    #[test]
    fn a_run_finds_itself_once() {
        let one = planned(routine("one"));
        let two = planned(routine("two"));
        let fires = |planned, role| Candidate { planned, recent: Some(now()), next: Some(minutes(60)), role };
        let shown = forward([fires(&one, Role::Running), fires(&two, Role::Other)], now());
        assert_eq!(told(&shown), "one+0! two+0? one+60 two+60");
    }

    /// FS-1: jobs in the main conversation are not shown.
    #[test]
    fn only_what_runs_aside_is_shown() {
        let main = planned(Routine { charter: Charter::main(), ..routine("main") });
        let main =
            Candidate { planned: &main, recent: Some(now()), next: Some(minutes(1)), role: Role::Other };
        assert_eq!(forward([main], now()), []);
    }

    /// FS-6, FS-7, FS-8, FS-9, FS-10: id, label, description, file and ping permission of a fire.
    #[test]
    fn a_fire_says_what_it_is_and_where_it_is_written() {
        let first = |what: What, file: &str| {
            let planned = Planned { what, file: file.to_owned() };
            let one =
                Candidate { planned: &planned, recent: None, next: Some(minutes(5)), role: Role::Other };
            forward([one], now()).remove(0)
        };
        let plain = first(What::Routine(routine("mail")), "routines/look-at-the-mail.md");
        assert_eq!((plain.id.as_str(), plain.label.as_str()), ("mail", "Routine"));
        assert_eq!((plain.description.as_str(), plain.silence), ("look at the mail", Pings::Allowed));
        assert_eq!(plain.file, "routines/look-at-the-mail.md");

        let quiet =
            Routine { description: "Morning mail".to_owned(), charter: aside(Pings::Never), ..routine("m") };
        let quiet = first(What::Routine(quiet), "routines/m.md");
        assert_eq!((quiet.label.as_str(), quiet.description.as_str()), ("Morning mail", "Morning mail"));
        assert_eq!(quiet.silence, Pings::Never);

        let single = first(What::Reminder(reminder(aside(Pings::Allowed))), "reminders/r.md");
        assert_eq!(single.label, "Reminder");
        assert_eq!(single.description, format!("{}...", &"word ".repeat(30)[..60]));

        let mut check = reminder(aside(Pings::Allowed));
        check.chain = Chain { depth: 1, max: 3, parent: None };
        let check = first(What::Reminder(check), "reminders/r.md");
        assert_eq!(check.label, "Chain reminder (2/4)");
    }
}
