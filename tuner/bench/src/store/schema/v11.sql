-- The loop of a block's repetitions: its seconds (the block's other seconds make its items ready and check them), and the runs in it: counted, void and
-- warming up. NULL where the worker did not say.
ALTER TABLE blocks ADD COLUMN repeat_seconds REAL;
ALTER TABLE blocks ADD COLUMN repeat_runs INTEGER;
