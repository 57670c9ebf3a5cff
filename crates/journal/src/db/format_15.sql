-- What was read from outside before a job was planned or changed, in words: mail and a page from example.org.
ALTER TABLE plan_origins ADD COLUMN origin TEXT NOT NULL DEFAULT '';
-- What is known of the words of other things that a model wrote where outside text was.
CREATE TABLE item_origins (
    item   TEXT PRIMARY KEY,  -- inbox:3, note:notes/a.md, task:buy milk, event:lunch
    at     INTEGER NOT NULL,
    label  TEXT NOT NULL,
    origin TEXT NOT NULL,
    words  TEXT NOT NULL      -- the beginnings of their lines
) STRICT;
