//! Release artifacts: a binary, a static binary, a Debian package, and their checksums.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::out::print_line;
use crate::source_files;
use crate::test::step::{Outcome, Program, target_folder};

pub mod archive;
pub mod deb;
pub mod elf;
mod smoke_test;

use archive::Entry;

/// The list of checksums, in the format of `sha256sum --check`.
pub const CHECKSUMS_FILE: &str = "SHA256SUMS";

const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";

/// Builds what people install: binaries, a Debian package, and their checksums.
#[derive(Args, Debug)]
pub struct Dist {
    /// Where it is put [default: `dist` in the build folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Dist {
    /// Builds, tests each binary, packs, and prints a summary.
    pub fn run(&self) -> anyhow::Result<()> {
        let root = source_files::root();
        let target = target_folder(&root).context("cargo does not say where it builds")?;
        let out = self.out.clone().unwrap_or_else(|| target.join("dist"));
        std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        let version = env!("CARGO_PKG_VERSION");
        let plain = build_release(&root, &target)?;
        let (static_binary, linkage) = build_static(&root, &target)?;
        let static_bytes = std::fs::read(&static_binary)?;
        ensure!(
            elf::is_static(&static_bytes),
            "{} still needs a loader of the machine",
            static_binary.display()
        );
        let files = [
            (format!("ollim-bot-{version}-linux-x86_64"), std::fs::read(&plain)?),
            (format!("ollim-bot-{version}-linux-x86_64-static"), static_bytes),
            (format!("ollim-bot_{version}_amd64.deb"), build_package(&root, &plain, version)?),
        ];
        let mut sums = String::new();
        for (name, bytes) in &files {
            write(&out.join(name), bytes, if name.ends_with(".deb") { 0o644 } else { 0o755 })?;
            sums.push_str(&format!("{}  {name}\n", hex(&Sha256::digest(bytes))));
            print_line(format!("{name}: {:.2} MB", bytes.len() as f64 / 1e6));
        }
        write(&out.join(CHECKSUMS_FILE), sums.as_bytes(), 0o644)?;
        print_line(format!("the static binary is built {linkage}"));
        for (name, binary) in [("release binary", &plain), ("static binary", &static_binary)] {
            print_line(format!("{name}: {}", smoke_test::version(binary)?));
            print_line(format!(
                "{name} finds a host by its name: {}",
                smoke_test::resolves_names(binary)?.text()
            ));
        }
        print_line(format!("all of it is in {}", out.display()));
        Ok(())
    }
}

/// Builds the standard release binary.
fn build_release(root: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    run_cargo(
        Program::new("cargo", &["build", "--release", "--locked", "--package", "ollim-bot"]).in_folder(root),
    )?;
    Ok(target.join("release/ollim-bot"))
}

/// Builds the static binary. Returns its path and how it was linked: with musl if installed,
/// otherwise with static glibc, which still reads `nsswitch.conf` and its modules for host lookups.
fn build_static(root: &Path, target: &Path) -> anyhow::Result<(PathBuf, &'static str)> {
    let installed = Program::new("rustup", &["target", "list", "--installed"]).in_folder(root).stdout();
    let musl = installed.unwrap_or_default().lines().any(|line| line == MUSL);
    let (triple, linkage) = if musl {
        (MUSL, "with musl")
    } else {
        (GNU, "with glibc inside (+crt-static), because the musl target is not installed")
    };
    let words = ["build", "--release", "--locked", "--package", "ollim-bot", "--target", triple];
    let mut build = Program::new("cargo", &words).in_folder(root);
    if !musl {
        build = build.with_variable("RUSTFLAGS", "-C target-feature=+crt-static");
    }
    run_cargo(build)?;
    Ok((target.join(triple).join("release/ollim-bot"), linkage))
}

fn build_package(root: &Path, binary: &Path, version: &str) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(binary)?;
    let timestamp = Program::new("git", &["log", "-1", "--format=%ct"]).in_folder(root).stdout();
    let timestamp = timestamp.and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
    let glibc = elf::newest_glibc(&bytes).context("the binary names no glibc that it needs")?;
    let mut entries = deb::additional_files(root)?;
    entries.extend(generated_files(binary));
    entries.push(Entry::program("usr/bin/ollim-bot", bytes));
    let about = deb::PackageInfo { version: version.to_owned(), glibc, timestamp };
    deb::pack(&about, &entries)
}

/// Returns the files that the binary itself generates: shell completions and the manual.
fn generated_files(binary: &Path) -> Vec<Entry> {
    let name = binary.to_string_lossy().into_owned();
    let output_of = |words: &[&str]| Program::new(&name, words).stdout().filter(|output| !output.is_empty());
    let shells = [
        ("bash", "usr/share/bash-completion/completions/ollim-bot"),
        ("zsh", "usr/share/zsh/vendor-completions/_ollim-bot"),
        ("fish", "usr/share/fish/vendor_completions.d/ollim-bot.fish"),
    ];
    let mut entries: Vec<_> = shells
        .into_iter()
        .filter_map(|(shell, path)| Some(Entry::file(path, output_of(&["completion", shell])? + "\n")))
        .collect();
    match output_of(&["man"]) {
        Some(manual) => entries.push(Entry::gzipped("usr/share/man/man1/ollim-bot.1.gz", manual + "\n")),
        None => print_line("the binary has no manual page to pack"),
    }
    entries
}

fn run_cargo(program: Program) -> anyhow::Result<()> {
    match program.run() {
        Outcome::Passed(_) => Ok(()),
        Outcome::Failed(_, said) => bail!("the build failed:\n{said}"),
        Outcome::NotRun(_, why) => bail!("cargo did not run: {why}"),
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
