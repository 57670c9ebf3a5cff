//! The forward schedule: other background jobs around the current time, so that a run can judge
//! whether to spend a ping.

use jiff::{SignedDuration, Timestamp};

use super::{JobSpec, PingPermission, PlannedJob};

/// Fires up to this long ago are shown.
pub const RECENT_WINDOW: SignedDuration = SignedDuration::from_mins(15);
/// All fires up to this far ahead are shown.
const FULL_LOOKAHEAD: SignedDuration = SignedDuration::from_hours(3);
/// No fire further ahead than this is shown.
pub const MAX_LOOKAHEAD: SignedDuration = SignedDuration::from_hours(12);
/// At least this many fires are shown, if there are that many before [`MAX_LOOKAHEAD`].
const MIN_SHOWN: usize = 3;
/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 60;

/// A job that may be part of the forward schedule.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleCandidate<'a> {
    pub job: &'a PlannedJob,
    /// Its last fire, if within [`RECENT_WINDOW`].
    pub recent: Option<Timestamp>,
    pub next: Option<Timestamp>,
    pub role: CandidateRole,
}

/// The relation of a candidate to the run that reads the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateRole {
    /// The run itself.
    Running,
    Other,
}

/// One fire in the forward schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpcomingFire {
    pub id: String,
    pub at: Timestamp,
    pub label: String,
    pub description: String,
    /// The path of its file, relative to the data directory.
    pub file: String,
    pub pings: PingPermission,
    pub tag: Option<Tag>,
}

impl UpcomingFire {
    /// Returns a copy without texts of the job: only the time and whether it may ping.
    #[must_use]
    pub fn redacted(self) -> Self {
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
pub fn forward_schedule<'a>(
    candidates: impl IntoIterator<Item = ScheduleCandidate<'a>>,
    now: Timestamp,
) -> Vec<UpcomingFire> {
    let near = now.checked_add(FULL_LOOKAHEAD).unwrap_or(Timestamp::MAX);
    let mut fires: Vec<Fire<'a>> = candidates.into_iter().flat_map(|one| one.fires(now)).collect();
    fires.sort_by_key(|fire| fire.at);
    let recent = fires.partition_point(|fire| fire.at <= now);
    let soon = fires[recent..].partition_point(|fire| fire.at <= near);
    fires.truncate(recent + soon.max(MIN_SHOWN));
    fires.into_iter().map(Fire::upcoming).collect()
}

struct Fire<'a> {
    job: &'a PlannedJob,
    at: Timestamp,
    pings: PingPermission,
    tag: Option<Tag>,
}

impl<'a> ScheduleCandidate<'a> {
    /// FS-3, FS-12: its last and next fire, as far as they are shown.
    fn fires(self, now: Timestamp) -> impl Iterator<Item = Fire<'a>> {
        let since = now.checked_sub(RECENT_WINDOW).unwrap_or(Timestamp::MIN);
        let until = now.checked_add(MAX_LOOKAHEAD).unwrap_or(Timestamp::MAX);
        let tag = match self.role {
            CandidateRole::Running => Tag::ThisTask,
            CandidateRole::Other => Tag::JustFired,
        };
        let recent = self.recent.filter(|at| (since..=now).contains(at)).map(|at| (at, Some(tag)));
        let next = self.next.filter(|at| *at > now && *at <= until).map(|at| (at, None));
        let silence = self.job.target().options().map(|terms| terms.report_policy.pings);
        let fire = move |(at, tag)| Some(Fire { job: self.job, at, pings: silence?, tag });
        recent.into_iter().chain(next).filter_map(fire)
    }
}

impl Fire<'_> {
    /// FS-6: the displayed form.
    fn upcoming(self) -> UpcomingFire {
        UpcomingFire {
            id: self.job.id().to_string(),
            at: self.at,
            label: label(self.job),
            description: description(self.job),
            file: self.job.file.clone(),
            pings: self.pings,
            tag: self.tag,
        }
    }
}

/// FS-7: the label.
fn label(planned: &PlannedJob) -> String {
    match &planned.spec {
        JobSpec::Routine(routine) if routine.description.is_empty() => "Routine".to_owned(),
        JobSpec::Routine(routine) => one_line(&routine.description),
        JobSpec::Reminder(reminder) => match &reminder.chain {
            chain if chain.max > 0 => {
                format!("Chain reminder ({}/{})", chain.depth.saturating_add(1), chain.max.saturating_add(1))
            }
            _ => "Reminder".to_owned(),
        },
    }
}

