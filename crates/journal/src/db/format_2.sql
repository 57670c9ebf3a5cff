-- The usage and cost of every model call.
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
) STRICT;
CREATE INDEX spending_by_time ON spending (at);
CREATE INDEX spending_by_branch ON spending (branch);

-- Images of the user, as JSON, while the message waits; afterwards they are part of the entry.
ALTER TABLE messages ADD COLUMN images TEXT NOT NULL DEFAULT '[]';

-- For the time of the last move of a branch.
CREATE INDEX moves_by_branch ON moves (branch, at);
