//! Texts that repeat in thousands of rows, stored once.

use rusqlite::{Connection, OptionalExtension as _, Params};

use super::cached::Cached as _;

/// Row of a text in `texts`; made if there is none, in a transaction that writes already.
pub(super) fn text(connection: &Connection, text: &str) -> Result<i64, rusqlite::Error> {
    row(
        connection,
        "SELECT id FROM texts WHERE text = ?1",
        "INSERT INTO texts (text) VALUES (?1)",
        [text],
    )
}

/// Row of an item in `items`; made if there is none, in a transaction that writes already.
pub(super) fn item(connection: &Connection, name: &str, description: &str) -> Result<i64, rusqlite::Error> {
    row(
        connection,
        "SELECT id FROM items WHERE name = ?1 AND description = ?2",
        "INSERT INTO items (name, description) VALUES (?1, ?2)",
        [name, description],
    )
}

/// Nearly every text is there already: looked for first, it takes one statement and changes nothing.
fn row(connection: &Connection, find: &str, make: &str, texts: impl Params + Copy) -> Result<i64, rusqlite::Error> {
    match connection.row(find, texts, |row| row.get(0)).optional()? {
        Some(id) => Ok(id),
        None => {
            connection.change(make, texts)?;
            Ok(connection.last_insert_rowid())
        }
    }
}
