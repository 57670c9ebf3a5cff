INSERT INTO accepted (name, hash, at) VALUES ('skill:review', 'abc123', 1760000022000000);
