INSERT INTO reports (id, at, source, text) VALUES (1, 1760000010000000, 'routine:mail', 'two letters need an answer');
INSERT INTO approvals (id, at, turn, branch, call, tool, input, late, how, surface, closed) VALUES
    (1, 1760000011000000, 1, 'main', 'c9', 'Bash', '{"command":"ls"}', NULL, 'denied', 'page', 1760000012000000);
INSERT INTO sent (entry, branch, source) VALUES (4, 'fork/mail', 'routine:mail');
INSERT INTO origins (message, session, parent, at, source, root, entry) VALUES
    (4, 'a0a0a0a0-run', '5f0c77aa-golden', 1760000013000000, 'routine:mail', 4, 4);
INSERT INTO inquiries (id, prompt, at) VALUES ('00112233', 'show me both', 1760000014000000);
INSERT INTO put_away (message) VALUES (4);
