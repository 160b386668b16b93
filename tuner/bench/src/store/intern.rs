//! Texts that repeat in thousands of rows, stored once.

use rusqlite::{Connection, params};

/// Row of a text in `texts`; made if there is none.
pub(super) fn text(connection: &Connection, text: &str) -> Result<i64, rusqlite::Error> {
    connection
        .prepare_cached("INSERT INTO texts (text) VALUES (?1) ON CONFLICT (text) DO NOTHING")?
        .execute([text])?;
    connection
        .prepare_cached("SELECT id FROM texts WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
}

/// Row of an item in `items`; made if there is none.
pub(super) fn item(connection: &Connection, name: &str, description: &str) -> Result<i64, rusqlite::Error> {
    connection
        .prepare_cached(
            "INSERT INTO items (name, description) VALUES (?1, ?2) ON CONFLICT (name, description) DO NOTHING",
        )?
        .execute([name, description])?;
    connection
        .prepare_cached("SELECT id FROM items WHERE name = ?1 AND description = ?2")?
        .query_row(params![name, description], |row| row.get(0))
}
