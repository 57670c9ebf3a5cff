BEGIN IMMEDIATE;

CREATE TEMP TABLE life (n INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
INSERT INTO life
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {entries})
SELECT
    n,
    1704067200000000 + n * 60000000,
    CASE WHEN n % 10000 = 1 THEN 'summary' WHEN n % 2 = 1 THEN 'human' ELSE 'assistant' END,
    printf('thing %d: the locker is %d and the train leaves at %d', n, n * 7919 % 1000, n * 104729 % 24)
FROM counted;

INSERT INTO entries (id, parent, depth, at, kind, body)
SELECT n, nullif(n - 1, 0), n, at, kind, CASE kind
    WHEN 'summary' THEN json_object('text', text)
    WHEN 'human' THEN json_object('preface', '[2026-11-15 Sun 08:00 AM CET]', 'text', text)
    ELSE json_object('blocks', json_array(json_object('text', text)))
END
FROM life;

INSERT INTO words (rowid, text) SELECT n, text FROM life;

INSERT INTO messages (id, at, surface, text, entry)
SELECT (n + 1) / 2, at, 'page', text, n FROM life WHERE n % 2 = 1;

INSERT INTO turns (id, branch, message, opened, attempts, closed, ending)
SELECT n / 2, 'main', n / 2, at, 1, at, 'finished' FROM life WHERE n % 2 = 0;

INSERT INTO moves (at, branch, why, from_entry, from_session, to_entry, to_session)
SELECT at, 'fork/run-' || n, 'forked', NULL, NULL, n, 'session-' || n FROM life WHERE n % 100 = 0
UNION ALL
SELECT at, 'fork/run-' || n, 'ended', n, 'session-' || n, NULL, NULL FROM life WHERE n % 100 = 0;

UPDATE heads SET entry = {entries} WHERE branch = 'main';

DROP TABLE life;
COMMIT;
