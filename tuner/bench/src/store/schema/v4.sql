-- `cases` are the runs that were compared with the reference, `skipped` those that were not made, a JSON object {reason: runs}.
-- Before, `cases` counted both, and only 1 where a row crashed or hung: these rows have NULL here and admit nothing any more.
ALTER TABLE verified ADD COLUMN skipped TEXT;
