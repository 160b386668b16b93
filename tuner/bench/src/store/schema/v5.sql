-- The allocation of a batch system that the launch was made in, such as SLURM_JOB_ID=4711; NULL outside of any, and before this version.
ALTER TABLE launches ADD COLUMN allocation TEXT;

DROP VIEW launches_view;
CREATE VIEW launches_view AS
    SELECT launches.id, run, key, attempt, outcome, seconds,
        strftime('%Y-%m-%dT%H:%M:%SZ', launches.started, 'unixepoch') AS started,
        library, library_string, hosts, ranks, printf('%u', seed) AS seed,
        start_json ->> '$.variables' AS parameters, start_json ->> '$.environment' AS environment,
        start_json ->> '$.clock_tick_seconds' AS clock_tick_seconds,
        launches.command_line, log_path, allocation
    FROM launches JOIN runs ON runs.id = launches.run;
