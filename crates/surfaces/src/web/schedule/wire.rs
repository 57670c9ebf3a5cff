//! The schedule as JSON for the page and the command line.

use domain::assistant::{Broken, Flaw, Plans};
use domain::cost::Source;
use domain::occurrence::{End, Occurrence, Stage};
use domain::phrase::{When, tell};
use domain::schedule::{Charter, Lateness, Pings, Plan, Planned, Rest, Standing, What};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use serde::Serialize;

use super::window::Window;
use super::{Past, Sent};
use crate::web::sessions::moment;

/// Maximum number of future times of one job.
const FIRES: usize = 200;
/// Maximum number of future times in total.
const FIRES_IN_ALL: usize = 2_000;
/// Number of past occurrences of a job returned in addition to those in the window.
const LAST: usize = 5;
/// Maximum number of past occurrences of one job.
const MARKS: usize = 300;
/// How far back missed occurrences are returned.
const MISSED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Hours labelled along a day.
const HOURS: [i8; 4] = [0, 6, 12, 18];

#[derive(Serialize)]
pub struct ScheduleWire {
    now: String,
    from: String,
    to: String,
    /// Hours to label along the window, if it is about one day.
    hours: Vec<HourWire>,
    /// Whether and until when all routines are paused.
    paused: Option<PausedWire>,
    jobs: Vec<JobWire>,
    /// Number of omitted jobs.
    left_out: usize,
    /// Occurrences in the window of jobs that are not planned any more.
    gone: Vec<OccurrenceWire>,
    missed: Vec<OccurrenceWire>,
    broken: Vec<BrokenWire>,
}

#[derive(Serialize)]
struct HourWire {
    at: String,
    hour: i8,
}

/// A pause; indefinite without an end.
#[derive(Serialize)]
struct PausedWire {
    until: Option<String>,
    words: String,
}

/// A planned job.
#[derive(Serialize)]
struct JobWire {
    /// Source of its occurrences, such as `routine:mail`.
    job: String,
    id: String,
    name: String,
    file: String,
    /// What a model had read from outside before it planned or changed the job, such as `a page from example.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(flatten)]
    when: WhenWire,
    #[serde(flatten)]
    manner: MannerWire,
    #[serde(flatten)]
    times: TimesWire,
    /// The running or waiting occurrence.
    open: Option<OccurrenceWire>,
    last: Vec<OccurrenceWire>,
}

/// When it runs.
#[derive(Serialize)]
struct WhenWire {
    /// `routine` or `reminder`.
    kind: &'static str,
    /// Description such as `weekdays 15:00`.
    when: String,
    next: Option<TimeWire>,
    paused: Option<PausedWire>,
}

/// How it runs.
#[derive(Serialize)]
struct MannerWire {
    background: bool,
    /// `persistent` for a session of its own.
    session: Option<&'static str>,
    #[serde(flatten)]
    voice: VoiceWire,
}

/// Whether it may ping the user; always false on main.
#[derive(Serialize)]
struct VoiceWire {
    may_ping: bool,
}

/// Future times in the window.
#[derive(Serialize)]
struct TimesWire {
    fires: Vec<String>,
    /// True if there are more.
    fires_cut: bool,
}

/// A time in machine-readable and displayed form.
#[derive(Serialize)]
pub(in crate::web) struct TimeWire {
    at: String,
    words: String,
}

/// A job file with a problem.
#[derive(Serialize)]
struct BrokenWire {
    file: String,
    why: String,
    /// True if it is valid but asks for more than was accepted.
    asks: bool,
}

/// One occurrence of a job.
#[derive(Serialize)]
pub struct OccurrenceWire {
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
    more: MoreWire,
}

