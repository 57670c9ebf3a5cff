-- The effort of a run (low, medium, high, xhigh, max), if its job says one, and of the open side conversation; null in a side
-- conversation from before, which goes by its way to think. In runs, thinking is now 0 for off, 1 as main does, 2 for on.
ALTER TABLE runs ADD COLUMN effort TEXT;
ALTER TABLE forks ADD COLUMN effort TEXT;
