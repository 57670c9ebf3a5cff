-- What is known of the words of a job that a model wrote where outside text was. It outlives the job for a while, because
-- the words can come again: by `undo`, by a snooze, in the next check of a chain.
CREATE TABLE plan_origins (
    source TEXT PRIMARY KEY,  -- routine:mail, reminder:a1b2c3d4
    at     INTEGER NOT NULL,
    label  TEXT NOT NULL,
    words  TEXT NOT NULL
) STRICT;
