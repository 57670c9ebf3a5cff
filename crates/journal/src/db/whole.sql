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
    read   INTEGER,           -- once main has read it: the number of moves that were made before
    told   TEXT,              -- how: quoted, counted
    entry  INTEGER            -- where; null, if a fork had and became main
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
    report  TEXT,             -- the words, when it leaves with a report
    until   INTEGER NOT NULL, -- the first message that is not heard in it any more, when it is leaving
    thinking TEXT NOT NULL    -- off, adaptive, or a number of tokens
, effort TEXT) STRICT;
CREATE TABLE entering (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    topic TEXT,
    idle  INTEGER,            -- minutes
    until INTEGER NOT NULL    -- the first message that is not heard before it begins
) STRICT;
CREATE INDEX spending_by_turn ON spending (turn);
CREATE INDEX decisions_by_turn ON decisions (turn);
CREATE TABLE approvals (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    branch  TEXT NOT NULL,
    call    TEXT NOT NULL,    -- the model's name for it
    tool    TEXT NOT NULL,
    input   TEXT NOT NULL,    -- JSON, whole
    late    INTEGER,          -- 1 once the turn has gone on without an answer
    how     TEXT,             -- allowed, always allowed, denied, cancelled, expired; null while it can be answered
    surface TEXT,             -- where it was answered
    closed  INTEGER,
    spent   INTEGER,          -- when the grant was used, or ended
    used    TEXT              -- the call that used it
, card INTEGER, stands TEXT, stands_until INTEGER, withdrawn INTEGER, label TEXT, step INTEGER) STRICT;
CREATE INDEX open_approvals ON approvals (id) WHERE how IS NULL;
CREATE INDEX grants ON approvals (id) WHERE late = 1 AND spent IS NULL AND how IN ('allowed', 'always allowed');
CREATE TABLE runs (
    branch  TEXT PRIMARY KEY,
    source  TEXT NOT NULL,    -- routine:mail
    kind    TEXT NOT NULL,    -- forked, isolated, persistent
    depth   INTEGER,          -- of its chain, if it is in one
    most    INTEGER,
    allowed TEXT,             -- JSON
    denied  TEXT,             -- JSON
    root    INTEGER,          -- the entry of main at which it began
    parent  TEXT              -- the session of main then
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
    rule   TEXT NOT NULL,     -- what its times follow; by another rule nothing is accounted for
    until  INTEGER NOT NULL   -- null never; the smallest number, for a reminder that was never due
) STRICT;
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
CREATE TABLE routine_sessions (
    routine TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    entry   INTEGER NOT NULL,
    filed   TEXT              -- the session that its file names, as far as we wrote it
) STRICT;
CREATE TABLE job_files (
    id     INTEGER PRIMARY KEY,
    work   TEXT NOT NULL,     -- write, remove, set
    source TEXT NOT NULL,
    text   TEXT,              -- the file; the rule that it follows; the value
    key    TEXT
) STRICT;
CREATE TABLE attention (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    pings    TEXT,            -- as the file `ping_budget.json` says it
    rest     TEXT,            -- a time, or `for now`; null, if they do not rest
    undo     TEXT             -- the last change in plain words, until it is taken back
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
    ring   INTEGER NOT NULL,  -- 1, if the phone rings
    entry  INTEGER,           -- the message that it is to us
    sheet TEXT NOT NULL,     -- empty, once it was sent
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
    post  TEXT NOT NULL,      -- the key it was posted under
    state TEXT NOT NULL,      -- open, done, moved, dropped
    since INTEGER,            -- done: when; moved: to when
    again TEXT                -- moved: as which reminder
, snoozes INTEGER NOT NULL DEFAULT 0, chase INTEGER, followed TEXT) STRICT;
CREATE UNIQUE INDEX messages_by_mark ON messages (mark) WHERE mark IS NOT NULL;
CREATE TABLE held (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    name   TEXT NOT NULL,     -- what the human calls it
    words  TEXT NOT NULL,
    why    TEXT NOT NULL,     -- quiet, focus, soon, enough, unanswered
    told   INTEGER            -- null, while it waits
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
    words  TEXT NOT NULL      -- the beginnings of their lines
) STRICT;
