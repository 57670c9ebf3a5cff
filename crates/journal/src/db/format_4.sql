-- What is planned: up to when all times of a plan are accounted for.
CREATE TABLE plans (
    source TEXT PRIMARY KEY,  -- routine:mail, reminder:a1b2c3d4
    rule   TEXT NOT NULL,     -- what its times follow; by another rule nothing is accounted for
    until  INTEGER NOT NULL   -- null never; the smallest number, for a reminder that was never due
) STRICT;

-- Times at which jobs were due, and what became of each. Missed ones in a row are one row.
CREATE TABLE occurrences (
    source  TEXT NOT NULL,
    due     INTEGER NOT NULL,
    name    TEXT NOT NULL,    -- what the human calls the job
    words   TEXT NOT NULL,    -- what the job was told; empty, once a time of a routine has ended
    late    INTEGER NOT NULL, -- 1, if its time had passed when it began
    tries   INTEGER NOT NULL,
    began   INTEGER NOT NULL,
    since   INTEGER NOT NULL, -- since when it stands where it stands
    stage   TEXT NOT NULL,    -- running, asked, again, queued, done, failed, missed, skipped, cancelled
    branch  TEXT,             -- of its newest run
    message INTEGER,          -- with which it was put to main
    next    INTEGER,          -- when it is tried again
    why     TEXT,
    last    INTEGER,          -- missed: the last of them
    count   INTEGER,          -- missed: how many
    PRIMARY KEY (source, due)
) STRICT;
CREATE INDEX open_occurrences ON occurrences (stage) WHERE stage IN ('running', 'asked', 'again', 'queued');
CREATE INDEX occurrences_by_time ON occurrences (since);

-- Where the sessions of persistent routines stand.
CREATE TABLE routine_sessions (
    routine TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    entry   INTEGER NOT NULL,
    filed   TEXT              -- the session that its file names, as far as we wrote it
) STRICT;

-- What is still to be done to files that plan something.
CREATE TABLE job_files (
    id     INTEGER PRIMARY KEY,
    work   TEXT NOT NULL,     -- write, remove, set
    source TEXT NOT NULL,
    text   TEXT,              -- the file; the rule that it follows; the value
    key    TEXT
) STRICT;

-- How many pings are left, and whether all routines rest; one row at most.
CREATE TABLE attention (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    pings    TEXT,            -- as the file `ping_budget.json` says it
    rest     TEXT,            -- a time, or `for now`; null, if they do not rest
    undo     TEXT             -- the last change in plain words, until it is taken back
) STRICT;

-- The turns of a run.
CREATE INDEX turns_by_branch ON turns (branch);
CREATE INDEX turns_by_message ON turns (message);
CREATE INDEX occurrences_by_branch ON occurrences (branch);

-- What was charged for what runs showed: how many pings were left before and after.
CREATE TABLE charges (
    entry  INTEGER PRIMARY KEY REFERENCES entries (id),
    before REAL NOT NULL,
    after  REAL NOT NULL
) STRICT;

-- What a background run was set off by, under which terms, and what it has done until now.
ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN due INTEGER;
ALTER TABLE runs ADD COLUMN model TEXT;
ALTER TABLE runs ADD COLUMN thinking INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN reporting TEXT NOT NULL DEFAULT 'on_ping';
ALTER TABLE runs ADD COLUMN pings INTEGER NOT NULL DEFAULT 1;   -- 0, if it may not reach the human
ALTER TABLE runs ADD COLUMN busy INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN pinged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN critical INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN compact TEXT;
