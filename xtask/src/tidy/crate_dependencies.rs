//! Allowed dependencies between our crates, read from their manifests.

use toml::{Table, Value};

use super::Violation;
use crate::source_files::SourceFile;

/// The adapter crates. They must not depend on each other.
const ADAPTERS: &[&str] = &["journal", "models", "tools", "surfaces", "accounts"];

/// The crate for network connections, which the adapters may use.
const WIRE: &str = "wire";

/// The dependencies allowed in the domain: value types and error derives.
const DOMAIN_DEPENDENCIES: &[&str] = &["base64", "jiff", "rpds", "thiserror"];

const DAEMON: &str = "ollim-bot";
const TESTKIT: &str = "testkit";
/// Depends on every parser crate, and no crate depends on it.
const FUZZING: &str = "fuzzing";

/// `domain` depends on value types only.
pub fn check_domain(files: &[SourceFile]) -> Vec<Violation> {
    let foreign = |(file, arrow): (&SourceFile, Dependency)| {
        let wrong = arrow.from == "domain"
            && arrow.kind == DependencyKind::Always
            && !DOMAIN_DEPENDENCIES.contains(&arrow.to.as_str());
        let what = format!(
            "the domain may depend on {} alone, not on `{}`",
            DOMAIN_DEPENDENCIES.join(" and "),
            arrow.to
        );
        wrong.then(|| Violation::in_file(file, what))
    };
    dependencies(files).into_iter().filter_map(foreign).collect()
}

/// Crates of the workspace depend only on those they may.
pub fn check_crates(files: &[SourceFile]) -> Vec<Violation> {
    let arrows = dependencies(files);
    let workspace_crates: Vec<String> = files.iter().filter_map(package_name).collect();
    arrows
        .into_iter()
        .filter(|(_, arrow)| workspace_crates.contains(&arrow.to) && !is_allowed(arrow))
        .map(|(file, arrow)| {
            let when = if arrow.kind == DependencyKind::TestsOnly { " even in tests" } else { "" };
            Violation::in_file(file, format!("`{}` may not know `{}`{when}", arrow.from, arrow.to))
        })
        .collect()
}

fn is_allowed(arrow: &Dependency) -> bool {
    let to = arrow.to.as_str();
    if arrow.kind == DependencyKind::TestsOnly && to == TESTKIT {
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
enum DependencyKind {
    Always,
    TestsOnly,
}

/// A dependency of one crate on another.
#[derive(Debug)]
struct Dependency {
    from: String,
    to: String,
    kind: DependencyKind,
}

fn dependencies(files: &[SourceFile]) -> Vec<(&SourceFile, Dependency)> {
    files.iter().flat_map(|file| dependencies_of(file).into_iter().map(move |arrow| (file, arrow))).collect()
}

fn dependencies_of(file: &SourceFile) -> Vec<Dependency> {
    let Some(manifest) = manifest(file) else { return Vec::new() };
    let Some(from) = name_of(&manifest) else { return Vec::new() };
    let mut tables = vec![&manifest];
    if let Some(Value::Table(targets)) = manifest.get("target") {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let mut arrows = Vec::new();
    for table in tables {
        for (key, kind) in [
            ("dependencies", DependencyKind::Always),
            ("build-dependencies", DependencyKind::Always),
            ("dev-dependencies", DependencyKind::TestsOnly),
        ] {
            let Some(Value::Table(dependencies)) = table.get(key) else { continue };
            let to = dependencies.iter().map(|(name, how)| package_of(name, how));
            arrows.extend(to.map(|to| Dependency { from: from.clone(), to, kind }));
        }
    }
    arrows
}

/// Returns the package name, which can differ from the key.
fn package_of(name: &str, how: &Value) -> String {
    how.get("package").and_then(Value::as_str).unwrap_or(name).to_owned()
}

fn package_name(file: &SourceFile) -> Option<String> {
    name_of(&manifest(file)?)
}

fn manifest(file: &SourceFile) -> Option<Table> {
    if file.name() == "Cargo.toml" { file.text.parse().ok() } else { None }
}

fn name_of(manifest: &Table) -> Option<String> {
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the manifests of a workspace, with the given dependencies of one crate.
    fn workspace(name: &str, dependencies: &str) -> Vec<SourceFile> {
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
    fn forbidden_dependency_of_the_domain_is_found() {
        let of = |dependencies| check_domain(&workspace("domain", dependencies)).len();
        assert_eq!(of("[dependencies]\njiff.workspace = true\nthiserror = \"2\""), 0);
        assert_eq!(of("[dependencies]\nserde = \"1\""), 1);
        assert_eq!(of("[dependencies]\njiff = { package = \"chrono\", version = \"1\" }"), 1);
        assert_eq!(of("[target.'cfg(unix)'.dependencies]\nrustix = \"1\""), 1);
        assert_eq!(of("[build-dependencies]\ncc = \"1\""), 1);
        assert_eq!(of("[dev-dependencies]\nproptest = \"1\""), 0);
    }

    #[test]
    fn forbidden_dependency_between_crates_is_found() {
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
            let files = workspace(from, &format!("[dependencies]\n{to}.workspace = true"));
            assert_eq!(check_crates(&files).len(), 1, "{from} -> {to}");
        }
        let files = workspace("models", "[dev-dependencies]\njournal.workspace = true");
        assert_eq!(check_crates(&files).len(), 1);
    }

    #[test]
    fn allowed_dependencies_are_accepted() {
        for (from, to) in
            [("engine", "domain"), ("tools", "engine"), (DAEMON, "surfaces"), (TESTKIT, "journal")]
        {
            let files = workspace(from, &format!("[dependencies]\n{to}.workspace = true\nanyhow = \"1\""));
            assert_eq!(check_crates(&files), [], "{from} -> {to}");
        }
        let files = workspace(DAEMON, "[dev-dependencies]\ntestkit.workspace = true");
        assert_eq!(check_crates(&files), []);
    }
}
