-- A yes to the same for a while: what it covers ("exactly" what was asked, "file PATH" or "site ADDRESS"), until when, and
-- when it was taken back or over. What was always allowed before was for one session, and is over.
ALTER TABLE approvals ADD COLUMN stands TEXT;
ALTER TABLE approvals ADD COLUMN stands_until INTEGER;
ALTER TABLE approvals ADD COLUMN withdrawn INTEGER;
