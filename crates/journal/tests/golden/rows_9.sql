INSERT INTO delivery_marks (mark, at) VALUES ('5f3c', 1760000023000000);
