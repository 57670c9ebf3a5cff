//! State of a single job file.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use domain::cost::CostSource;
use domain::schedule::{ItemId, JobSpec, PlannedJob};
use domain::tool::pattern::{
    ListSource, PatternDiagnostic as ListComplaint, allows_nothing, forbidden_diagnostics,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::kind::JobFileName;
use crate::acceptance::{AcceptedPermissions, PermissionRequests};
use crate::disk::{Disk, Stamp};
use crate::files::items::{parse_id, read_text_as};

/// The time that a file must be missing before it counts as removed.
const MISSING_DELAY: SignedDuration = SignedDuration::from_millis(250);

/// The time after its last change at which an invalid file counts as completely saved. A program that writes
/// it in place may pause.
const SETTLE_DELAY: SignedDuration = SignedDuration::from_secs(2);

/// The resolution of file times: two changes within it may have the same time.
const TIMESTAMP_RESOLUTION: SignedDuration = SignedDuration::from_secs(2);

/// When a file missing since `since` counts as removed.
pub(super) fn gone_at(since: Timestamp) -> Timestamp {
    since.checked_add(MISSING_DELAY).unwrap_or(since)
}

/// When a problem that exists since `since` is reported.
pub(super) fn settled_at(since: Timestamp) -> Timestamp {
    since.checked_add(SETTLE_DELAY).unwrap_or(since)
}

/// A tracked job file.
pub(super) struct TrackedFile {
    /// Its plan when it was last valid.
    pub(super) last_valid: Option<ValidJob>,
    pub(super) state: FileState,
    /// With this stamp the file is unchanged and need not be read.
    pub(super) known_stamp: Option<Stamp>,
    /// The reported problem that still exists.
    pub(super) reported: Option<FileProblem>,
    /// The last scan that found the file.
    pub(super) last_scan: u64,
}

/// The plan of a valid file, and its source.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ValidJob {
    pub(super) source: CostSource,
    pub(super) planned: Arc<PlannedJob>,
    /// The requested permissions that are removed because they are not accepted.
    pub(super) withheld: Vec<String>,
}

/// State of a file, and since when.
pub(super) enum FileState {
    Valid {
        since: Timestamp,
    },
    /// The file is invalid; its id may still be readable.
    Invalid {
        since: Timestamp,
        problem: FileProblem,
        claimed_source: Option<CostSource>,
    },
    Missing {
        since: Timestamp,
    },
}

/// A problem of a file with this content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileProblem {
    pub(super) kind: ProblemKind,
    pub(super) why: String,
    pub(super) content: u64,
}

/// Distinguishes unusable files from those usable with restrictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    Unusable,
    Unaccepted,
}

/// Result of scanning a file.
pub(super) struct ScanResult {
    state: FileState,
    valid: Option<ValidJob>,
    known_stamp: Option<Stamp>,
}

impl TrackedFile {
    pub(super) fn new(found: ScanResult, seen_in: u64) -> Self {
        let ScanResult { state, valid: good, known_stamp: known } = found;
        Self { last_valid: good, state, known_stamp: known, reported: None, last_scan: seen_in }
    }

    /// Applies a scan result. The last valid plan is kept.
    pub(super) fn update(&mut self, found: ScanResult) {
        self.known_stamp = found.known_stamp;
        let same = found.valid.is_some() && found.valid == self.last_valid;
        self.last_valid = found.valid.or_else(|| self.last_valid.take());
        let unchanged = match (&self.state, &found.state) {
            (FileState::Valid { .. }, FileState::Valid { .. }) => same,
            (FileState::Missing { .. }, FileState::Missing { .. }) => true,
            (FileState::Invalid { problem: before, .. }, FileState::Invalid { problem: complaint, .. }) => {
                before == complaint
            }
            (FileState::Valid { .. } | FileState::Invalid { .. } | FileState::Missing { .. }, _) => false,
        };
        if !unchanged {
            self.state = found.state;
        }
    }

    /// The source of its plan, and the one that its id claims.
    pub(super) fn sources(&self) -> impl Iterator<Item = &CostSource> {
        let says = match &self.state {
            FileState::Invalid { claimed_source: says, .. } => says.as_ref(),
            FileState::Valid { .. } | FileState::Missing { .. } => None,
        };
        self.last_valid.as_ref().map(|good| &good.source).into_iter().chain(says)
    }

    /// Returns whether its last valid plan is that of `source`.
    pub(super) fn defines(&self, source: &CostSource) -> bool {
        self.last_valid.as_ref().is_some_and(|good| good.source == *source)
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.state, FileState::Missing { .. })
    }

    pub(super) fn since(&self) -> Timestamp {
        match &self.state {
            FileState::Valid { since } | FileState::Invalid { since, .. } | FileState::Missing { since } => {
                *since
            }
        }
    }
}

impl ValidJob {
    pub(super) fn new(what: JobSpec, file: &JobFileName) -> Self {
        let planned = PlannedJob { spec: what, file: file.to_string() };
        Self { source: planned.source(), planned: Arc::new(planned), withheld: Vec::new() }
    }

