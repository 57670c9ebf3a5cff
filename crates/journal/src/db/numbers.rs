//! Numbers for who watches from outside: how much there was of everything, never what.

use rusqlite::Row;

use super::Database;

/// How much there is of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// Of what.
    pub of: &'static str,
    /// Which of them: the values of what it is told apart by, in the order of its query.
    pub which: Vec<String>,
    /// How much.
    pub amount: u64,
}

/// What is counted, and how: the last column is the amount.
const QUERIES: [(&str, &str); 10] = [
    ("turns", "SELECT ending, count(*) FROM turns WHERE ending IS NOT NULL GROUP BY 1"),
    ("open turns", "SELECT count(*) FROM turns WHERE ending IS NULL"),
    ("occurrences", "SELECT stage, count(*) FROM occurrences GROUP BY 1"),
    ("runs", "SELECT kind, count(*) FROM runs GROUP BY 1"),
    ("pings", "SELECT 'charged', count(*) FROM charges"),
    ("held", "SELECT 'waiting', count(*) FROM held WHERE told IS NULL"),
    ("posts", "SELECT 'waiting', count(*) FROM posts WHERE state = 'waits'"),
    ("calls", "SELECT model, attended, count(*) FROM spending GROUP BY 1, 2"),
    (
        "tokens",
        "SELECT model, 'input', sum(input) FROM spending GROUP BY 1 \
         UNION ALL SELECT model, 'cache_read', sum(cache_read) FROM spending GROUP BY 1 \
         UNION ALL SELECT model, 'cache_write', sum(cache_write) FROM spending GROUP BY 1 \
         UNION ALL SELECT model, 'output', sum(output) FROM spending GROUP BY 1",
    ),
    ("micros", "SELECT model, coalesce(sum(micros), 0) FROM spending GROUP BY 1"),
];

impl Database {
    /// All of them.
    pub fn numbers(&self) -> rusqlite::Result<Vec<Number>> {
        let mut numbers = Vec::new();
        for (of, sql) in QUERIES {
            let mut rows = self.connection.prepare(sql)?;
            let last = rows.column_count().saturating_sub(1);
            let number = |row: &Row<'_>| {
                let which = (0..last).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?;
                let amount: i64 = row.get(last)?;
                Ok(Number { of, which, amount: u64::try_from(amount).unwrap_or_default() })
            };
            for number in rows.query_map([], number)? {
                numbers.push(number?);
            }
        }
        Ok(numbers)
    }
}
