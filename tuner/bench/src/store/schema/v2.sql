-- Version 2. Texts that repeat are stored once, samples compactly (store/blob.rs), verdicts beside them; views for people.

ALTER TABLE runs ADD COLUMN library_string TEXT;
-- JSON array, each host once.
ALTER TABLE runs ADD COLUMN hosts TEXT;

-- Launch keys, block ids, lists of items (JSON).
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- What was carried out. `description` is the JSON of the plan; empty where it was not known.
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    function TEXT GENERATED ALWAYS AS (
        CASE WHEN json_valid(description)
        THEN CAST(coalesce(description ->> '$.task', description ->> '$.collective', description ->> '$.function') AS TEXT) END
    ) VIRTUAL,
    bytes INTEGER GENERATED ALWAYS AS (
        CASE WHEN json_valid(description) THEN CAST(description ->> '$.bytes' AS INTEGER) END
    ) VIRTUAL,
    UNIQUE (name, description)
) STRICT;

DROP INDEX samples_by_block;
ALTER TABLE samples RENAME TO samples_v1;
ALTER TABLE blocks RENAME TO blocks_v1;

CREATE TABLE blocks (
    run INTEGER NOT NULL REFERENCES runs (id),
    key INTEGER NOT NULL REFERENCES texts (id),
    block INTEGER NOT NULL REFERENCES texts (id),
    launch INTEGER NOT NULL REFERENCES launches (id),
    end_launch INTEGER NOT NULL REFERENCES launches (id),
    state TEXT NOT NULL CHECK (state IN ('done', 'hung', 'crashed')),
    seconds REAL NOT NULL,
    items INTEGER NOT NULL REFERENCES texts (id),
    detail TEXT NOT NULL,
    time REAL NOT NULL,
    PRIMARY KEY (run, key, block)
) STRICT;

-- Raw samples, also those of blocks that were never done: `repetitions` values in `seconds`, in the order they were made.
CREATE TABLE samples (
    id INTEGER PRIMARY KEY,
    launch INTEGER NOT NULL REFERENCES launches (id),
    block INTEGER NOT NULL REFERENCES texts (id),
    item INTEGER NOT NULL REFERENCES items (id),
    repetitions INTEGER NOT NULL,
    seconds BLOB NOT NULL,
    void INTEGER NOT NULL,
    time REAL NOT NULL
) STRICT;
CREATE INDEX samples_by_block ON samples (launch, block);

-- The report of a finished run without its cells (JSON).
CREATE TABLE reports (
    run INTEGER PRIMARY KEY REFERENCES runs (id),
    head TEXT NOT NULL
) STRICT;

-- The verdicts of a finished run, a row per cell and phase. `number` is the cell's place in the report; `medians` and
-- `right_medians` are one value per launch, stored as samples are; `rest` is what has no column (JSON).
CREATE TABLE cells (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('before', 'after')),
    guideline TEXT NOT NULL,
    expression TEXT NOT NULL,
    kind TEXT NOT NULL,
    function TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    measured_bytes INTEGER NOT NULL,
    right_bytes INTEGER,
    ranks INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL,
    p REAL,
    p_adjusted REAL,
    seconds REAL,
    right_seconds REAL,
    launches INTEGER NOT NULL,
    right_launches INTEGER NOT NULL,
    medians BLOB NOT NULL,
    right_medians BLOB NOT NULL,
    fix TEXT,
    rest TEXT NOT NULL,
    UNIQUE (run, number, phase)
) STRICT;

CREATE VIEW runs_view AS
    SELECT runs.id, library, library_string, hosts, ranks, printf('%u', seed) AS seed, command_line,
        strftime('%Y-%m-%dT%H:%M:%SZ', started, 'unixepoch') AS started,
        strftime('%Y-%m-%dT%H:%M:%SZ', finished, 'unixepoch') AS finished,
        head ->> '$.command' AS command,
        head ->> '$.provenance.kilter_version' AS kilter_version,
        (SELECT count(*) FROM launches WHERE launches.run = runs.id) AS launches,
        (SELECT coalesce(sum(repetitions), 0) FROM samples JOIN launches ON launches.id = samples.launch
            WHERE launches.run = runs.id) AS samples,
        (SELECT count(DISTINCT number) FROM cells WHERE cells.run = runs.id) AS cells
    FROM runs LEFT JOIN reports ON reports.run = runs.id;

CREATE VIEW launches_view AS
    SELECT launches.id, run, key, attempt, outcome, seconds,
        strftime('%Y-%m-%dT%H:%M:%SZ', launches.started, 'unixepoch') AS started,
        library, library_string, hosts, ranks, printf('%u', seed) AS seed,
        start_json ->> '$.variables' AS parameters, start_json ->> '$.environment' AS environment,
        start_json ->> '$.clock_tick_seconds' AS clock_tick_seconds,
        launches.command_line, log_path
    FROM launches JOIN runs ON runs.id = launches.run;

CREATE VIEW blocks_view AS
    SELECT run, keys.text AS key, names.text AS block, launch, end_launch, state, seconds, lists.text AS items_json, detail,
        time
    FROM blocks
    JOIN texts AS keys ON keys.id = blocks.key
    JOIN texts AS names ON names.id = blocks.block
    JOIN texts AS lists ON lists.id = blocks.items;

CREATE VIEW samples_view AS
    SELECT samples.id, run, samples.launch, key, attempt, texts.text AS block, items.name AS item, items.function, items.bytes,
        items.description, ranks, library, library_string, hosts, printf('%u', seed) AS seed,
        strftime('%Y-%m-%dT%H:%M:%SZ', samples.time, 'unixepoch') AS time, repetitions, void, samples.seconds
    FROM samples
    JOIN launches ON launches.id = samples.launch
    JOIN runs ON runs.id = launches.run
    JOIN items ON items.id = samples.item
    JOIN texts ON texts.id = samples.block;

CREATE VIEW verdicts_view AS
    SELECT cells.id, cells.run, phase, guideline, expression, kind, function, bytes, measured_bytes, right_bytes, cells.ranks, verdict,
        ratio, ratio_low, ratio_high, p, p_adjusted, seconds, right_seconds, launches, right_launches, fix,
        head ->> '$.library.name' AS library_name, head ->> '$.library.version' AS library_version, library, library_string,
        hosts, printf('%u', seed) AS seed, strftime('%Y-%m-%dT%H:%M:%SZ', started, 'unixepoch') AS started
    FROM cells
    JOIN runs ON runs.id = cells.run
    JOIN reports ON reports.run = cells.run;
