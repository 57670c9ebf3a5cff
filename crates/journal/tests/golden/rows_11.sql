INSERT INTO spending (id, at, branch, turn, source, attended, model, input, cache_read, cache_write, output, micros,
    cache_write_1h) VALUES
    (110, 1760000040000000, 'main', 1, 'main', 'waited', 'anthropic:claude-sonnet-5-5', 20, 900, 300, 40, 1830, 200);
