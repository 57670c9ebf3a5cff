-- Deferred pings, and the time of their delivery.
CREATE TABLE held (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    name   TEXT NOT NULL,     -- the display name of the source
    words  TEXT NOT NULL,
    why    TEXT NOT NULL,     -- quiet, focus, soon, enough, unanswered
    told   INTEGER            -- null while it waits
) STRICT;
CREATE INDEX held_that_wait ON held (id) WHERE told IS NULL;

-- For replies to messages that a run sent.
CREATE INDEX messages_about ON messages (about) WHERE about IS NOT NULL;

-- How often the user marked a ping of this source as not useful.
CREATE TABLE dislikes (
    source TEXT PRIMARY KEY,
    count  INTEGER NOT NULL
) STRICT;

-- The temporary quiet time, the focus, and the unrequested pings of today.
ALTER TABLE attention ADD COLUMN mood TEXT;

-- The number of snoozes before the reminder fired, the number of questions about it, and the key of
-- the post that replaced the first one.
ALTER TABLE cards ADD COLUMN snoozes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cards ADD COLUMN chase INTEGER;    -- 0 if asked once, the time if asked twice, null if no question follows
ALTER TABLE cards ADD COLUMN followed TEXT;
