INSERT INTO spending (id, at, branch, turn, source, attended, model, input, cache_read, cache_write, output, micros) VALUES
    (1, 1760000001000000, 'main', 1, 'main', 'waited', 'anthropic:claude-sonnet', 900, 100, 50, 40, 3100),
    (2, 1760000002000000, 'fork/mail', 2, 'routine:mail', 'unattended', 'openai:qwen3', 500, 0, 0, 20, NULL);
