-- The effort of a run (low, medium, high, xhigh, max), if its job sets one, and of the open
-- interactive fork; null in a fork from before this format, which follows its thinking mode. In
-- runs, thinking is now 0 for off, 1 for the mode of main, 2 for on.
ALTER TABLE runs ADD COLUMN effort TEXT;
ALTER TABLE forks ADD COLUMN effort TEXT;
