-- Candidates that hung, crashed or delivered wrong data, so that no later run on this library and machine tries them. `kind` is the name of a
-- `kilter_protocol::fault::FaultKind`; `machine` as in `verified`.
CREATE TABLE quarantined (
    library TEXT NOT NULL,
    machine TEXT NOT NULL,
    candidate TEXT NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs (id),
    time REAL NOT NULL,
    PRIMARY KEY (library, machine, candidate)
) STRICT, WITHOUT ROWID;
