-- A description of the outside text read before a job was planned or changed: mail and a page from
-- example.org.
ALTER TABLE plan_origins ADD COLUMN origin TEXT NOT NULL DEFAULT '';
-- The origins of items other than jobs that a model wrote in a conversation with outside text.
CREATE TABLE item_origins (
    item   TEXT PRIMARY KEY,  -- inbox:3, note:notes/a.md, task:buy milk, event:lunch
    at     INTEGER NOT NULL,
    label  TEXT NOT NULL,
    origin TEXT NOT NULL,
    words  TEXT NOT NULL      -- the first words of each line
) STRICT;
