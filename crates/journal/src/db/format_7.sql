-- What is known of all words on the way to an entry, and of its own: private realms, then those from outside.
-- What was said before this was kept was said in our conversation.
ALTER TABLE entries ADD COLUMN label TEXT NOT NULL DEFAULT 'chat;';
ALTER TABLE entries ADD COLUMN own TEXT NOT NULL DEFAULT 'chat;';

-- A picture may hold words that nobody here wrote.
CREATE TEMP TABLE pictured AS
    WITH RECURSIVE pictured (id) AS (
        SELECT id FROM entries WHERE kind = 'human' AND json_array_length(body, '$.images') > 0
        UNION SELECT entries.id FROM entries JOIN pictured ON entries.parent = pictured.id
    ) SELECT id FROM pictured;
UPDATE entries SET label = 'chat;picture' WHERE id IN (SELECT id FROM pictured);
UPDATE entries SET own = 'chat;picture' WHERE kind = 'human' AND json_array_length(body, '$.images') > 0;
DROP TABLE pictured;

-- The labels of what a report says, of what is held, and of what was known when a call was decided upon.
ALTER TABLE reports ADD COLUMN label TEXT NOT NULL DEFAULT ';';
ALTER TABLE inquiries ADD COLUMN label TEXT NOT NULL DEFAULT ';';
ALTER TABLE held ADD COLUMN label TEXT NOT NULL DEFAULT ';';
ALTER TABLE decisions ADD COLUMN label TEXT NOT NULL DEFAULT ';';

-- A card that is answered after its run has gone on is carried out by itself: 1, if this is one.
ALTER TABLE approvals ADD COLUMN card INTEGER;

-- What the human has accepted by its content: what a file may use, a skill's commands, a server's tools.
CREATE TABLE accepted (
    name TEXT NOT NULL,       -- routine:mail, skill:review, server:notes
    hash TEXT NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (name, hash)
) STRICT;
