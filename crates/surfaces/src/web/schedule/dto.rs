//! The schedule as JSON for the page and the command line.

use domain::assistant::{BrokenFile, FileProblem, Plans};
use domain::cost::CostSource;
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use domain::phrase::{Timing, describe};
use domain::schedule::{
    JobSpec, JobTarget, Lateness, PauseState, PingPermission, Placement, Plan, PlannedJob,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use serde::Serialize;

use super::window::Window;
use super::{OccurrenceHistory, SentMessage};
use crate::web::sessions::format_time;

/// Maximum number of future times of one job.
const MAX_FIRES_PER_JOB: usize = 200;
/// Maximum number of future times in total.
const MAX_FIRES: usize = 2_000;
/// Number of past occurrences of a job returned in addition to those in the window.
const LAST_OCCURRENCES: usize = 5;
/// Maximum number of past occurrences of one job.
const MAX_OCCURRENCES: usize = 300;
/// How far back missed occurrences are returned.
const MISSED_PERIOD: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Hours labelled along a day.
const LABELLED_HOURS: [i8; 4] = [0, 6, 12, 18];

#[derive(Serialize)]
pub struct ScheduleDto {
    now: String,
    from: String,
    to: String,
    /// Hours to label along the window, if it is about one day.
    hours: Vec<HourDto>,
    /// The pause of all routines, if they are paused.
    paused: Option<PauseDto>,
    jobs: Vec<JobDto>,
    /// Number of omitted jobs.
    left_out: usize,
    /// Occurrences in the window of jobs that are not planned any more.
    gone: Vec<OccurrenceDto>,
    missed: Vec<OccurrenceDto>,
    broken: Vec<BrokenFileDto>,
}

#[derive(Serialize)]
struct HourDto {
    at: String,
    hour: i8,
}

/// A pause; indefinite without an end.
#[derive(Serialize)]
struct PauseDto {
    until: Option<String>,
    words: String,
}

/// A planned job.
#[derive(Serialize)]
struct JobDto {
    /// Source of its occurrences, such as `routine:mail`.
    job: String,
    id: String,
    name: String,
    file: String,
    /// A description of the outside text that a model had read before it planned or changed the
    /// job, such as `a page from example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(flatten)]
    when: WhenDto,
    #[serde(flatten)]
    manner: RunOptionsDto,
    #[serde(flatten)]
    times: TimesDto,
    /// The running or waiting occurrence.
    open: Option<OccurrenceDto>,
    last: Vec<OccurrenceDto>,
}

/// When it runs.
#[derive(Serialize)]
struct WhenDto {
    /// `routine` or `reminder`.
    kind: &'static str,
    /// Description such as `weekdays 15:00`.
    when: String,
    next: Option<TimeDto>,
    paused: Option<PauseDto>,
}

/// The options of a run.
#[derive(Serialize)]
struct RunOptionsDto {
    background: bool,
    /// `persistent` for a session of its own.
    session: Option<&'static str>,
    #[serde(flatten)]
    voice: PingPermissionDto,
}

/// Whether it may ping the user; always false on main.
#[derive(Serialize)]
struct PingPermissionDto {
    may_ping: bool,
}

/// Future times in the window.
#[derive(Serialize)]
struct TimesDto {
    fires: Vec<String>,
    /// True if there are more.
    fires_cut: bool,
}

/// A time in machine-readable and displayed form.
#[derive(Serialize)]
pub(in crate::web) struct TimeDto {
    at: String,
    words: String,
}

/// A job file with a problem.
#[derive(Serialize)]
struct BrokenFileDto {
    file: String,
    why: String,
    /// True if it is valid but asks for more than was accepted.
    asks: bool,
}

/// One occurrence of a job.
#[derive(Serialize)]
pub struct OccurrenceDto {
    job: String,
    name: String,
    due: String,
    /// `running`, `asked`, `again`, `queued`, `done`, `failed`, `missed`, `skipped` or `cancelled`.
    state: &'static str,
    late: bool,
    why: String,
    since: String,
    tries: u32,
    #[serde(flatten)]
    more: OccurrenceDetailsDto,
}

/// Details that only some occurrences have.
#[derive(Serialize)]
struct OccurrenceDetailsDto {
    /// True if it ran in the background and sent nothing.
    silent: bool,
    /// Time of the next attempt after a failure.
    again: Option<String>,
    /// Number of consecutive missed times, and the last one.
    missed: Option<(u32, String)>,
    /// Branch of a running occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Message with which it was queued on main.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<u64>,
}

#[derive(Serialize)]
pub struct PastDto {
    pub past: Vec<OccurrenceDto>,
}

/// A started job, with the number of its turn, or of its message on main. Both are null if it is
/// finished already: a reminder shown without the model.
#[derive(Serialize)]
pub struct StartedDto {
    pub ok: bool,
    pub turn: Option<u64>,
    pub message: Option<u64>,
}

/// A file and its text.
#[derive(Serialize)]
pub struct FileDto {
    pub file: String,
    pub text: String,
}

/// When a job would run.
#[derive(Serialize)]
pub struct CheckDto {
    pub when: String,
    /// True if it would be paused now.
    pub rests: bool,
    pub(super) next: Vec<TimeDto>,
}

impl ScheduleDto {
    /// Creates the schedule for the plans in `shown`.
    pub(super) fn new(
        plans: &Plans,
        (shown, past): (&[(&CostSource, &Plan)], &OccurrenceHistory),
        (window, now): (&Window, &Zoned),
    ) -> Self {
        let zone = now.time_zone();
        let mut left = MAX_FIRES;
        let jobs = shown.iter().map(|(source, plan)| {
            let times = TimesDto::new(plans, plan, window, zone, &mut left);
            JobDto::new(plans, (source, plan), past, (window, now), times)
        });
        let all = || past.by_source.values().flatten();
        let tell = |occurrence: &Occurrence| OccurrenceDto::new(occurrence, None, zone);
        let gone =
            all().filter(|one| plans.agenda.get(&one.key.source).is_none() && window.contains(one.key.due));
        Self {
            now: format_time(now.timestamp(), zone),
            from: format_time(window.from, zone),
            to: format_time(window.to, zone),
            hours: hours(window, zone),
            paused: PauseDto::new(plans.agenda.pause(), now),
            jobs: jobs.collect(),
            left_out: plans.agenda.plans().count() - shown.len(),
            gone: gone.take(MAX_OCCURRENCES).map(tell).collect(),
            missed: missed_occurrences(past, now),
            broken: plans.broken.iter().map(BrokenFileDto::from).collect(),
        }
    }
}

/// Returns the recently missed occurrences, newest first.
pub(in crate::web) fn missed_occurrences(past: &OccurrenceHistory, now: &Zoned) -> Vec<OccurrenceDto> {
    let recent = |one: &&Occurrence| now.timestamp().duration_since(one.since) <= MISSED_PERIOD;
    let is_missed =
        |one: &&Occurrence| matches!(one.state, OccurrenceState::Ended(OccurrenceEnd::Missed { .. }));
    let mut all: Vec<&Occurrence> =
        past.by_source.values().flatten().filter(is_missed).filter(recent).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.key.due));
    all.iter().take(MAX_OCCURRENCES).map(|one| OccurrenceDto::new(one, None, now.time_zone())).collect()
}

