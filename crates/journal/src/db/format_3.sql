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
