-- The label of messages by the program that wait to be read; null for the plain label.
ALTER TABLE messages ADD COLUMN label TEXT;
-- The label of the conversation in which a call was asked for, and the first approval of the same
-- model step: they share one card.
ALTER TABLE approvals ADD COLUMN label TEXT;
ALTER TABLE approvals ADD COLUMN step INTEGER;
