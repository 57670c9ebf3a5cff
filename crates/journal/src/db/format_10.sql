-- A standing approval: its scope ("exactly" the call, "file PATH" or "site ADDRESS"), its end, and
-- the time of its revocation or replacement. Earlier approvals of this kind were valid for one
-- session, and have ended.
ALTER TABLE approvals ADD COLUMN stands TEXT;
ALTER TABLE approvals ADD COLUMN stands_until INTEGER;
ALTER TABLE approvals ADD COLUMN withdrawn INTEGER;
