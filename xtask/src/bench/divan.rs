//! Parses the output of divan: a tree of benches, with the median in the third column.

use super::amount::{Amount, Unit};

/// Returns the median of every bench, by its path in the tree, such as `fork` or `fork/10000`.
pub fn medians(output: &str) -> Vec<(String, Amount)> {
    let mut path: Vec<String> = Vec::new();
    let mut medians = Vec::new();
    for line in output.lines() {
        let Some((depth, rest)) = split_branch(line) else { continue };
        let mut columns = rest.split('│').map(str::trim);
        let (Some(first), _, median) = (columns.next(), columns.next(), columns.next()) else { continue };
        path.truncate(depth);
        path.push(bench_name(first).to_owned());
        if let Some(took) = median.and_then(parse_time) {
            medians.push((path.join("/"), took));
        }
    }
    medians
}

/// Returns the median of one bench.
pub fn median(output: &str, bench: &str) -> Option<Amount> {
    medians(output).into_iter().find(|(name, _)| name == bench).map(|(_, took)| took)
}

/// Returns the depth of a line in the tree, and the text after the branch sign.
fn split_branch(line: &str) -> Option<(usize, &str)> {
    let at = line.find("├─ ").or_else(|| line.find("╰─ "))?;
    let depth = line[..at].chars().count() / 3;
    Some((depth, line[at..].split_once(' ')?.1))
}

/// Returns the name in the first column, which may have several words and be followed by the
/// fastest time.
fn bench_name(column: &str) -> &str {
    let fastest = column.rmatch_indices(' ').nth(1).map(|(at, _)| column.split_at(at));
    match fastest {
        Some((name, fastest)) if parse_time(fastest.trim_start()).is_some() => name.trim_end(),
        _ => column,
    }
}

fn parse_time(text: &str) -> Option<Amount> {
    let (number, unit) = text.split_once(' ')?;
    let step = match unit.trim() {
        "ns" => 1.0,
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(Amount { value: number.parse::<f64>().ok()? * step, unit: Unit::Time })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Timer precision: 12 ns
fork           fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ alone       16.85 µs      │ 90.1 µs       │ 17.2 µs       │ 18.01 µs      │ 100     │ 100
├─ of                        │               │               │               │         │
│  ├─ 100      1.2 ms        │ 1.9 ms        │ 1.3 ms        │ 1.31 ms       │ 100     │ 100
│  ╰─ 10000    12.2 ns       │ 19.1 ns       │ 13 ns         │ 13.1 ns       │ 100     │ 800
├─ at 10 pm    1.1 µs        │ 1.2 µs        │ 1.15 µs       │ 1.15 µs       │ 1       │ 1
╰─ last        1.1 s         │ 1.2 s         │ 1.15 s        │ 1.15 s        │ 1       │ 1
";

    #[test]
    fn medians_are_read_with_their_paths() {
        let output: Vec<_> =
            medians(OUTPUT).into_iter().map(|(name, took)| format!("{name}: {took}")).collect();
        assert_eq!(
            output,
            ["alone: 17.2 µs", "of/100: 1.3 ms", "of/10000: 13 ns", "at 10 pm: 1.15 µs", "last: 1.15 s"]
        );
    }

    #[test]
    fn median_of_one_bench_is_found() {
        assert_eq!(median(OUTPUT, "of/10000").map(|took| took.value), Some(13.0));
        assert_eq!(median(OUTPUT, "of"), None);
        assert_eq!(median("nothing of the kind", "of"), None);
    }
}
