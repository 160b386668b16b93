//! Migrates version 1 of the schema to version 2: the same rows, each repeated text once, samples as [`blob`] packs
//! them.

use rusqlite::types::Type;
use rusqlite::{Transaction, params};

use super::{blob, intern};

/// Fills the tables of version 2 from those of version 1 and drops the latter. Times survive bit for bit. A torn blob
/// is an error: the migration is then undone, and the file stays as it was.
pub(super) fn v1_to_v2(transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    transaction.execute_batch(
        "UPDATE runs SET
            library_string = (SELECT start_json ->> '$.library' FROM launches
                WHERE launches.run = runs.id AND start_json IS NOT NULL ORDER BY id LIMIT 1),
            hosts = (SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM json_each((
                SELECT start_json -> '$.hosts' FROM launches
                WHERE launches.run = runs.id AND start_json IS NOT NULL ORDER BY id LIMIT 1))));
        UPDATE runs SET hosts = NULL WHERE library_string IS NULL;
        INSERT OR IGNORE INTO texts (text) SELECT DISTINCT key FROM blocks_v1;
        INSERT OR IGNORE INTO texts (text) SELECT DISTINCT block FROM blocks_v1;
        INSERT OR IGNORE INTO texts (text) SELECT DISTINCT items_json FROM blocks_v1;
        INSERT INTO blocks (rowid, run, key, block, launch, end_launch, state, seconds, items, detail, time)
            SELECT old.rowid, run, keys.id, names.id, launch, end_launch, state, seconds, lists.id, detail, time
            FROM blocks_v1 AS old
            JOIN texts AS keys ON keys.text = old.key
            JOIN texts AS names ON names.text = old.block
            JOIN texts AS lists ON lists.text = old.items_json
            ORDER BY old.rowid;",
    )?;
    noise(transaction)?;
    samples(transaction)?;
    transaction.execute_batch("DROP TABLE samples_v1; DROP TABLE blocks_v1;")
}

fn noise(transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let mut read = transaction.prepare("SELECT id, noise FROM launches WHERE noise IS NOT NULL")?;
    let old: Vec<(i64, Vec<u8>)> = read
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, bytes) in old {
        let seconds = blob::decode_raw(&bytes).ok_or_else(|| torn(1, format!("launches.noise of launch {id}")))?;
        transaction.execute(
            "UPDATE launches SET noise = ?2 WHERE id = ?1",
            params![id, blob::encode(&seconds)],
        )?;
    }
    Ok(())
}

fn samples(transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let mut read = transaction
        .prepare("SELECT id, launch, block, item, description, seconds, void, time FROM samples_v1 ORDER BY id")?;
    let mut write = transaction.prepare(
        "INSERT INTO samples (id, launch, block, item, repetitions, seconds, void, time)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let block: String = row.get(2)?;
        let (name, description): (String, String) = (row.get(3)?, row.get(4)?);
        let bytes: Vec<u8> = row.get(5)?;
        let seconds = blob::decode_raw(&bytes).ok_or_else(|| torn(5, format!("samples.seconds of row {id}")))?;
        write.execute(params![
            id,
            row.get::<_, i64>(1)?,
            intern::text(transaction, &block)?,
            intern::item(transaction, &name, &description)?,
            seconds.len() as i64,
            blob::encode(&seconds),
            row.get::<_, i64>(6)?,
            row.get::<_, f64>(7)?
        ])?;
    }
    Ok(())
}

fn torn(column: usize, what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        Type::Blob,
        format!("{what}: the number of bytes is not a multiple of 8").into(),
    )
}
