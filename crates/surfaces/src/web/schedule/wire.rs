//! The schedule on its way to the page and the command line.

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

/// The most times of one job.
const FIRES: usize = 200;
/// The most times in all.
const FIRES_IN_ALL: usize = 2_000;
/// How many occurrences of a job are told, besides those in the window.
const LAST: usize = 5;
/// The most occurrences of one job.
const MARKS: usize = 300;
/// How far back missed times are told.
const MISSED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The hours that are named along a day.
const HOURS: [i8; 4] = [0, 6, 12, 18];

/// The schedule.
#[derive(Serialize)]
pub struct ScheduleWire {
    now: String,
    from: String,
    to: String,
    /// The hours to name along the window, if it is about a day long.
    hours: Vec<HourWire>,
    /// Whether all routines rest, and until when.
    paused: Option<PausedWire>,
    jobs: Vec<JobWire>,
    /// How many jobs are left out because there are so many.
    left_out: usize,
    /// Occurrences in the window of jobs that are not planned any more.
    gone: Vec<OccurrenceWire>,
    missed: Vec<OccurrenceWire>,
    broken: Vec<BrokenWire>,
}

/// An hour along a day.
#[derive(Serialize)]
struct HourWire {
    at: String,
    hour: i8,
}

/// A rest: for now, if there is no end.
#[derive(Serialize)]
struct PausedWire {
    until: Option<String>,
    words: String,
}

/// Something planned.
#[derive(Serialize)]
struct JobWire {
    /// Whose occurrences are its own: `routine:mail`.
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
    /// Being done, tried again, or waiting for main: nothing, if it is not its time.
    open: Option<OccurrenceWire>,
    last: Vec<OccurrenceWire>,
}

/// When it comes.
#[derive(Serialize)]
struct WhenWire {
    /// `routine` or `reminder`.
    kind: &'static str,
    /// In words: `weekdays 15:00`.
    when: String,
    next: Option<TimeWire>,
    paused: Option<PausedWire>,
}

/// How it is done.
#[derive(Serialize)]
struct MannerWire {
    background: bool,
    /// `persistent`, if it has a session of its own.
    session: Option<&'static str>,
    #[serde(flatten)]
    voice: VoiceWire,
}

/// Whether it may interrupt the human; on main there is nobody to interrupt.
#[derive(Serialize)]
struct VoiceWire {
    may_ping: bool,
}

/// Its times that are still to come.
#[derive(Serialize)]
struct TimesWire {
    fires: Vec<String>,
    /// Whether there are more in the window than are told.
    fires_cut: bool,
}

/// A time, for programs and for people.
#[derive(Serialize)]
pub(in crate::web) struct TimeWire {
    at: String,
    words: String,
}

/// A file with which something is wrong, and what.
#[derive(Serialize)]
struct BrokenWire {
    file: String,
    why: String,
    /// Whether it can be read, and only asks for more than is accepted.
    asks: bool,
}

/// One time at which one job was due.
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

/// What only some occurrences have.
#[derive(Serialize)]
struct MoreWire {
    /// Whether it ran in the background and showed nothing.
    silent: bool,
    /// When a failed one is tried again.
    again: Option<String>,
    /// How many times in a row were missed, and the last of them.
    missed: Option<(u32, String)>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The message with which it was put to main.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<u64>,
}

/// What became of the times of one job.
#[derive(Serialize)]
pub struct PastWire {
    pub past: Vec<OccurrenceWire>,
}

/// A job began, under the number of a turn, or of a message on main. It has neither if it has ended already: a reminder
/// that was shown and about which no model is asked.
#[derive(Serialize)]
pub struct BegunWire {
    pub ok: bool,
    pub turn: Option<u64>,
    pub message: Option<u64>,
}

/// What a file says.
#[derive(Serialize)]
pub struct FileWire {
    pub file: String,
    pub text: String,
}

/// When a job would come.
#[derive(Serialize)]
pub struct CheckedWire {
    pub when: String,
    /// Whether it would rest now.
    pub rests: bool,
    pub(super) next: Vec<TimeWire>,
}

impl ScheduleWire {
    /// What is `shown` of the plans, and what became of them.
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

/// The times of the last days that nobody kept, newest first.
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
    /// `at`, as the human is told: `today 15:00 · in 2 h`.
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
    /// It, and whether it was silent, if that can be told from what runs `sent`.
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
