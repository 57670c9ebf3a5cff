-- The branch that a message is for; null if it is for the branch that the user is on.
ALTER TABLE messages ADD COLUMN branch TEXT;

-- The topic of a branch, set when it begins.
ALTER TABLE moves ADD COLUMN label TEXT;

-- Updates of forks and background runs for main; `read` is null while an update waits.
CREATE TABLE reports (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    source TEXT NOT NULL,
    text   TEXT NOT NULL,
    read   INTEGER,           -- null while it waits; then the number of moves at the time of reading
    told   TEXT,              -- the form in which main read it: quoted, counted
    entry  INTEGER            -- the entry with the update; null if a fork read it and became main
) STRICT;
CREATE INDEX unread_reports ON reports (id) WHERE read IS NULL;

-- The open interactive fork.
CREATE TABLE forks (
    branch  TEXT PRIMARY KEY,
    root    INTEGER,          -- the entry of main at which it began
    topic   TEXT,
    idle    INTEGER NOT NULL, -- minutes
    active  INTEGER NOT NULL,
    asked   INTEGER,
    seen    INTEGER,
    leaving TEXT NOT NULL,    -- not, save, report, drop, with-report
    report  TEXT,             -- the text of the update, for an exit with a report
    until   INTEGER NOT NULL, -- the first message that belongs to main again, when the fork is ending
    thinking TEXT NOT NULL    -- off, adaptive, or a number of tokens
) STRICT;

-- The interactive fork that was requested and has not begun; one row at most.
CREATE TABLE entering (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    topic TEXT,
    idle  INTEGER,            -- minutes
    until INTEGER NOT NULL    -- the first message that waits until the fork has begun
) STRICT;

-- For the calls of one answer.
CREATE INDEX spending_by_turn ON spending (turn);
CREATE INDEX decisions_by_turn ON decisions (turn);

-- An item that was removed from the inbox keeps its row, so that its number is not used again.
ALTER TABLE inbox ADD COLUMN removed INTEGER;

-- Approvals, open and closed. A call that was allowed after its turn had continued is a grant.
CREATE TABLE approvals (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    branch  TEXT NOT NULL,
    call    TEXT NOT NULL,    -- the id that the model gave to the call
    tool    TEXT NOT NULL,
    input   TEXT NOT NULL,    -- JSON, complete
    late    INTEGER,          -- 1 once the turn has continued without an answer
    how     TEXT,             -- allowed, always allowed, denied, cancelled, expired; null while it can be answered
    surface TEXT,             -- the surface of the answer
    closed  INTEGER,
    spent   INTEGER,          -- the time when the grant was used or ended
    used    TEXT              -- the call that used it
) STRICT;
CREATE INDEX open_approvals ON approvals (id) WHERE how IS NULL;
CREATE INDEX grants ON approvals (id) WHERE late = 1 AND spent IS NULL AND how IN ('allowed', 'always allowed');

-- Background runs, the messages they showed to the user, and the run that a reply or a button
-- belongs to.

-- The message that a message replies to, with its text; or the message whose button was pressed,
-- with the button's text.
ALTER TABLE messages ADD COLUMN about INTEGER;
ALTER TABLE messages ADD COLUMN quoted TEXT;
ALTER TABLE messages ADD COLUMN inquiry TEXT;

-- Active background runs.
CREATE TABLE runs (
    branch  TEXT PRIMARY KEY,
    source  TEXT NOT NULL,    -- routine:mail
    kind    TEXT NOT NULL,    -- forked, isolated, persistent
    depth   INTEGER,          -- the number in its chain, if it is in one
    most    INTEGER,
    allowed TEXT,             -- JSON
    denied  TEXT,             -- JSON
    root    INTEGER,          -- the entry of main at which it began
    parent  TEXT              -- the session of main at that time
) STRICT;

-- Messages that runs showed to the user, by the entry that contains them.
CREATE TABLE sent (
    entry  INTEGER PRIMARY KEY REFERENCES entries (id),
    branch TEXT NOT NULL,
    source TEXT NOT NULL
) STRICT;
CREATE INDEX sent_by ON sent (branch);

-- The run of each message, for seven days. `entry` is the end of the run: null for a run of another
-- program.
CREATE TABLE origins (
    message INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    parent  TEXT,
    at      INTEGER NOT NULL,
    source  TEXT,
    root    INTEGER,
    entry   INTEGER
) STRICT;

-- The prompts of buttons, for seven days. `asked` is null until a button is pressed.
CREATE TABLE inquiries (
    id     TEXT PRIMARY KEY,
    prompt TEXT NOT NULL,
    at     INTEGER NOT NULL,
    asked  INTEGER
) STRICT;

-- Messages that the user dismissed.
CREATE TABLE put_away (
    message INTEGER PRIMARY KEY
) STRICT;
