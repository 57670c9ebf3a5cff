-- The entry tree. `depth` is the distance from the root, so that the length of a branch is a
-- subtraction.
CREATE TABLE entries (
    id     INTEGER PRIMARY KEY,
    parent INTEGER REFERENCES entries (id),
    depth  INTEGER NOT NULL,
    at     INTEGER NOT NULL, -- microseconds since 1970
    kind   TEXT NOT NULL,
    body   TEXT NOT NULL     -- JSON
) STRICT;

-- The full-text index of the entries. The text itself is not stored a second time.
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

-- The branches and the entry that each points to.
CREATE TABLE heads (
    branch  TEXT PRIMARY KEY,
    entry   INTEGER REFERENCES entries (id),
    session TEXT NOT NULL
) STRICT;

-- Every change of a branch except appending to it.
CREATE TABLE moves (
    id           INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    branch       TEXT NOT NULL,
    why          TEXT NOT NULL,
    from_entry   INTEGER,
    from_session TEXT,
    to_entry     INTEGER,
    to_session   TEXT
) STRICT;

-- Messages of the user; `entry` is null while a message waits.
CREATE TABLE messages (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    surface TEXT NOT NULL,
    text    TEXT NOT NULL,
    entry   INTEGER REFERENCES entries (id)
) STRICT;
CREATE INDEX waiting ON messages (id) WHERE entry IS NULL;

-- `closed` is null while a turn runs.
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
) STRICT;
CREATE INDEX open_turns ON turns (id) WHERE closed IS NULL;

-- The decision about a call, written before the call runs.
CREATE TABLE decisions (
    id    INTEGER PRIMARY KEY,
    turn  INTEGER NOT NULL REFERENCES turns (id),
    at    INTEGER NOT NULL,
    call  TEXT NOT NULL,
    tool  TEXT NOT NULL,
    input TEXT NOT NULL,
    rule  TEXT NOT NULL
) STRICT;

CREATE TABLE inbox (
    id   INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- Changes to files that belong to a transaction and are made after it. A change that is still here
-- when the program starts is made then.
CREATE TABLE file_changes (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    session TEXT NOT NULL,
    parent  TEXT
) STRICT;

-- Paired browsers. Only the hash of each credential is stored.
CREATE TABLE devices (
    id         TEXT PRIMARY KEY,
    label      TEXT NOT NULL,
    credential BLOB NOT NULL,
    paired     INTEGER NOT NULL
) STRICT;
