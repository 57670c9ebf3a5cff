//! Interrupted and impossible imports: earlier data is preserved.

use std::path::{Path, PathBuf};

use testkit::kill::{Program, contents, stderr};

use super::{BINARY, lived_in, log};

/// After a crash at any point of an import there is nothing or everything, replaced data is
/// complete, and the next import succeeds.
#[test]
fn an_import_that_is_cut_short_leaves_nothing_or_everything() {
    let mut program = lived_in();
    let archive = program.home().join("backup.tar.gz");
    assert!(program.run(&["export", archive.to_str().unwrap()]).status.success());
    let whole = log(program.data());
    let crashing = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(crashing.exists(), "build it first: cargo build -p ollim-bot --examples");
    for replace in [false, true] {
        let last = touches(&mut program, &crashing, &archive, replace);
        assert!(last > 40, "an import has hardly touched the disk: {last} points");
        // All points of the final placement, and some before.
        let placing = if replace { 16 } else { 10 };
        for point in (0..last).filter(|point| point + placing > last || point % (last / 3).max(1) == 0) {
            let new = program.home().join(format!("new-{point}-{replace}"));
            let arguments =
                ["import", archive.to_str().unwrap(), "--replace", "--data-dir", new.to_str().unwrap()];
            if replace {
                inhabit(&new);
            }
            program.become_binary(&crashing).set("CRASH_AT", &point.to_string());
            program.run(&arguments);
            let there = new.join("state/journal.db").exists();
            match (there, replace) {
                (true, _) => assert_eq!(log(&new), whole, "point {point}"),
                (false, true) => {
                    assert!(is_mine(&new), "point {point}: neither the old nor the new is there")
                }
                (false, false) => assert!(!new.exists(), "point {point}"),
            }
            let mine = || beside(&new).into_iter().filter(|path| is_mine(path)).collect::<Vec<_>>();
            assert_eq!(
                mine().len(),
                usize::from(replace),
                "point {point}: what was there before: {:?}",
                mine()
            );
            program.become_binary(BINARY).set("CRASH_AT", "");
            let output = program.run(&arguments);
            assert!(output.status.success(), "point {point}: {}", stderr(&output));
            assert_eq!(log(&new), whole, "point {point}");
            let half = ["importing", "exchanging"].map(|it| format!("{}.{it}-", new.display()));
            let is_half = |path: &PathBuf| half.iter().any(|half| path.to_string_lossy().starts_with(half));
            assert!(
                !beside(&new).iter().any(is_half),
                "point {point}: something half is left: {:?}",
                beside(&new)
            );
            let kept = format!("{}.before-import-", new.display());
            let is_kept = mine().iter().filter(|path| path.to_string_lossy().starts_with(&kept)).count();
            assert_eq!(
                (mine().len(), is_kept),
                (replace.into(), replace.into()),
                "point {point}: {:?}",
                mine()
            );
        }
    }
}

/// If the name for the preserved directory would be too long, the import is refused before anything
/// is moved.
#[test]
fn what_cannot_be_kept_is_not_replaced() {
    let program = lived_in();
    let archive = program.home().join("backup.tar.gz");
    let archive = archive.to_str().unwrap();
    assert!(program.run(&["export", archive]).status.success());
    // Most file systems allow names of up to 255 bytes.
    let new = program.home().join("n".repeat(230));
    inhabit(&new);
    let output = program.run(&["import", archive, "--replace", "--data-dir", new.to_str().unwrap()]);
    assert!(!output.status.success() && stderr(&output).contains("name too long"), "{}", stderr(&output));
    assert!(is_mine(&new), "what was there is gone");
    assert_eq!(beside(&new), [new]);
}

/// Creates a directory with files that are not from an archive.
fn inhabit(dir: &Path) {
    std::fs::create_dir_all(dir.join("deep")).unwrap();
    std::fs::write(dir.join("mine"), "mine").unwrap();
    std::fs::write(dir.join("deep/mine"), "mine too").unwrap();
}

/// Returns whether the directory contains exactly these files.
fn is_mine(dir: &Path) -> bool {
    let found = contents(dir);
    let mine = [(dir.join("deep/mine"), b"mine too".to_vec()), (dir.join("mine"), b"mine".to_vec())];
    found.into_iter().eq(mine)
}

/// Returns `dir` and all siblings that an import may have created for it.
fn beside(dir: &Path) -> Vec<PathBuf> {
    let name = dir.file_name().unwrap().to_string_lossy().into_owned();
    let is_of = |found: &str| found == name || found.starts_with(&format!("{name}."));
    let found = dir.parent().unwrap().read_dir().unwrap().map(|it| it.unwrap());
    found.filter(|it| is_of(&it.file_name().to_string_lossy())).map(|it| it.path()).collect()
}

/// Returns the number of crash points of an import.
fn touches(program: &mut Program, crashing: &Path, archive: &Path, replace: bool) -> usize {
    program.become_binary(crashing);
    let ends = |program: &mut Program, point: usize| {
        let new = program.home().join(format!("counted-{point}-{replace}"));
        if replace {
            inhabit(&new);
        }
        program.set("CRASH_AT", &point.to_string());
        let output = program.run(&[
            "import",
            archive.to_str().unwrap(),
            "--replace",
            "--data-dir",
            new.to_str().unwrap(),
        ]);
        !output.status.success()
    };
    let mut low = 0;
    let mut high = 4096;
    while low < high {
        let middle = usize::midpoint(low, high);
        if ends(program, middle) { low = middle + 1 } else { high = middle }
    }
    low
}