/// FS-8: the description.
fn description(planned: &PlannedJob) -> String {
    if !planned.description().is_empty() {
        return one_line(planned.description());
    }
    let words = one_line(planned.prompt().as_str());
    match words.char_indices().nth(MAX_DESCRIPTION_CHARS) {
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
    use crate::schedule::Recurrence;
    use crate::schedule::{
        Chain, Cron, ItemId, JobTarget, Moment, Prompt, Reminder, ReportMode, ReportPolicy, Routine,
        RunOptions,
    };
    use jiff::tz::TimeZone;

    const NOW: &str = "2026-11-16T10:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn minutes(minutes: i64) -> Timestamp {
        now() + SignedDuration::from_mins(minutes)
    }

    fn background(pings: PingPermission) -> JobTarget {
        let voice = ReportPolicy { reporting: ReportMode::OnPing, pings };
        JobTarget::Fork(RunOptions { report_policy: voice, ..RunOptions::default() })
    }

    fn routine(id: &str) -> Routine {
        let cron = Cron::parse("0 9 * * *").unwrap();
        let routine =
            Routine::new(ItemId::parse(id).unwrap(), Recurrence::new(cron), Prompt::new("look\nat the mail"));
        Routine { target: background(PingPermission::Allowed), ..routine }
    }

    fn planned(routine: Routine) -> PlannedJob {
        let file = format!("routines/{}.md", routine.id);
        PlannedJob { spec: JobSpec::Routine(routine), file }
    }

    fn reminder(charter: JobTarget) -> Reminder {
        let id = ItemId::parse("r").unwrap();
        let due = Moment::parse(NOW, &TimeZone::UTC).unwrap();
        Reminder::new(id, due, charter, Prompt::new(&"word ".repeat(30))).unwrap()
    }

    /// Formats fires as `id+minutes` with a sign for the tag.
    fn format_fires(fires: &[UpcomingFire]) -> String {
        let one = |fire: &UpcomingFire| {
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
    fn format_schedule(fires: &[i64]) -> String {
        let jobs: Vec<PlannedJob> = (0..fires.len()).map(|n| planned(routine(&format!("j{n}")))).collect();
        let candidates = jobs.iter().zip(fires).map(|(planned, at)| {
            let (recent, next) =
                if *at > 0 { (None, Some(minutes(*at))) } else { (Some(minutes(*at)), None) };
            ScheduleCandidate { job: planned, recent, next, role: CandidateRole::Other }
        });
        format_fires(&forward_schedule(candidates, now()))
    }

    /// FS-2, FS-3, FS-4, FS-5, FS-11: recent fires and three hours, or the first three of twelve
    /// hours.
    #[test]
    fn three_hours_are_shown_or_three_fires() {
        assert_eq!(format_schedule(&[]), "");
        assert_eq!(format_schedule(&[-16, -15, 0, 720, 721]), "j1-15? j2+0? j3+720");
        assert_eq!(format_schedule(&[30, 20, 10, 180, 181]), "j2+10 j1+20 j0+30 j3+180");
        assert_eq!(format_schedule(&[30, 179, 181, 240, 300]), "j0+30 j1+179 j2+181");
        assert_eq!(format_schedule(&[400, 500]), "j0+400 j1+500");
        assert_eq!(format_schedule(&[400, 500, 600, 700, -1]), "j4-1? j0+400 j1+500 j2+600");
    }

    /// FS-11, FS-12: the running job is tagged once; its own next fire is not.
    #[test]
    fn the_running_job_is_tagged_once() {
        let one = planned(routine("one"));
        let two = planned(routine("two"));
        let fires = |planned, role| ScheduleCandidate {
            job: planned,
            recent: Some(now()),
            next: Some(minutes(60)),
            role,
        };
        let shown =
            forward_schedule([fires(&one, CandidateRole::Running), fires(&two, CandidateRole::Other)], now());
        assert_eq!(format_fires(&shown), "one+0! two+0? one+60 two+60");
    }

    /// FS-1: jobs in the main conversation are not shown.
    #[test]
    fn only_background_jobs_are_shown() {
        let main = planned(Routine { target: JobTarget::main(), ..routine("main") });
        let main = ScheduleCandidate {
            job: &main,
            recent: Some(now()),
            next: Some(minutes(1)),
            role: CandidateRole::Other,
        };
        assert_eq!(forward_schedule([main], now()), []);
    }

    /// FS-6, FS-7, FS-8, FS-9, FS-10: id, label, description, file and ping permission of a fire.
    #[test]
    fn a_fire_has_label_description_and_file() {
        let first = |what: JobSpec, file: &str| {
            let planned = PlannedJob { spec: what, file: file.to_owned() };
            let one = ScheduleCandidate {
                job: &planned,
                recent: None,
                next: Some(minutes(5)),
                role: CandidateRole::Other,
            };
            forward_schedule([one], now()).remove(0)
        };
        let plain = first(JobSpec::Routine(routine("mail")), "routines/look-at-the-mail.md");
        assert_eq!((plain.id.as_str(), plain.label.as_str()), ("mail", "Routine"));
        assert_eq!((plain.description.as_str(), plain.pings), ("look at the mail", PingPermission::Allowed));
        assert_eq!(plain.file, "routines/look-at-the-mail.md");

        let quiet = Routine {
            description: "Morning mail".to_owned(),
            target: background(PingPermission::Never),
            ..routine("m")
        };
        let quiet = first(JobSpec::Routine(quiet), "routines/m.md");
        assert_eq!((quiet.label.as_str(), quiet.description.as_str()), ("Morning mail", "Morning mail"));
        assert_eq!(quiet.pings, PingPermission::Never);

        let single =
            first(JobSpec::Reminder(reminder(background(PingPermission::Allowed))), "reminders/r.md");
        assert_eq!(single.label, "Reminder");
        assert_eq!(single.description, format!("{}...", &"word ".repeat(30)[..60]));

        let mut check = reminder(background(PingPermission::Allowed));
        check.chain = Chain { depth: 1, max: 3, parent: None };
        let check = first(JobSpec::Reminder(check), "reminders/r.md");
        assert_eq!(check.label, "Chain reminder (2/4)");
    }
}
