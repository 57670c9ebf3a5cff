-- The label of a job's text that a model wrote in a conversation with outside text. It is kept for
-- a while after the job is removed, because the text can come back: through `undo`, a snooze, or
-- the next check of a chain.
CREATE TABLE plan_origins (
    source TEXT PRIMARY KEY,  -- routine:mail, reminder:a1b2c3d4
    at     INTEGER NOT NULL,
    label  TEXT NOT NULL,
    words  TEXT NOT NULL
) STRICT;
