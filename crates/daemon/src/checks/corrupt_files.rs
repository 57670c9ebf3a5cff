//! Reports damaged files that were set aside, until the user moves or removes them.

use journal::Paths;
use journal::disk::Disk;

use super::{Finding, State};

/// The part of the file name before the time stamp.
const MARK: &str = ".corrupt-";
/// The most files that are listed by name.
const MAX_NAMED: usize = 3;

/// Returns a finding if there are such files.
pub fn check(paths: &Paths, disk: &dyn Disk) -> Option<Finding> {
    let places = [paths.root().to_owned(), paths.state()];
    let mut found: Vec<String> = places
        .iter()
        .flat_map(|place| disk.list(place).unwrap_or_default())
        .filter(|it| it.is_file())
        .filter_map(|it| Some(it.path.strip_prefix(paths.root()).ok()?.to_str()?.to_owned()))
        // SQLite's companion files belong to their database.
        .filter(|name| name.contains(MARK) && !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    found.sort();
    let named: Vec<String> = found.iter().take(MAX_NAMED).map(|name| file_with_date(name)).collect();
    let more = found.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text = format!("damaged, and kept aside: {}{more}. i went on without", named.join(", "));
    let fix = "look what you miss in it, put that back, then remove or move the file";
    (!found.is_empty()).then(|| Finding::new("aside", State::Warning, text).with_fix(fix))
}

/// Formats a file name and the time at which it was set aside.
fn file_with_date(name: &str) -> String {
    let stamp = name.rsplit(MARK).next().and_then(|end| end.get(..16));
    let when = stamp.and_then(|stamp| jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", stamp).ok());
    match when {
        Some(when) => format!("{name} (since {} UTC)", when.strftime("%Y-%m-%d %H:%M")),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use journal::disk::RealDisk;

    use super::*;

    #[test]
    fn corrupt_file_is_reported_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir(paths.state()).unwrap();
        assert!(check(&paths, &RealDisk).is_none());
        for name in
            ["inbox.json.corrupt-20261117T140500Z", "journal.db.corrupt-20261116T090000Z-wal", "config.json"]
        {
            std::fs::write(paths.state().join(name), "x").unwrap();
        }
        assert_eq!(
            check(&paths, &RealDisk).unwrap().text,
            "damaged, and kept aside: state/inbox.json.corrupt-20261117T140500Z (since 2026-11-17 14:05 UTC). i went on \
             without"
        );
    }
}
