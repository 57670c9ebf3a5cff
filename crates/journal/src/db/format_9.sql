-- Webhook deliveries that have not ended: the file as it was at the delivery, and the values. Their
-- state is in the occurrence.
CREATE TABLE deliveries (
    source TEXT NOT NULL,     -- webhook:ci
    due    INTEGER NOT NULL,
    hook   TEXT NOT NULL,
    brought TEXT NOT NULL,    -- [{"name": "title", "json": "\"x\"", "free": true}]
    PRIMARY KEY (source, due)
) STRICT;

-- Marks of deliveries, so that none is accepted twice within a week.
CREATE TABLE delivery_marks (
    mark TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_marks_by_age ON delivery_marks (at);
