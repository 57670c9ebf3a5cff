-- What is to be sent to the human, oldest first. What was posted under a key is not posted again.
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

-- The messages that posts became elsewhere.
CREATE TABLE receipts (
    key     TEXT NOT NULL,
    part    INTEGER NOT NULL,
    message INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (key, part)
) STRICT;
CREATE INDEX receipts_by_message ON receipts (message);

-- What a surface elsewhere has to know after a restart.
CREATE TABLE keepsakes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- Reminders that rang, and what the human did with them.
CREATE TABLE cards (
    id    TEXT PRIMARY KEY,
    words TEXT NOT NULL,
    said  TEXT NOT NULL,
    rang  INTEGER NOT NULL,
    post  TEXT NOT NULL,      -- the key it was posted under
    state TEXT NOT NULL,      -- open, done, moved, dropped
    since INTEGER,            -- done: when; moved: to when
    again TEXT                -- moved: as which reminder
) STRICT;

-- What the other side knows a message by.
ALTER TABLE messages ADD COLUMN mark INTEGER;
CREATE UNIQUE INDEX messages_by_mark ON messages (mark) WHERE mark IS NOT NULL;
