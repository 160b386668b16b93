-- Nights of `kilter guard`. `library` is a name without a version, `place` the ranks and their layout; `standing` is `accepted` (what later nights
-- are compared with), `silent`, `differs` or `unchecked`; `content` is JSON of `kilter-guard`.
CREATE TABLE guarded (
    run INTEGER PRIMARY KEY REFERENCES runs (id),
    library TEXT NOT NULL,
    place TEXT NOT NULL,
    standing TEXT NOT NULL,
    time REAL NOT NULL,
    content TEXT NOT NULL
) STRICT;

CREATE VIEW nights_view AS
    SELECT run, guarded.library, place, standing, strftime('%Y-%m-%dT%H:%M:%SZ', time, 'unixepoch') AS started, content
    FROM guarded;
