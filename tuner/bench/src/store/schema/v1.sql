-- Version 1. Released: never edit.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    seed INTEGER NOT NULL,
    command_line TEXT NOT NULL,
    library TEXT NOT NULL,
    ranks INTEGER NOT NULL,
    started REAL NOT NULL,
    finished REAL
) STRICT;
CREATE INDEX runs_by_fingerprint ON runs (fingerprint);

-- One attempt at one job. `report_offset` bytes (`report_lines` lines) of the report file have been stored;
-- `seconds` is its wall time so far.
CREATE TABLE launches (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id),
    key TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    instance TEXT NOT NULL,
    tag TEXT NOT NULL,
    command_line TEXT NOT NULL,
    plan_path TEXT NOT NULL,
    report_path TEXT NOT NULL,
    log_path TEXT NOT NULL,
    report_offset INTEGER NOT NULL DEFAULT 0,
    report_lines INTEGER NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,
    started REAL NOT NULL,
    ended REAL,
    outcome TEXT,
    start_json TEXT,
    noise BLOB,
    end_json TEXT,
    UNIQUE (run, key, attempt)
) STRICT;

-- What became of a block. `launch` measured it; `end_launch` is the launch whose end line covers it.
CREATE TABLE blocks (
    run INTEGER NOT NULL REFERENCES runs (id),
    key TEXT NOT NULL,
    block TEXT NOT NULL,
    launch INTEGER NOT NULL REFERENCES launches (id),
    end_launch INTEGER NOT NULL REFERENCES launches (id),
    state TEXT NOT NULL CHECK (state IN ('done', 'hung', 'crashed')),
    seconds REAL NOT NULL,
    items_json TEXT NOT NULL,
    detail TEXT NOT NULL,
    time REAL NOT NULL,
    PRIMARY KEY (run, key, block)
) STRICT;

-- Raw samples, also those of blocks that were never done. `seconds` is little-endian f64.
CREATE TABLE samples (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id),
    launch INTEGER NOT NULL REFERENCES launches (id),
    key TEXT NOT NULL,
    block TEXT NOT NULL,
    item TEXT NOT NULL,
    description TEXT NOT NULL,
    seconds BLOB NOT NULL,
    void INTEGER NOT NULL,
    time REAL NOT NULL
) STRICT;
CREATE INDEX samples_by_block ON samples (launch, block);

-- What the worker says about an item besides its samples: settings read back (JSON), or why it failed (text).
CREATE TABLE item_notes (
    launch INTEGER NOT NULL REFERENCES launches (id),
    block TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('settings', 'failed')),
    detail TEXT NOT NULL,
    time REAL NOT NULL
) STRICT;
CREATE INDEX item_notes_by_block ON item_notes (launch, block);
