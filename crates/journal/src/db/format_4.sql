-- Plans, with the watermark up to which all times are accounted for.
CREATE TABLE plans (
    source TEXT PRIMARY KEY,  -- routine:mail, reminder:a1b2c3d4
    rule   TEXT NOT NULL,     -- the rule of its times; after a change the watermark is void
    until  INTEGER NOT NULL   -- the watermark; the smallest number for a reminder that was never due
) STRICT;

-- The occurrences of jobs and their states. Consecutive missed occurrences share a row.
CREATE TABLE occurrences (
    source  TEXT NOT NULL,
    due     INTEGER NOT NULL,
    name    TEXT NOT NULL,    -- the display name of the job
    words   TEXT NOT NULL,    -- the prompt; empty once an occurrence of a routine has ended
    late    INTEGER NOT NULL, -- 1 if it began after its time
    tries   INTEGER NOT NULL,
    began   INTEGER NOT NULL,
    since   INTEGER NOT NULL, -- the time of the last change of `stage`
    stage   TEXT NOT NULL,    -- running, asked, again, queued, done, failed, missed, skipped, cancelled
    branch  TEXT,             -- the branch of its newest run
    message INTEGER,          -- the message that it sent to main
    next    INTEGER,          -- the time of the next try
    why     TEXT,
    last    INTEGER,          -- missed: the last time
    count   INTEGER,          -- missed: the number of times
    PRIMARY KEY (source, due)
) STRICT;
CREATE INDEX open_occurrences ON occurrences (stage) WHERE stage IN ('running', 'asked', 'again', 'queued');
CREATE INDEX occurrences_by_time ON occurrences (since);

-- The session heads of persistent routines.
CREATE TABLE routine_sessions (
    routine TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    entry   INTEGER NOT NULL,
    filed   TEXT              -- the session that was last written to its file
) STRICT;

-- Pending changes of job files.
CREATE TABLE job_files (
    id     INTEGER PRIMARY KEY,
    work   TEXT NOT NULL,     -- write, remove, set
    source TEXT NOT NULL,
    text   TEXT,              -- write: the new content; remove: the old content; set: the value
    key    TEXT
) STRICT;

-- The ping budget, and the pause of all routines; one row at most.
CREATE TABLE attention (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    pings    TEXT,            -- the content of `ping_budget.json`
    rest     TEXT,            -- the end of the pause, or `for now`; null without a pause
    undo     TEXT             -- the undoable changes of plans
) STRICT;

-- The turns of a run.
CREATE INDEX turns_by_branch ON turns (branch);
CREATE INDEX turns_by_message ON turns (message);
CREATE INDEX occurrences_by_branch ON occurrences (branch);

-- The charges for shown pings: the budget before and after.
CREATE TABLE charges (
    entry  INTEGER PRIMARY KEY REFERENCES entries (id),
    before REAL NOT NULL,
    after  REAL NOT NULL
) STRICT;

-- The job, options and progress of a background run.
ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN due INTEGER;
ALTER TABLE runs ADD COLUMN model TEXT;
ALTER TABLE runs ADD COLUMN thinking INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN reporting TEXT NOT NULL DEFAULT 'on_ping';
ALTER TABLE runs ADD COLUMN pings INTEGER NOT NULL DEFAULT 1;   -- 0 if it may not ping the user
ALTER TABLE runs ADD COLUMN busy INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN pinged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN critical INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN compact TEXT;
