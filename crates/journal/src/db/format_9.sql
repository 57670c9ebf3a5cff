-- What was brought to webhooks and has not ended yet: the file as it was then, and the values. How it stands is in its
-- occurrence.
CREATE TABLE deliveries (
    source TEXT NOT NULL,     -- webhook:ci
    due    INTEGER NOT NULL,
    hook   TEXT NOT NULL,
    brought TEXT NOT NULL,    -- [{"name": "title", "json": "\"x\"", "free": true}]
    PRIMARY KEY (source, due)
) STRICT;

-- What deliveries are known by, so that none is taken in twice within a week.
CREATE TABLE delivery_marks (
    mark TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_marks_by_age ON delivery_marks (at);
