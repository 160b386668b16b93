-- What was verified for correctness: a row of a plugin on a library, a machine and a number of ranks.
-- `parameters` are the values beside the defaults that it was run with, as a JSON list; `depth` is full, reduced or case;
-- `failures` is a JSON list of {case, reason}; `digest` tells builds of the plugin apart.
CREATE TABLE verified (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    library TEXT NOT NULL,
    machine TEXT NOT NULL,
    ranks INTEGER NOT NULL,
    plugin TEXT NOT NULL,
    digest TEXT NOT NULL,
    row TEXT NOT NULL,
    parameters TEXT NOT NULL,
    depth TEXT NOT NULL,
    cases INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    failures TEXT NOT NULL
);

CREATE INDEX verified_rows ON verified (row, library, machine, ranks, digest);
