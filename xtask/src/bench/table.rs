//! The table, as text and as a page.

use super::amount::{Amount, Target};

/// One line of the table.
#[derive(Clone, Debug)]
pub struct TableLine {
    pub name: String,
    /// The promised value, if any.
    pub target: Option<Target>,
    /// The measured value, if any.
    pub measured: Option<Amount>,
}

impl TableLine {
    /// Returns whether it was measured and misses its target.
    pub fn misses_target(&self) -> bool {
        matches!((self.target, self.measured), (Some(target), Some(measured)) if !target.is_met_by(measured))
    }

    fn cells(&self) -> [String; 4] {
        let target = self.target.map_or_else(|| "-".into(), |target| target.to_string());
        let measured = self.measured.map_or_else(|| "not measured".into(), |amount| amount.to_string());
        let verdict = match (self.target, self.measured) {
            (Some(_), Some(_)) if self.misses_target() => "MISSED",
            (Some(_), Some(_)) => "kept",
            _ => "",
        };
        [self.name.clone(), target, measured, verdict.into()]
    }
}

const HEADERS: [&str; 4] = ["What", "Target", "Measured", ""];

/// Formats the table for the terminal.
pub fn format_text(lines: &[TableLine]) -> String {
    let mut rows = vec![HEADERS.map(str::to_owned)];
    rows.extend(lines.iter().map(TableLine::cells));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..HEADERS.len()).map(width).collect();
    let drawn = rows.iter().map(|row| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    });
    drawn.collect::<Vec<_>>().join("\n")
}

/// Formats the page in the documentation: rows with a target first.
pub fn format_page(lines: &[TableLine], machine: &str) -> String {
    let (with_target, others): (Vec<_>, Vec<_>) =
        lines.iter().map(|line| (line.target, line.cells())).partition(|(target, _)| target.is_some());
    let with_target: String =
        with_target.iter().map(|(_, cells)| format!("| {} |\n", cells.join(" | "))).collect();
    let others: String =
        others.iter().map(|(_, [what, _, measured, _])| format!("| {what} | {measured} |\n")).collect();
    format!(
        "# How fast, how small\n\nWritten by `cargo xtask bench`, not by hand. Times are medians unless the line says otherwise.\n\
         Measured on {machine}.\n\n| What | Target | Measured | |\n| --- | --- | --- | --- |\n{with_target}\n\
         ## Without a target\n\nWhat these show is how something grows, and what the `claude` program takes beside our own client.\n\n\
         | What | Measured |\n| --- | --- |\n{others}"
    )
}

/// Returns `page` with the rows of `lines` replaced. A line without a row is added to the end of its
/// table, so that a new measurement needs no run of all others.
pub fn update_page(page: &str, lines: &[TableLine]) -> String {
    let mut rows: Vec<String> = page.lines().map(str::to_owned).collect();
    for line in lines {
        let [name, target, measured, verdict] = line.cells();
        let new = if line.target.is_some() {
            format!("| {name} | {target} | {measured} | {verdict} |")
        } else {
            format!("| {name} | {measured} |")
        };
        let start = format!("| {name} | ");
        match rows.iter_mut().find(|row| row.starts_with(&start)) {
            Some(row) => *row = new,
            None => rows.insert(table_end(&rows, line.target.is_some()), new),
        }
    }
    rows.join("\n") + "\n"
}

/// Returns the index after the last row of the first table, which has targets, or of the last one.
fn table_end(rows: &[String], with_target: bool) -> usize {
    let is_row = |row: &String| row.starts_with('|');
    if with_target {
        let first = rows.iter().position(is_row).unwrap_or(rows.len());
        first + rows[first..].iter().take_while(|row| is_row(row)).count()
    } else {
        rows.iter().rposition(is_row).map_or(rows.len(), |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::amount::{ms, us};
    use super::*;

    fn lines() -> Vec<TableLine> {
        let line = |name: &str, target, measured| TableLine { name: name.into(), target, measured };
        vec![
            line("fork", Some(Target::AtMost(us(50.0))), Some(us(17.0))),
            line("start", Some(Target::AtMost(ms(20.0))), Some(ms(21.0))),
            line("search", Some(Target::AtMost(ms(20.0))), None),
            line("draw", None, Some(ms(1.0))),
        ]
    }

    #[test]
    fn table_shows_kept_missed_and_unmeasured_targets() {
        let drawn = "\
What    Target         Measured
fork    at most 50 µs  17 µs         kept
start   at most 20 ms  21 ms         MISSED
search  at most 20 ms  not measured
draw    -              1 ms";
        assert_eq!(format_text(&lines()), drawn);
    }

    #[test]
    fn only_a_measured_line_can_miss() {
        let missed: Vec<_> = lines().iter().map(TableLine::misses_target).collect();
        assert_eq!(missed, [false, true, false, false]);
    }

    #[test]
    fn page_has_the_machine_and_every_line() {
        let page = format_page(&lines(), "2 cores");
        assert!(page.contains("Measured on 2 cores.\n"), "{page}");
        assert!(
            page.contains("| search | at most 20 ms | not measured |  |\n\n## Without a target\n"),
            "{page}"
        );
        assert!(page.ends_with("| --- | --- |\n| draw | 1 ms |\n"), "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with('|')).count(), 8);
    }

    #[test]
    fn rows_of_the_page_are_replaced() {
        let old = format_page(&lines(), "2 cores");
        let faster = |name: &str, target| TableLine { name: name.into(), target, measured: Some(ms(2.0)) };
        let changed = [faster("start", Some(Target::AtMost(ms(20.0)))), faster("draw", None)];
        let new = update_page(&old, &changed);
        assert!(new.contains("| start | at most 20 ms | 2 ms | kept |\n"), "{new}");
        assert!(new.ends_with("| draw | 2 ms |\n"), "{new}");
        assert_eq!(new.lines().count(), old.lines().count());
    }

    #[test]
    fn new_rows_are_added_to_their_table() {
        let old = format_page(&lines(), "2 cores");
        let line = |name: &str, target| TableLine { name: name.into(), target, measured: Some(ms(2.0)) };
        let new = update_page(&old, &[line("fly", None), line("ring", Some(Target::AtMost(ms(20.0))))]);
        assert!(new.contains("not measured |  |\n| ring | at most 20 ms | 2 ms | kept |\n\n"), "{new}");
        assert!(new.ends_with("| draw | 1 ms |\n| fly | 2 ms |\n"), "{new}");
    }
}
