-- Finds the message of an entry, so that a search result can name the surface.
CREATE INDEX messages_by_entry ON messages (entry) WHERE entry IS NOT NULL;

-- The index again, with prefixes of two and three letters, so that a search for the beginning of a
-- word is as fast as one for a whole word.
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