/// Details that only some occurrences have.
#[derive(Serialize)]
struct MoreWire {
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
pub struct PastWire {
    pub past: Vec<OccurrenceWire>,
}

/// A started job, with the number of its turn, or of its message on main. Both are null if it is
/// finished already: a reminder shown without the model.
#[derive(Serialize)]
pub struct BegunWire {
    pub ok: bool,
    pub turn: Option<u64>,
    pub message: Option<u64>,
}

/// A file and its text.
#[derive(Serialize)]
pub struct FileWire {
    pub file: String,
    pub text: String,
}

/// When a job would run.
#[derive(Serialize)]
pub struct CheckedWire {
    pub when: String,
    /// True if it would be paused now.
    pub rests: bool,
    pub(super) next: Vec<TimeWire>,
}

impl ScheduleWire {
    /// Creates the schedule for the plans in `shown`.
    pub(super) fn new(
        plans: &Plans,
        (shown, past): (&[(&Source, &Plan)], &Past),
        (window, now): (&Window, &Zoned),
    ) -> Self {
        let zone = now.time_zone();
        let mut left = FIRES_IN_ALL;
        let jobs = shown.iter().map(|(source, plan)| {
            let times = TimesWire::new(plans, plan, window, zone, &mut left);
            JobWire::new(plans, (source, plan), past, (window, now), times)
        });
        let all = || past.of.values().flatten();
        let tell = |occurrence: &Occurrence| OccurrenceWire::new(occurrence, None, zone);
        let gone =
            all().filter(|one| plans.agenda.get(&one.key.source).is_none() && window.holds(one.key.due));
        Self {
            now: moment(now.timestamp(), zone),
            from: moment(window.from, zone),
            to: moment(window.to, zone),
            hours: hours(window, zone),
            paused: PausedWire::of(plans.agenda.rest(), now),
            jobs: jobs.collect(),
            left_out: plans.agenda.plans().count() - shown.len(),
            gone: gone.take(MARKS).map(tell).collect(),
            missed: missed(past, now),
            broken: plans.broken.iter().map(BrokenWire::from).collect(),
        }
    }
}

/// Returns the recently missed occurrences, newest first.
pub(in crate::web) fn missed(past: &Past, now: &Zoned) -> Vec<OccurrenceWire> {
    let recent = |one: &&Occurrence| now.timestamp().duration_since(one.since) <= MISSED;
    let is_missed = |one: &&Occurrence| matches!(one.stage, Stage::Ended(End::Missed { .. }));
    let mut all: Vec<&Occurrence> = past.of.values().flatten().filter(is_missed).filter(recent).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.key.due));
    all.iter().take(MARKS).map(|one| OccurrenceWire::new(one, None, now.time_zone())).collect()
}

fn hours(window: &Window, zone: &TimeZone) -> Vec<HourWire> {
    let date = window.from.to_zoned(zone.clone()).date();
    let at = |hour: &i8| {
        let clock = zone.to_ambiguous_zoned(date.at(*hour, 0, 0, 0)).compatible().ok()?;
        let at = moment(clock.timestamp(), zone);
        window.holds(clock.timestamp()).then_some(HourWire { at, hour: *hour })
    };
    match window.to.duration_since(window.from).as_hours() {
        ..=25 => HOURS.iter().filter_map(at).collect(),
        26.. => Vec::new(),
    }
}

impl TimesWire {
    fn new(plans: &Plans, plan: &Plan, window: &Window, zone: &TimeZone, left: &mut usize) -> Self {
        let most = FIRES.min(*left);
        let mut ahead = plans.agenda.ahead(plan, (window.from, window.to), zone);
        let fires: Vec<String> = ahead.by_ref().take(most).map(|at| moment(at, zone)).collect();
        *left -= fires.len();
        Self { fires_cut: ahead.next().is_some(), fires }
    }
}

impl JobWire {
    fn new(
        plans: &Plans,
        (source, plan): (&Source, &Plan),
        past: &Past,
        (window, now): (&Window, &Zoned),
        times: TimesWire,
    ) -> Self {
        let planned = &plan.planned;
        let zone = now.time_zone();
        let sent = match planned.charter().standing() {
            Standing::Background => Some(past.sent.as_slice()),
            Standing::Foreground => None,
        };
        let tell = |occurrence: &Occurrence| OccurrenceWire::new(occurrence, sent, zone);
        let known = past.of.get(source).into_iter().flatten().enumerate();
        let last = known.filter(|(at, one)| *at < LAST || window.holds(one.key.due)).map(|(_, one)| one);
        Self {
            job: source.to_string(),
            id: planned.id().to_string(),
            name: planned.name(),
            file: planned.file.clone(),
            origin: plans.origin_of(source).map(str::to_owned),
            when: WhenWire::new(plan, now),
            manner: MannerWire::from(&**planned),
            times,
            open: plans.busy_with(source).or(plans.queued(source)).map(tell),
            last: last.take(MARKS).map(tell).collect(),
        }
    }
}

