-- The part of cache_write that was written to the cache for one hour, which costs more than five
-- minutes. Earlier calls had none.
ALTER TABLE spending ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0;
