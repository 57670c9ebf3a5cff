INSERT INTO entries (id, parent, depth, at, kind, body) VALUES
    (1, NULL, 1, 1760000000000000, 'human', '{"preface":"[2025-10-09 Thu 10:53 AM CEST]","text":"where is my gravel bike?"}'),
    (2, 1, 2, 1760000001000000, 'assistant', '{"blocks":[{"text":"let me look."},{"call":{"id":"c1","name":"inbox_list","input":"{}"}}]}'),
    (3, 2, 3, 1760000002000000, 'tools', '{"results":[{"call":"c1","text":"the bike is in the cellar"}]}'),
    (4, 3, 4, 1760000003000000, 'assistant', '{"blocks":[{"text":"in the cellar."}]}'),
    (5, 4, 5, 1760000004000000, 'summary', '{"text":"they looked for a bike"}'),
    (6, 5, 6, 1760000005000000, 'human', '{"preface":"","text":"what is on this picture?","images":[{"media_type":"image/png","data":"iVBORw0KGgo="}]}'),
    (7, 6, 7, 1760000006000000, 'assistant', '{"blocks":[{"text":"a lighthouse"}],"cut":true}');
INSERT INTO words (rowid, text) VALUES
    (1, 'where is my gravel bike?'), (2, 'let me look.'), (3, 'the bike is in the cellar'), (4, 'in the cellar.'),
    (5, 'they looked for a bike'), (6, 'what is on this picture?'), (7, 'a lighthouse');
INSERT INTO heads (branch, entry, session) VALUES ('main', 7, '5f0c77aa-golden');
INSERT INTO moves (id, at, branch, why, from_entry, from_session, to_entry, to_session) VALUES
    (1, 1760000000000000, 'main', 'created', NULL, NULL, NULL, '5f0c77aa-golden');
INSERT INTO messages (id, at, surface, text, entry) VALUES
    (1, 1760000000000000, 'page', 'where is my gravel bike?', 1),
    (2, 1760000005000000, 'terminal', 'what is on this picture?', 6),
    (3, 1760000007000000, 'page', 'and this one waits', NULL);
INSERT INTO turns (id, branch, message, opened, attempts, closed, ending, reason, input, output) VALUES
    (1, 'main', 1, 1760000000000000, 1, 1760000003000000, 'finished', NULL, 900, 40),
    (2, 'main', 2, 1760000005000000, 2, 1760000006000000, 'interrupted', NULL, 800, 10);
INSERT INTO decisions (id, turn, at, call, tool, input, rule) VALUES
    (1, 1, 1760000001500000, 'c1', 'inbox_list', '{}', 'allowed');
INSERT INTO inbox (id, at, text) VALUES (1, 1760000008000000, 'the bike needs air');
INSERT INTO devices (id, label, credential, paired) VALUES
    ('d1', 'a browser', x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 1760000009000000);
