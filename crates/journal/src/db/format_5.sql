-- The outbox: messages to the user, oldest first. A key that was posted is not posted again.
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

-- The Discord messages that each post became.
CREATE TABLE receipts (
    key     TEXT NOT NULL,
    part    INTEGER NOT NULL,
    message INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (key, part)
) STRICT;
CREATE INDEX receipts_by_message ON receipts (message);

-- Values that must survive a restart, by name, such as the state of surfaces.
CREATE TABLE keepsakes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- Fired reminders, and the user's answers to them.
CREATE TABLE cards (
    id    TEXT PRIMARY KEY,
    words TEXT NOT NULL,
    said  TEXT NOT NULL,
    rang  INTEGER NOT NULL,
    post  TEXT NOT NULL,      -- the key of its post
    state TEXT NOT NULL,      -- open, done, moved, dropped
    since INTEGER,            -- done: the time; moved: the new time
    again TEXT                -- moved: the id of the new reminder
) STRICT;

-- The id of a message on the surface that it came from.
ALTER TABLE messages ADD COLUMN mark INTEGER;
CREATE UNIQUE INDEX messages_by_mark ON messages (mark) WHERE mark IS NOT NULL;