    /// Removes permissions that are not `accepted`.
    fn without_unaccepted(self, accepted: &AcceptedPermissions) -> Self {
        let held = accepted.withheld(&PermissionRequests::for_job(&self.planned.spec));
        if held.is_empty() {
            return self;
        }
        let PlannedJob { spec: what, file } = PlannedJob::clone(&self.planned);
        let planned = Arc::new(PlannedJob { spec: what.without(&held), file });
        Self { planned, withheld: held, ..self }
    }

    /// The notice about a usable file: the withheld permissions, and the tool patterns that cannot
    /// be parsed. `None` if there are none.
    pub(super) fn notice(&self) -> Option<String> {
        let held = (!self.withheld.is_empty())
            .then(|| PermissionRequests::for_job(&self.planned.spec).withheld_notice(&self.withheld));
        let lines = unparsable_tool_lines(&self.planned);
        let lines = (!lines.is_empty())
            .then(|| format!("has tool patterns that cannot be understood: {}", lines.join(" ")));
        match (held, lines) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(held), Some(lines)) => Some(format!("{held} It also {lines}")),
        }
    }
}

/// The lines of a job's tool lists that cannot be parsed, as sentences.
fn unparsable_tool_lines(planned: &PlannedJob) -> Vec<String> {
    let tools = &planned.target().written_options().tools;
    let source = match &planned.spec {
        JobSpec::Routine(routine) => ListSource::Routine(routine.id.clone()),
        JobSpec::Reminder(reminder) => ListSource::Reminder(reminder.id.clone()),
    };
    let forbidden = forbidden_diagnostics(tools.denied().unwrap_or_default(), &source);
    let allowed = tools.allowed().unwrap_or_default().iter().filter(|line| allows_nothing(line));
    let allowed = allowed.map(|line| format!("`{}` allows nothing.", line.trim()));
    let sentence = |complaint: &ListComplaint| {
        let text = complaint.to_string();
        let text = text.split_once("the tool pattern ").map_or(text.as_str(), |(_, rest)| rest);
        text.to_owned()
    };
    allowed.chain(forbidden.iter().map(sentence)).collect()
}

impl ScanResult {
    pub(super) fn missing(now: Timestamp) -> Self {
        Self { state: FileState::Missing { since: now }, valid: None, known_stamp: None }
    }

    /// The file cannot be accessed.
    pub(super) fn unreadable(error: &io::Error, since: Timestamp) -> Self {
        let why = format!("it cannot be read ({error}); make it readable for this account");
        let complaint = FileProblem { kind: ProblemKind::Unusable, why, content: 0 };
        Self {
            state: FileState::Invalid { since, problem: complaint, claimed_source: None },
            valid: None,
            known_stamp: None,
        }
    }

    /// Reads a file that has this stamp.
    pub(super) fn read(
        disk: &dyn Disk,
        root: &Path,
        zone: &TimeZone,
        file: &JobFileName,
        stamp: Stamp,
        now: Timestamp,
    ) -> Self {
        let since = stamp.changed.min(now);
        let text = match read_text_as(disk, &file.path(root), stamp.kind) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::missing(now),
            Err(error) => return Self::unreadable(&error, since),
        };
        // A second change within the resolution would have the same stamp.
        let told_apart = stamp.changed.checked_add(TIMESTAMP_RESOLUTION).is_ok_and(|then| then <= now);
        let known = told_apart.then_some(stamp);
        match text.as_deref().map_err(Clone::clone).and_then(|text| file.kind.read(text, zone)) {
            Ok(what) => Self {
                state: FileState::Valid { since },
                valid: Some(ValidJob::new(what, file)),
                known_stamp: known,
            },
            Err(bad) => {
                let content = text.as_deref().map_or(0, content_hash);
                let complaint = FileProblem { kind: ProblemKind::Unusable, why: bad.to_string(), content };
                let id = text.ok().and_then(|text| parse_id(&text)).filter(|id| ItemId::parse(id).is_ok());
                let says = id.map(|id| file.kind.source(id));
                Self {
                    state: FileState::Invalid { since, problem: complaint, claimed_source: says },
                    valid: None,
                    known_stamp: known,
                }
            }
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.state, FileState::Missing { .. })
    }

    /// Returns whether the job requests permissions.
    pub(super) fn requests_permissions(&self) -> bool {
        self.valid.as_ref().is_some_and(|good| !good.planned.spec.requested_permissions().is_empty())
    }

    /// Removes permissions that are not `accepted`. A restricted file is read again at the next
    /// scan, because its permissions may be accepted meanwhile.
    pub(super) fn without_unaccepted(self, accepted: &AcceptedPermissions) -> Self {
        let good = self.valid.map(|good| good.without_unaccepted(accepted));
        let held = good.as_ref().is_some_and(|good| !good.withheld.is_empty());
        Self { valid: good, known_stamp: self.known_stamp.filter(|_| !held), ..self }
    }
}

fn content_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
