INSERT INTO approvals (id, at, turn, branch, call, tool, input, how, surface, closed, stands, stands_until) VALUES
    (90, 1760000030000000, 1, 'main', 'call-90', 'WebFetch', '{"url":"https://news.example/a"}', 'always allowed', 'page',
     1760000031000000, 'site https://news.example', 1762592031000000);
