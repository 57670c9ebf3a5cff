-- The labels of the path to an entry and of the entry itself: private realms, then outside realms.
-- Entries from before this format are labelled as conversation.
ALTER TABLE entries ADD COLUMN label TEXT NOT NULL DEFAULT 'chat;';
ALTER TABLE entries ADD COLUMN own TEXT NOT NULL DEFAULT 'chat;';

-- An image may contain text by other people.
CREATE TEMP TABLE pictured AS
    WITH RECURSIVE pictured (id) AS (
        SELECT id FROM entries WHERE kind = 'human' AND json_array_length(body, '$.images') > 0
        UNION SELECT entries.id FROM entries JOIN pictured ON entries.parent = pictured.id
    ) SELECT id FROM pictured;
UPDATE entries SET label = 'chat;picture' WHERE id IN (SELECT id FROM pictured);
UPDATE entries SET own = 'chat;picture' WHERE kind = 'human' AND json_array_length(body, '$.images') > 0;
DROP TABLE pictured;

-- The labels of updates and deferred pings, and the label of the conversation at a decision about a
-- call.
ALTER TABLE reports ADD COLUMN label TEXT NOT NULL DEFAULT ';';
ALTER TABLE inquiries ADD COLUMN label TEXT NOT NULL DEFAULT ';';
ALTER TABLE held ADD COLUMN label TEXT NOT NULL DEFAULT ';';
ALTER TABLE decisions ADD COLUMN label TEXT NOT NULL DEFAULT ';';

-- 1 for an approval that is answered after its run has continued; its call then runs on its own.
ALTER TABLE approvals ADD COLUMN card INTEGER;

-- The user's acceptances, bound to a content: the permissions of a file, a skill's commands, a
-- server's tools.
CREATE TABLE accepted (
    name TEXT NOT NULL,       -- routine:mail, skill:review, server:notes
    hash TEXT NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (name, hash)
) STRICT;
