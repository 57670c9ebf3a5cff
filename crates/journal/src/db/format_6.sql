-- What waits to be told because the human was not to be disturbed, and when it was told.
CREATE TABLE held (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    name   TEXT NOT NULL,     -- what the human calls it
    words  TEXT NOT NULL,
    why    TEXT NOT NULL,     -- quiet, focus, soon, enough, unanswered
    told   INTEGER            -- null, while it waits
) STRICT;
CREATE INDEX held_that_wait ON held (id) WHERE told IS NULL;

-- Which message answers what a run sent.
CREATE INDEX messages_about ON messages (about) WHERE about IS NOT NULL;

-- How often the human found something not useful.
CREATE TABLE dislikes (
    source TEXT PRIMARY KEY,
    count  INTEGER NOT NULL
) STRICT;

-- Quiet for a while, a focus, and what rang today without having been asked for.
ALTER TABLE attention ADD COLUMN mood TEXT;

-- How often a reminder was put off before it rang, how often the human was asked about it, and what it was posted
-- under when it was put otherwise.
ALTER TABLE cards ADD COLUMN snoozes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN chase INTEGER;    -- 0, if once; when, if twice; null, if not any more
ALTER TABLE cards ADD COLUMN followed TEXT;
