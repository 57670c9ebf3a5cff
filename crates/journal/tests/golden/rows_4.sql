INSERT INTO plans (source, rule, until) VALUES ('routine:mail', '0 9 * * * Europe/Madrid', 1760000015000000);
INSERT INTO occurrences (source, due, name, words, late, tries, began, since, stage) VALUES
    ('routine:mail', 1759990000000000, 'mail', '', 0, 1, 1759990000000000, 1759990060000000, 'done');
INSERT INTO attention (one, pings, rest, undo) VALUES (1, NULL, NULL, NULL);
INSERT INTO charges (entry, before, after) VALUES (4, 5.0, 4.0);
