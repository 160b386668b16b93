-- The loop of a block's repetitions: its seconds (the block's other seconds make its items ready and check them), and the runs in it: counted, void and
-- warming up. NULL where the worker did not say.
ALTER TABLE blocks ADD COLUMN repeat_seconds REAL;
ALTER TABLE blocks ADD COLUMN repeat_runs INTEGER;

DROP VIEW blocks_view;
CREATE VIEW blocks_view AS
    SELECT run, keys.text AS key, names.text AS block, launch, end_launch, state, seconds, repeat_seconds, repeat_runs,
        lists.text AS items_json, detail, time
    FROM blocks
    JOIN texts AS keys ON keys.id = blocks.key
    JOIN texts AS names ON names.id = blocks.block
    JOIN texts AS lists ON lists.id = blocks.items;