impl WhenWire {
    fn new(plan: &Plan, now: &Zoned) -> Self {
        let (kind, when) = match &plan.planned.what {
            What::Routine(routine) => ("routine", routine.rhythm.tell()),
            What::Reminder(_) => {
                ("reminder", plan.planned.cue().map_or("once".to_owned(), ToString::to_string))
            }
        };
        let next = plan.next.map(|at| TimeWire::new(at, now));
        Self { kind, when, next, paused: PausedWire::of(plan.planned.manner().rest, now) }
    }
}

impl TimeWire {
    /// Formats `at` for display, such as `today 15:00 · in 2 h`.
    pub(in crate::web) fn new(at: Timestamp, now: &Zoned) -> Self {
        let zone = now.time_zone();
        let words = tell(&When::Once(at.to_zoned(zone.clone())), now, &[]);
        Self { at: moment(at, zone), words }
    }
}

impl PausedWire {
    fn of(rest: Rest, now: &Zoned) -> Option<Self> {
        match rest {
            Rest::Never => None,
            Rest::Until(end) if end.at <= now.timestamp() => None,
            Rest::Until(end) => {
                let TimeWire { at, words } = TimeWire::new(end.at, now);
                Some(Self { until: Some(at), words: format!("paused until {words}") })
            }
            Rest::ForNow => Some(Self { until: None, words: "paused".to_owned() }),
        }
    }
}

impl From<&Planned> for MannerWire {
    fn from(planned: &Planned) -> Self {
        let charter = planned.charter();
        let may_ping = charter.terms().is_some_and(|terms| terms.voice.pings == Pings::Allowed);
        Self {
            background: charter.standing() == Standing::Background,
            session: matches!(charter, Charter::Persistent(_)).then_some("persistent"),
            voice: VoiceWire { may_ping },
        }
    }
}

impl From<(&String, &Broken)> for BrokenWire {
    fn from((file, broken): (&String, &Broken)) -> Self {
        Self { file: file.clone(), why: broken.why.clone(), asks: broken.flaw == Flaw::Asking }
    }
}

impl OccurrenceWire {
    /// Converts an occurrence; `sent` determines whether it was silent.
    pub(super) fn new(occurrence: &Occurrence, sent: Option<&[Sent]>, zone: &TimeZone) -> Self {
        let (state, why) = match &occurrence.stage {
            Stage::Running(_) => ("running", ""),
            Stage::Asked(_) => ("asked", ""),
            Stage::Again(_) => ("again", ""),
            Stage::Queued => ("queued", ""),
            Stage::Ended(end) => (end.as_str(), end.why()),
        };
        Self {
            job: occurrence.key.source.to_string(),
            name: occurrence.name.clone(),
            due: moment(occurrence.key.due, zone),
            state,
            late: occurrence.lateness == Lateness::Late,
            why: why.to_owned(),
            since: moment(occurrence.since, zone),
            tries: occurrence.tries,
            more: MoreWire::new(occurrence, sent, zone),
        }
    }
}

impl MoreWire {
    fn new(occurrence: &Occurrence, sent: Option<&[Sent]>, zone: &TimeZone) -> Self {
        let mut silent = false;
        let mut again = None;
        let mut missed = None;
        let mut branch = None;
        let mut message = None;
        match &occurrence.stage {
            Stage::Again(at) => again = Some(moment(*at, zone)),
            Stage::Ended(End::Missed { last, count, .. }) => missed = Some((*count, moment(*last, zone))),
            Stage::Ended(End::Done(_)) => {
                silent = sent.is_some_and(|sent| Sent::none_of(sent, occurrence));
            }
            Stage::Running(there) => branch = Some(there.to_string()),
            Stage::Asked(asked) => message = Some(asked.0),
            Stage::Queued => {}
            Stage::Ended(End::Failed(_) | End::Skipped(_) | End::Cancelled(_)) => {}
        }
        Self { silent, again, missed, branch, message }
    }
}
