INSERT INTO held (id, at, source, name, words, why, told) VALUES
    (1, 1760000020000000, 'routine:mail', 'mail', 'a letter came', 'quiet', 1760000021000000);
INSERT INTO dislikes (source, count) VALUES ('routine:mail', 2);
