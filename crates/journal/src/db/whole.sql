CREATE TABLE entries (
    id     INTEGER PRIMARY KEY,
    parent INTEGER REFERENCES entries (id),
    depth  INTEGER NOT NULL,
    at     INTEGER NOT NULL, -- microseconds since 1970
    kind   TEXT NOT NULL,
    body   TEXT NOT NULL     -- JSON
, label TEXT NOT NULL DEFAULT 'chat;', own TEXT NOT NULL DEFAULT 'chat;') STRICT;
CREATE TABLE heads (
    branch  TEXT PRIMARY KEY,
    entry   INTEGER REFERENCES entries (id),
    session TEXT NOT NULL
) STRICT;
CREATE TABLE moves (
    id           INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    branch       TEXT NOT NULL,
    why          TEXT NOT NULL,
    from_entry   INTEGER,
    from_session TEXT,
    to_entry     INTEGER,
    to_session   TEXT
, label TEXT) STRICT;
CREATE TABLE messages (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    surface TEXT NOT NULL,
    text    TEXT NOT NULL,
    entry   INTEGER REFERENCES entries (id)
, images TEXT NOT NULL DEFAULT '[]', branch TEXT, about INTEGER, quoted TEXT, inquiry TEXT, mark INTEGER, label TEXT) STRICT;
CREATE INDEX waiting ON messages (id) WHERE entry IS NULL;
CREATE TABLE turns (
    id          INTEGER PRIMARY KEY,
    branch      TEXT NOT NULL,
    message     INTEGER NOT NULL REFERENCES messages (id),
    opened      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    closed      INTEGER,
    ending      TEXT,
    reason      TEXT,
    input       INTEGER NOT NULL DEFAULT 0,
    cache_read  INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    output      INTEGER NOT NULL DEFAULT 0
, cache_write_1h INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX open_turns ON turns (id) WHERE closed IS NULL;
CREATE TABLE decisions (
    id    INTEGER PRIMARY KEY,
    turn  INTEGER NOT NULL REFERENCES turns (id),
    at    INTEGER NOT NULL,
    call  TEXT NOT NULL,
    tool  TEXT NOT NULL,
    input TEXT NOT NULL,
    rule  TEXT NOT NULL
, label TEXT NOT NULL DEFAULT ';') STRICT;
CREATE TABLE inbox (
    id   INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    text TEXT NOT NULL
, removed INTEGER) STRICT;
CREATE TABLE file_changes (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    session TEXT NOT NULL,
    parent  TEXT
) STRICT;
CREATE TABLE devices (
    id         TEXT PRIMARY KEY,
    label      TEXT NOT NULL,
    credential BLOB NOT NULL,
    paired     INTEGER NOT NULL
) STRICT;
CREATE TABLE spending (
    id          INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    branch      TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    source      TEXT NOT NULL, -- main, fork, compaction, routine:ID, ...
    attended    TEXT NOT NULL, -- waited, or unattended
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    micros      INTEGER        -- millionths of a dollar; null when the price is not known
, cache_write_1h INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX spending_by_time ON spending (at);
CREATE INDEX spending_by_branch ON spending (branch);
CREATE INDEX moves_by_branch ON moves (branch, at);
CREATE TABLE reports (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    text   TEXT NOT NULL,
    read   INTEGER,           -- null while it waits; then the number of moves at the time of reading
    told   TEXT,              -- the form in which main read it: quoted, counted
    entry  INTEGER            -- the entry with the update; null if a fork read it and became main
, label TEXT NOT NULL DEFAULT ';') STRICT;
CREATE INDEX unread_reports ON reports (id) WHERE read IS NULL;
CREATE TABLE forks (
    branch  TEXT PRIMARY KEY,
    root    INTEGER,          -- the entry of main at which it began
    topic   TEXT,
    idle    INTEGER NOT NULL, -- minutes
    active  INTEGER NOT NULL,
    asked   INTEGER,
    seen    INTEGER,
    leaving TEXT NOT NULL,    -- not, save, report, drop, with-report
    report  TEXT,             -- the text of the update, for an exit with a report
    until   INTEGER NOT NULL, -- the first message that belongs to main again, when the fork is ending
    thinking TEXT NOT NULL    -- off, adaptive, or a number of tokens
, effort TEXT) STRICT;
CREATE TABLE entering (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    topic TEXT,
    idle  INTEGER,            -- minutes
    until INTEGER NOT NULL    -- the first message that waits until the fork has begun
) STRICT;
CREATE INDEX spending_by_turn ON spending (turn);
CREATE INDEX decisions_by_turn ON decisions (turn);
CREATE TABLE approvals (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    branch  TEXT NOT NULL,
    call    TEXT NOT NULL,    -- the id that the model gave to the call
    tool    TEXT NOT NULL,
    input   TEXT NOT NULL,    -- JSON, complete
    late    INTEGER,          -- 1 once the turn has continued without an answer
    how     TEXT,             -- allowed, always allowed, denied, cancelled, expired; null while it can be answered
    surface TEXT,             -- the surface of the answer
    closed  INTEGER,
    spent   INTEGER,          -- the time when the grant was used or ended
    used    TEXT              -- the call that used it
, card INTEGER, stands TEXT, stands_until INTEGER, withdrawn INTEGER, label TEXT, step INTEGER) STRICT;
CREATE INDEX open_approvals ON approvals (id) WHERE how IS NULL;
CREATE INDEX grants ON approvals (id) WHERE late = 1 AND spent IS NULL AND how IN ('allowed', 'always allowed');
CREATE TABLE runs (
    branch  TEXT PRIMARY KEY,
    source  TEXT NOT NULL,    -- routine:mail
    kind    TEXT NOT NULL,    -- forked, isolated, persistent
    depth   INTEGER,          -- the number in its chain, if it is in one
    most    INTEGER,
    allowed TEXT,             -- JSON
    denied  TEXT,             -- JSON
    root    INTEGER,          -- the entry of main at which it began
    parent  TEXT              -- the session of main at that time
, name TEXT NOT NULL DEFAULT '', due INTEGER, model TEXT, thinking INTEGER NOT NULL DEFAULT 1, reporting TEXT NOT NULL DEFAULT 'on_ping', pings INTEGER NOT NULL DEFAULT 1, busy INTEGER NOT NULL DEFAULT 0, pinged INTEGER NOT NULL DEFAULT 0, critical INTEGER NOT NULL DEFAULT 0, untold INTEGER NOT NULL DEFAULT 0, reports INTEGER NOT NULL DEFAULT 0, refusals INTEGER NOT NULL DEFAULT 0, compact TEXT, effort TEXT) STRICT;
CREATE TABLE sent (
    entry  INTEGER PRIMARY KEY REFERENCES entries (id),
    branch TEXT NOT NULL,
    source TEXT NOT NULL
) STRICT;
CREATE INDEX sent_by ON sent (branch);
CREATE TABLE origins (
    message INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    parent  TEXT,
    at      INTEGER NOT NULL,
    source  TEXT,
    root    INTEGER,
    entry   INTEGER
) STRICT;
CREATE TABLE inquiries (
    id     TEXT PRIMARY KEY,
    prompt TEXT NOT NULL,
    at     INTEGER NOT NULL,
    asked  INTEGER
, label TEXT NOT NULL DEFAULT ';') STRICT;
CREATE TABLE put_away (
    message INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE plans (
    source TEXT PRIMARY KEY,  -- routine:mail, reminder:a1b2c3d4
    rule   TEXT NOT NULL,     -- the rule of its times; after a change the watermark is void
    until  INTEGER NOT NULL   -- the watermark; the smallest number for a reminder that was never due
) STRICT;
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
CREATE TABLE routine_sessions (
    routine TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    entry   INTEGER NOT NULL,
    filed   TEXT              -- the session that was last written to its file
) STRICT;
CREATE TABLE job_files (
    id     INTEGER PRIMARY KEY,
    work   TEXT NOT NULL,     -- write, remove, set
    source TEXT NOT NULL,
    text   TEXT,              -- write: the new content; remove: the old content; set: the value
    key    TEXT
) STRICT;
CREATE TABLE attention (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    pings    TEXT,            -- the content of `ping_budget.json`
    rest     TEXT,            -- the end of the pause, or `for now`; null without a pause
    undo     TEXT             -- the undoable changes of plans
, mood TEXT) STRICT;
CREATE INDEX turns_by_branch ON turns (branch);
CREATE INDEX turns_by_message ON turns (message);
CREATE INDEX occurrences_by_branch ON occurrences (branch);
CREATE TABLE charges (
    entry  INTEGER PRIMARY KEY REFERENCES entries (id),
    before REAL NOT NULL,
    after  REAL NOT NULL
) STRICT;
CREATE TABLE posts (
    id     INTEGER PRIMARY KEY,
    key    TEXT NOT NULL,
    at     INTEGER NOT NULL,
    work   TEXT NOT NULL,     -- new, says
    ring   INTEGER NOT NULL,  -- 1 for a post with a sound
    entry  INTEGER,           -- the entry of the message
    sheet TEXT NOT NULL,     -- empty once it was sent
    state  TEXT NOT NULL,     -- waits, sent, failed, dropped
    why    TEXT
) STRICT;
CREATE UNIQUE INDEX posts_by_key ON posts (key) WHERE work = 'new';
CREATE INDEX posts_that_wait ON posts (id) WHERE state = 'waits';
CREATE TABLE receipts (
    key     TEXT NOT NULL,
    part    INTEGER NOT NULL,
    message INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (key, part)
) STRICT;
CREATE INDEX receipts_by_message ON receipts (message);
CREATE TABLE keepsakes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
CREATE TABLE cards (
    id    TEXT PRIMARY KEY,
    words TEXT NOT NULL,
    said  TEXT NOT NULL,
    rang  INTEGER NOT NULL,
    post  TEXT NOT NULL,      -- the key of its post
    state TEXT NOT NULL,      -- open, done, moved, dropped
    since INTEGER,            -- done: the time; moved: the new time
    again TEXT                -- moved: the id of the new reminder
, snoozes INTEGER NOT NULL DEFAULT 0, chase INTEGER, followed TEXT) STRICT;
CREATE UNIQUE INDEX messages_by_mark ON messages (mark) WHERE mark IS NOT NULL;
CREATE TABLE held (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    name   TEXT NOT NULL,     -- the display name of the source
    words  TEXT NOT NULL,
    why    TEXT NOT NULL,     -- quiet, focus, soon, enough, unanswered
    told   INTEGER            -- null while it waits
, label TEXT NOT NULL DEFAULT ';') STRICT;
CREATE INDEX held_that_wait ON held (id) WHERE told IS NULL;
CREATE INDEX messages_about ON messages (about) WHERE about IS NOT NULL;
CREATE TABLE dislikes (
    source TEXT PRIMARY KEY,
    count  INTEGER NOT NULL
) STRICT;
CREATE TABLE accepted (
    name TEXT NOT NULL,       -- routine:mail, skill:review, server:notes
    hash TEXT NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (name, hash)
) STRICT;
CREATE INDEX messages_by_entry ON messages (entry) WHERE entry IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
CREATE TABLE deliveries (
    source TEXT NOT NULL,     -- webhook:ci
    due    INTEGER NOT NULL,
    hook   TEXT NOT NULL,
    brought TEXT NOT NULL,    -- [{"name": "title", "json": "\"x\"", "free": true}]
    PRIMARY KEY (source, due)
) STRICT;
CREATE TABLE delivery_marks (
    mark TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_marks_by_age ON delivery_marks (at);
CREATE TABLE plan_origins (
    source TEXT PRIMARY KEY,  -- routine:mail, reminder:a1b2c3d4
    at     INTEGER NOT NULL,
    label  TEXT NOT NULL,
    words  TEXT NOT NULL
, origin TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE item_origins (
    item   TEXT PRIMARY KEY,  -- inbox:3, note:notes/a.md, task:buy milk, event:lunch
    at     INTEGER NOT NULL,
    label  TEXT NOT NULL,
    origin TEXT NOT NULL,
    words  TEXT NOT NULL      -- the first words of each line
) STRICT;