fn hours(window: &Window, zone: &TimeZone) -> Vec<HourDto> {
    let date = window.from.to_zoned(zone.clone()).date();
    let at = |hour: &i8| {
        let clock = zone.to_ambiguous_zoned(date.at(*hour, 0, 0, 0)).compatible().ok()?;
        let at = format_time(clock.timestamp(), zone);
        window.contains(clock.timestamp()).then_some(HourDto { at, hour: *hour })
    };
    match window.to.duration_since(window.from).as_hours() {
        ..=25 => LABELLED_HOURS.iter().filter_map(at).collect(),
        26.. => Vec::new(),
    }
}

impl TimesDto {
    fn new(plans: &Plans, plan: &Plan, window: &Window, zone: &TimeZone, left: &mut usize) -> Self {
        let most = MAX_FIRES_PER_JOB.min(*left);
        let mut ahead = plans.agenda.future_times(plan, (window.from, window.to), zone);
        let fires: Vec<String> = ahead.by_ref().take(most).map(|at| format_time(at, zone)).collect();
        *left -= fires.len();
        Self { fires_cut: ahead.next().is_some(), fires }
    }
}

impl JobDto {
    fn new(
        plans: &Plans,
        (source, plan): (&CostSource, &Plan),
        past: &OccurrenceHistory,
        (window, now): (&Window, &Zoned),
        times: TimesDto,
    ) -> Self {
        let planned = &plan.job;
        let zone = now.time_zone();
        let sent = match planned.target().placement() {
            Placement::Background => Some(past.sent.as_slice()),
            Placement::Foreground => None,
        };
        let tell = |occurrence: &Occurrence| OccurrenceDto::new(occurrence, sent, zone);
        let known = past.by_source.get(source).into_iter().flatten().enumerate();
        let last = known
            .filter(|(at, one)| *at < LAST_OCCURRENCES || window.contains(one.key.due))
            .map(|(_, one)| one);
        Self {
            job: source.to_string(),
            id: planned.id().to_string(),
            name: planned.display_name(),
            file: planned.file.clone(),
            origin: plans.origin_of(source).map(str::to_owned),
            when: WhenDto::new(plan, now),
            manner: RunOptionsDto::from(&**planned),
            times,
            open: plans.busy_with(source).or(plans.queued(source)).map(tell),
            last: last.take(MAX_OCCURRENCES).map(tell).collect(),
        }
    }
}

