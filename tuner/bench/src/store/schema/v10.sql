-- Knowledge of jobs from online selection (`kilter import --online`): a row for each layout, collective, class of sizes and implementation. `class` is the
-- logarithm to base 2 of the smallest size, `counted_ns` the time of all timed calls, `is_settled` 1 where the last job settled on it, `time` when.
CREATE TABLE learnt (
    id INTEGER PRIMARY KEY,
    library TEXT NOT NULL,
    ranks INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    ranks_per_node INTEGER NOT NULL,
    function TEXT NOT NULL,
    class INTEGER NOT NULL,
    implementation TEXT NOT NULL,
    calls INTEGER NOT NULL,
    counted_ns INTEGER NOT NULL,
    median_ns INTEGER NOT NULL,
    is_settled INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    time REAL NOT NULL,
    UNIQUE (library, ranks, nodes, ranks_per_node, function, class, implementation)
) STRICT;

CREATE VIEW learnt_view AS
    SELECT id, library, NULL AS library_string, ranks, nodes, ranks_per_node, function,
        CASE class WHEN 0 THEN 0 ELSE 1 << class END AS bytes, (2 << class) - 1 AS to_bytes,
        implementation, CASE is_settled WHEN 1 THEN 'settled' END AS choice, calls,
        CASE WHEN calls > 0 THEN counted_ns * 1e-9 / calls END AS seconds, median_ns * 1e-9 AS median_seconds, jobs,
        strftime('%Y-%m-%dT%H:%M:%SZ', time, 'unixepoch') AS started
    FROM learnt;
