//! Allowed dependencies between our crates, read from their manifests.

use toml::{Table, Value};

use super::Complaint;
use crate::tree::SourceFile;

/// The adapter crates. They must not depend on each other.
const ADAPTERS: &[&str] = &["journal", "models", "tools", "surfaces", "accounts"];

/// The crate for network connections, which the adapters may use.
const WIRE: &str = "wire";

/// What the domain may depend on: value types, and words for errors.
const VALUES: &[&str] = &["base64", "jiff", "rpds", "thiserror"];

const DAEMON: &str = "ollim-bot";
const TESTKIT: &str = "testkit";
/// Depends on every parser crate, and no crate depends on it.
const FUZZING: &str = "fuzzing";

/// `domain` depends on value types only.
pub fn domain_is_pure(files: &[SourceFile]) -> Vec<Complaint> {
    let foreign = |(file, arrow): (&SourceFile, Arrow)| {
        let wrong =
            arrow.from == "domain" && arrow.kind == Kind::Always && !VALUES.contains(&arrow.to.as_str());
        let what = format!("the domain may depend on {} alone, not on `{}`", VALUES.join(" and "), arrow.to);
        wrong.then(|| Complaint::of(file, what))
    };
    arrows(files).into_iter().filter_map(foreign).collect()
}

/// Crates of the workspace depend only on those they may.
pub fn hold(files: &[SourceFile]) -> Vec<Complaint> {
    let arrows = arrows(files);
    let ours: Vec<String> = files.iter().filter_map(package_name).collect();
    arrows
        .into_iter()
        .filter(|(_, arrow)| ours.contains(&arrow.to) && !may(arrow))
        .map(|(file, arrow)| {
            let when = if arrow.kind == Kind::InTests { " even in tests" } else { "" };
            Complaint::of(file, format!("`{}` may not know `{}`{when}", arrow.from, arrow.to))
        })
        .collect()
}

fn may(arrow: &Arrow) -> bool {
    let to = arrow.to.as_str();
    if arrow.kind == Kind::InTests && to == TESTKIT {
        return true;
    }
    match arrow.from.as_str() {
        "engine" => to == "domain",
        TESTKIT => to != DAEMON && to != FUZZING,
        FUZZING => to == "domain" || ADAPTERS.contains(&to),
        "fuzz" => to == FUZZING,
        DAEMON => ![TESTKIT, FUZZING, "xtask"].contains(&to),
        adapter if ADAPTERS.contains(&adapter) => ["domain", "engine", WIRE].contains(&to),
        _ => false,
    }
}

/// When a dependency applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Always,
    InTests,
}

/// A dependency of one crate on another.
#[derive(Debug)]
struct Arrow {
    from: String,
    to: String,
    kind: Kind,
}

fn arrows(files: &[SourceFile]) -> Vec<(&SourceFile, Arrow)> {
    files.iter().flat_map(|file| arrows_of(file).into_iter().map(move |arrow| (file, arrow))).collect()
}

fn arrows_of(file: &SourceFile) -> Vec<Arrow> {
    let Some(manifest) = manifest(file) else { return Vec::new() };
    let Some(from) = name_in(&manifest) else { return Vec::new() };
    let mut tables = vec![&manifest];
    if let Some(Value::Table(targets)) = manifest.get("target") {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let mut arrows = Vec::new();
    for table in tables {
        for (key, kind) in [
            ("dependencies", Kind::Always),
            ("build-dependencies", Kind::Always),
            ("dev-dependencies", Kind::InTests),
        ] {
            let Some(Value::Table(dependencies)) = table.get(key) else { continue };
            let to = dependencies.iter().map(|(name, how)| real_name(name, how));
            arrows.extend(to.map(|to| Arrow { from: from.clone(), to, kind }));
        }
    }
    arrows
}

/// Returns the package name, which can differ from the key.
fn real_name(name: &str, how: &Value) -> String {
    how.get("package").and_then(Value::as_str).unwrap_or(name).to_owned()
}

fn package_name(file: &SourceFile) -> Option<String> {
    name_in(&manifest(file)?)
}

fn manifest(file: &SourceFile) -> Option<Table> {
    if file.name() == "Cargo.toml" { file.text.parse().ok() } else { None }
}

fn name_in(manifest: &Table) -> Option<String> {
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the manifests of a workspace, with the given dependencies of one crate.
    fn house(name: &str, dependencies: &str) -> Vec<SourceFile> {
        [
            "domain", "engine", "journal", "models", "tools", "surfaces", "accounts", WIRE, DAEMON, TESTKIT,
            "xtask",
        ]
        .iter()
        .map(|one| {
            let rest = if *one == name { dependencies } else { "" };
            let text = format!("[package]\nname = \"{one}\"\n{rest}\n");
            SourceFile::new(format!("crates/{one}/Cargo.toml"), text)
        })
        .collect()
    }

    #[test]
    fn a_foreign_dependency_of_the_domain_is_found() {
        let of = |dependencies| domain_is_pure(&house("domain", dependencies)).len();
        assert_eq!(of("[dependencies]\njiff.workspace = true\nthiserror = \"2\""), 0);
        assert_eq!(of("[dependencies]\nserde = \"1\""), 1);
        assert_eq!(of("[dependencies]\njiff = { package = \"chrono\", version = \"1\" }"), 1);
        assert_eq!(of("[target.'cfg(unix)'.dependencies]\nrustix = \"1\""), 1);
        assert_eq!(of("[build-dependencies]\ncc = \"1\""), 1);
        assert_eq!(of("[dev-dependencies]\nproptest = \"1\""), 0);
    }

    #[test]
    fn an_arrow_that_points_the_wrong_way_is_found() {
        for (from, to) in [
            ("domain", "engine"),
            ("engine", "journal"),
            ("models", "tools"),
            ("tools", "accounts"),
            ("engine", WIRE),
            (WIRE, "domain"),
            ("surfaces", DAEMON),
            (DAEMON, TESTKIT),
            (TESTKIT, DAEMON),
            ("xtask", "domain"),
        ] {
            let files = house(from, &format!("[dependencies]\n{to}.workspace = true"));
            assert_eq!(hold(&files).len(), 1, "{from} -> {to}");
        }
        let files = house("models", "[dev-dependencies]\njournal.workspace = true");
        assert_eq!(hold(&files).len(), 1);
    }

    #[test]
    fn the_arrows_of_the_map_are_fine() {
        for (from, to) in
            [("engine", "domain"), ("tools", "engine"), (DAEMON, "surfaces"), (TESTKIT, "journal")]
        {
            let files = house(from, &format!("[dependencies]\n{to}.workspace = true\nanyhow = \"1\""));
            assert_eq!(hold(&files), [], "{from} -> {to}");
        }
        let files = house(DAEMON, "[dev-dependencies]\ntestkit.workspace = true");
        assert_eq!(hold(&files), []);
    }
}
