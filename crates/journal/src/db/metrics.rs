//! Metrics for monitoring: counts only, no contents.

use rusqlite::Row;

use super::Database;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    /// The label values, in the column order of the query.
    pub labels: Vec<String>,
    pub value: u64,
}

/// The metrics and their queries; the last column is the value.
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
    pub fn metrics(&self) -> rusqlite::Result<Vec<Metric>> {
        let mut numbers = Vec::new();
        for (of, sql) in QUERIES {
            let mut rows = self.connection.prepare(sql)?;
            let last = rows.column_count().saturating_sub(1);
            let number = |row: &Row<'_>| {
                let which = (0..last).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?;
                let amount: i64 = row.get(last)?;
                Ok(Metric { name: of, labels: which, value: u64::try_from(amount).unwrap_or_default() })
            };
            for number in rows.query_map([], number)? {
                numbers.push(number?);
            }
        }
        Ok(numbers)
    }
}
