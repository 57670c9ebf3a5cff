-- What is known of words of ours that wait to be heard; null, if nothing is.
ALTER TABLE messages ADD COLUMN label TEXT;
-- What was known where a call was asked for, and the first approval of the same step of the model: they share one card.
ALTER TABLE approvals ADD COLUMN label TEXT;
ALTER TABLE approvals ADD COLUMN step INTEGER;
