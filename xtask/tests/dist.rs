//! The release artifacts.

use std::process::Command;

use xtask::dist::archive::Entry;
use xtask::dist::{CHECKSUMS_FILE, deb};
use xtask::source_files;

fn paths(package: &deb::ParsedPackage) -> Vec<(&str, u32)> {
    package.files.iter().map(|file| (file.path.as_str(), file.mode)).collect()
}

fn package_info() -> deb::PackageInfo {
    deb::PackageInfo { version: "1.2.3".into(), glibc: "2.34".into(), timestamp: 1_794_816_000 }
}

#[test]
fn package_has_program_unit_and_licences() {
    let mut entries = deb::additional_files(&source_files::root()).unwrap();
    entries.push(Entry::program("usr/bin/ollim-bot", b"program".to_vec()));
    let packed = deb::pack(&package_info(), &entries).unwrap();
    assert_eq!(packed, deb::pack(&package_info(), &entries).unwrap(), "the same sources make the same bytes");
    let package = deb::read(&packed).unwrap();
    assert_eq!(
        paths(&package),
        [
            ("usr/lib/systemd/user/ollim-bot.service", 0o644),
            ("usr/share/doc/ollim-bot/copyright", 0o644),
            ("usr/share/doc/ollim-bot/changelog.gz", 0o644),
            ("usr/bin/ollim-bot", 0o755),
        ]
    );
    assert_eq!(package.files, entries);
    assert!(package.control.contains("\nVersion: 1.2.3\n"), "{}", package.control);
    assert!(package.control.contains("\nDepends: libc6 (>= 2.34), libgcc-s1\n"), "{}", package.control);
    let text = |nth: usize| String::from_utf8(package.files[nth].bytes.clone()).unwrap();
    assert!(text(0).contains("ExecStart=/usr/bin/ollim-bot run --no-chat"), "{}", text(0));
    assert!(text(1).contains("Permission is hereby granted"), "{}", text(1));
    let changes = String::from_utf8(deb::gunzip(&package.files[2].bytes).unwrap()).unwrap();
    assert!(changes.contains("## Unreleased"), "{changes}");
}

#[test]
fn damaged_package_is_refused() {
    let whole = deb::pack(&package_info(), &[Entry::file("usr/a", "words")]).unwrap();
    assert!(deb::read(&whole[..whole.len() / 2]).is_err());
    assert!(deb::read(b"words").is_err());
}

/// The container is built with the Rust version of the workspace and existing files.
#[test]
fn container_uses_existing_files_and_the_rust_version() {
    let read = |path: &str| std::fs::read_to_string(source_files::root().join(path)).unwrap();
    let container = read("Containerfile");
    let manifest = read("Cargo.toml");
    let rust =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(container.contains(&format!("/rust:{rust}-bookworm AS build\n")), "{container}");
    assert!(container.contains("\nUSER ollim\n"), "{container}");
    assert!(read(".containerignore").lines().any(|line| line == "/target"));
}

/// All artifacts are built, and Debian's tools can read the package.
#[test]
#[ignore = "two release builds take a quarter of an hour"]
fn built_artifacts_can_be_installed() {
    let out = std::env::temp_dir().join(format!("ollim-dist-test-{}", std::process::id()));
    let cargo = env!("CARGO");
    let built = Command::new(cargo)
        .args(["xtask", "dist", "--out"])
        .arg(&out)
        .current_dir(source_files::root())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&built.stdout).into_owned();
    assert!(built.status.success(), "{text}{}", String::from_utf8_lossy(&built.stderr));
    assert_eq!(text.matches("finds a host by its name: yes").count(), 2, "{text}");
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("ollim-bot_{version}_amd64.deb");
    let package = deb::read(&std::fs::read(out.join(&name)).unwrap()).unwrap();
    let program = package.files.iter().find(|file| file.path == "usr/bin/ollim-bot").unwrap();
    assert!(program.mode == 0o755 && program.bytes.len() < 25_000_000, "{} bytes", program.bytes.len());
    for path in ["usr/share/bash-completion/completions/ollim-bot", deb::UNIT] {
        assert!(
            package.files.iter().any(|file| file.path == path),
            "{path} is missing: {:?}",
            paths(&package)
        );
    }
    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", CHECKSUMS_FILE])
        .current_dir(&out)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let listed = Command::new("dpkg-deb").arg("--contents").arg(out.join(&name)).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("-rwxr-xr-x root/root"), "{listed}");
    std::fs::remove_dir_all(&out).unwrap();
}