impl WhenDto {
    fn new(plan: &Plan, now: &Zoned) -> Self {
        let (kind, when) = match &plan.job.spec {
            JobSpec::Routine(routine) => ("routine", routine.recurrence.describe()),
            JobSpec::Reminder(_) => {
                ("reminder", plan.job.cue().map_or("once".to_owned(), ToString::to_string))
            }
        };
        let next = plan.next.map(|at| TimeDto::new(at, now));
        Self { kind, when, next, paused: PauseDto::new(plan.job.firing_policy().pause, now) }
    }
}

impl TimeDto {
    /// Formats `at` for display, such as `today 15:00 · in 2 h`.
    pub(in crate::web) fn new(at: Timestamp, now: &Zoned) -> Self {
        let zone = now.time_zone();
        let words = describe(&Timing::Once(at.to_zoned(zone.clone())), now, &[]);
        Self { at: format_time(at, zone), words }
    }
}

impl PauseDto {
    fn new(rest: PauseState, now: &Zoned) -> Option<Self> {
        match rest {
            PauseState::Active => None,
            PauseState::Until(end) if end.at <= now.timestamp() => None,
            PauseState::Until(end) => {
                let TimeDto { at, words } = TimeDto::new(end.at, now);
                Some(Self { until: Some(at), words: format!("paused until {words}") })
            }
            PauseState::Indefinite => Some(Self { until: None, words: "paused".to_owned() }),
        }
    }
}

impl From<&PlannedJob> for RunOptionsDto {
    fn from(planned: &PlannedJob) -> Self {
        let charter = planned.target();
        let may_ping =
            charter.options().is_some_and(|terms| terms.report_policy.pings == PingPermission::Allowed);
        Self {
            background: charter.placement() == Placement::Background,
            session: matches!(charter, JobTarget::Persistent(_)).then_some("persistent"),
            voice: PingPermissionDto { may_ping },
        }
    }
}

impl From<(&String, &BrokenFile)> for BrokenFileDto {
    fn from((file, broken): (&String, &BrokenFile)) -> Self {
        Self { file: file.clone(), why: broken.why.clone(), asks: broken.problem == FileProblem::NotAccepted }
    }
}

impl OccurrenceDto {
    /// Converts an occurrence; `sent` determines whether it was silent.
    pub(super) fn new(occurrence: &Occurrence, sent: Option<&[SentMessage]>, zone: &TimeZone) -> Self {
        let (state, why) = match &occurrence.state {
            OccurrenceState::Running(_) => ("running", ""),
            OccurrenceState::SentToMain(_) => ("asked", ""),
            OccurrenceState::Retrying(_) => ("again", ""),
            OccurrenceState::Queued => ("queued", ""),
            OccurrenceState::Ended(end) => (end.as_str(), end.note()),
        };
        Self {
            job: occurrence.key.source.to_string(),
            name: occurrence.name.clone(),
            due: format_time(occurrence.key.due, zone),
            state,
            late: occurrence.lateness == Lateness::Late,
            why: why.to_owned(),
            since: format_time(occurrence.since, zone),
            tries: occurrence.tries,
            more: OccurrenceDetailsDto::new(occurrence, sent, zone),
        }
    }
}

impl OccurrenceDetailsDto {
    fn new(occurrence: &Occurrence, sent: Option<&[SentMessage]>, zone: &TimeZone) -> Self {
        let mut silent = false;
        let mut again = None;
        let mut missed = None;
        let mut branch = None;
        let mut message = None;
        match &occurrence.state {
            OccurrenceState::Retrying(at) => again = Some(format_time(*at, zone)),
            OccurrenceState::Ended(OccurrenceEnd::Missed { last, count, .. }) => {
                missed = Some((*count, format_time(*last, zone)))
            }
            OccurrenceState::Ended(OccurrenceEnd::Done(_)) => {
                silent = sent.is_some_and(|sent| SentMessage::none_during(sent, occurrence));
            }
            OccurrenceState::Running(there) => branch = Some(there.to_string()),
            OccurrenceState::SentToMain(asked) => message = Some(asked.0),
            OccurrenceState::Queued => {}
            OccurrenceState::Ended(
                OccurrenceEnd::Failed(_) | OccurrenceEnd::Skipped(_) | OccurrenceEnd::Cancelled(_),
            ) => {}
        }
        Self { silent, again, missed, branch, message }
    }
}
