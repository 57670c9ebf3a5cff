INSERT INTO plan_origins (source, at, label, words, origin) VALUES ('routine:mail', 1763280000000000, ';web', 'read the news', 'a page from example.org');
INSERT INTO item_origins (item, at, label, origin, words) VALUES ('inbox:3', 1763280000000000, 'chat;mail', 'mail', 'ask anna about the flat'), ('note:notes/flat.md', 1763280000000000, ';web', 'a page from example.org', 'the flat costs 900');
