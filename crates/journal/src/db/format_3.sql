-- Where a message is heard: null, if that is wherever the human is.
ALTER TABLE messages ADD COLUMN branch TEXT;

-- What a branch is about, where it begins.
ALTER TABLE moves ADD COLUMN label TEXT;

-- What forks and background runs left for main; `read` is null while it waits.
CREATE TABLE reports (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    text   TEXT NOT NULL,
    read   INTEGER,           -- once main has read it: the number of moves that were made before
    told   TEXT,              -- how: quoted, counted
    entry  INTEGER            -- where; null, if a fork had and became main
) STRICT;
CREATE INDEX unread_reports ON reports (id) WHERE read IS NULL;

-- The side conversation that is open.
CREATE TABLE forks (
    branch  TEXT PRIMARY KEY,
    topic   TEXT,
    idle    INTEGER NOT NULL, -- minutes
    active  INTEGER NOT NULL,
    asked   INTEGER,
    seen    INTEGER,
    leaving TEXT NOT NULL,    -- not, save, report, drop, with-report
    report  TEXT,             -- the words, when it leaves with a report
    until   INTEGER NOT NULL, -- the first message that is not heard in it any more, when it is leaving
    thinking TEXT NOT NULL    -- off, adaptive, or a number of tokens
) STRICT;

-- The side conversation that was asked for and has not begun; one row at most.
CREATE TABLE entering (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    topic TEXT,
    idle  INTEGER,            -- minutes
    until INTEGER NOT NULL    -- the first message that is not heard before it begins
) STRICT;

-- What one answer did.
CREATE INDEX spending_by_turn ON spending (turn);
CREATE INDEX decisions_by_turn ON decisions (turn);

-- Something taken out of the inbox keeps its number, so that no other thing gets it.
ALTER TABLE inbox ADD COLUMN removed INTEGER;

-- Calls that the human is or was asked about. One that was allowed after its turn had gone on is a grant.
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
) STRICT;
CREATE INDEX open_approvals ON approvals (id) WHERE how IS NULL;
CREATE INDEX grants ON approvals (id) WHERE late = 1 AND spent IS NULL AND how IN ('allowed', 'always allowed');
