-- The allocation of a batch system that the launch was made in, such as SLURM_JOB_ID=4711; NULL outside of any, and before this version.
ALTER TABLE launches ADD COLUMN allocation TEXT;
