-- Which message an entry was, so that what was found can say where it was said.
CREATE INDEX messages_by_entry ON messages (entry) WHERE entry IS NOT NULL;

-- The words again, with the beginnings of two and three letters, so that a word that is still being written is found
-- as fast as a whole one.
DROP TABLE words;
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
INSERT INTO words (rowid, text)
SELECT id, text FROM (
    SELECT id, CASE kind
        WHEN 'assistant' THEN (
            SELECT group_concat(value ->> '$.text', char(10) || char(10)) FROM json_each(body, '$.blocks')
            WHERE value ->> '$.text' IS NOT NULL
        )
        WHEN 'tools' THEN (SELECT group_concat(value ->> '$.text', char(10)) FROM json_each(body, '$.results'))
        ELSE body ->> '$.text'
    END AS text
    FROM entries WHERE json_valid(body)
) WHERE text <> '';
