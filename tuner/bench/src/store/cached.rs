//! Statements that are asked again and again. Parsing one, with the views in it, takes longer than what it does.

use rusqlite::{Connection, Params, Row};

/// Statements kept parsed: more than there are texts of them.
pub(super) const STATEMENTS: usize = 64;

/// A connection that keeps its statements parsed.
pub(super) trait Cached {
    /// The first row of an answer.
    fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T>;

    /// Carries a statement out; returns the number of rows that it changed.
    fn change(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize>;
}

impl Cached for Connection {
    fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.prepare_cached(sql)?.query_row(params, read)
    }

    fn change(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.prepare_cached(sql)?.execute(params)
    }
}
