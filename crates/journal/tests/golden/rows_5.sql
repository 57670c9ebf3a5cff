INSERT INTO posts (id, key, at, work, ring, entry, sheet, state) VALUES (1, 'words:4', 1760000016000000, 'new', 1, 4, '', 'sent');
INSERT INTO receipts (key, part, message, at) VALUES ('words:4', 0, 1234567890, 1760000017000000);
INSERT INTO keepsakes (name, value) VALUES ('golden', 'kept');
INSERT INTO cards (id, words, said, rang, post, state, since) VALUES
    ('a1b2c3d4', 'water the plants', 'water the plants', 1760000018000000, 'card:a1b2c3d4', 'done', 1760000019000000);
