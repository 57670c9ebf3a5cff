//! Interrupted and impossible imports: earlier data is preserved.

use std::path::{Path, PathBuf};

use testkit::process::{Program, read_tree, stderr};

use super::{BINARY, read_journal, used_program};

/// After a crash at any point of an import there is nothing or everything, replaced data is
/// complete, and the next import succeeds.
#[test]
fn interrupted_import_leaves_nothing_or_everything() {
    let mut program = used_program();
    let archive = program.home().join("backup.tar.gz");
    assert!(program.run(&["export", archive.to_str().unwrap()]).status.success());
    let complete = read_journal(program.data());
    let crashing = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(crashing.exists(), "build it first: cargo build -p ollim-bot --examples");
    for replace in [false, true] {
        let last = count_crash_points(&mut program, &crashing, &archive, replace);
        assert!(last > 40, "an import has hardly touched the disk: {last} points");
        // All points of the final placement, and some before.
        let placement_points = if replace { 16 } else { 10 };
        for point in
            (0..last).filter(|point| point + placement_points > last || point % (last / 3).max(1) == 0)
        {
            let new = program.home().join(format!("new-{point}-{replace}"));
            let arguments =
                ["import", archive.to_str().unwrap(), "--replace", "--data-dir", new.to_str().unwrap()];
            if replace {
                create_foreign_files(&new);
            }
            program.replace_binary(&crashing).set_env("CRASH_AT", &point.to_string());
            program.run(&arguments);
            let imported = new.join("state/journal.db").exists();
            match (imported, replace) {
                (true, _) => assert_eq!(read_journal(&new), complete, "point {point}"),
                (false, true) => {
                    assert!(has_foreign_files(&new), "point {point}: neither the old nor the new is there")
                }
                (false, false) => assert!(!new.exists(), "point {point}"),
            }
            let preserved =
                || siblings(&new).into_iter().filter(|path| has_foreign_files(path)).collect::<Vec<_>>();
            assert_eq!(
                preserved().len(),
                usize::from(replace),
                "point {point}: what was there before: {:?}",
                preserved()
            );
            program.replace_binary(BINARY).set_env("CRASH_AT", "");
            let output = program.run(&arguments);
            assert!(output.status.success(), "point {point}: {}", stderr(&output));
            assert_eq!(read_journal(&new), complete, "point {point}");
            let temporary = ["importing", "exchanging"].map(|kind| format!("{}.{kind}-", new.display()));
            let is_temporary = |path: &PathBuf| {
                temporary.iter().any(|temporary| path.to_string_lossy().starts_with(temporary))
            };
            assert!(
                !siblings(&new).iter().any(is_temporary),
                "point {point}: something half is left: {:?}",
                siblings(&new)
            );
            let backup_prefix = format!("{}.before-import-", new.display());
            let backup_count =
                preserved().iter().filter(|path| path.to_string_lossy().starts_with(&backup_prefix)).count();
            assert_eq!(
                (preserved().len(), backup_count),
                (replace.into(), replace.into()),
                "point {point}: {:?}",
                preserved()
            );
        }
    }
}

/// If the name for the preserved directory would be too long, the import is refused before anything
/// is moved.
#[test]
fn directory_that_cannot_be_preserved_is_not_replaced() {
    let program = used_program();
    let archive = program.home().join("backup.tar.gz");
    let archive = archive.to_str().unwrap();
    assert!(program.run(&["export", archive]).status.success());
    // Most file systems allow names of up to 255 bytes.
    let new = program.home().join("n".repeat(230));
    create_foreign_files(&new);
    let output = program.run(&["import", archive, "--replace", "--data-dir", new.to_str().unwrap()]);
    assert!(!output.status.success() && stderr(&output).contains("name too long"), "{}", stderr(&output));
    assert!(has_foreign_files(&new), "what was there is gone");
    assert_eq!(siblings(&new), [new]);
}

/// Creates a directory with files that are not from an archive.
fn create_foreign_files(dir: &Path) {
    std::fs::create_dir_all(dir.join("deep")).unwrap();
    std::fs::write(dir.join("mine"), "mine").unwrap();
    std::fs::write(dir.join("deep/mine"), "mine too").unwrap();
}

/// Returns whether the directory contains exactly these files.
fn has_foreign_files(dir: &Path) -> bool {
    let found = read_tree(dir);
    let expected = [(dir.join("deep/mine"), b"mine too".to_vec()), (dir.join("mine"), b"mine".to_vec())];
    found.into_iter().eq(expected)
}

/// Returns `dir` and all siblings that an import may have created for it.
fn siblings(dir: &Path) -> Vec<PathBuf> {
    let name = dir.file_name().unwrap().to_string_lossy().into_owned();
    let belongs = |found: &str| found == name || found.starts_with(&format!("{name}."));
    let found = dir.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap());
    found.filter(|entry| belongs(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

/// Returns the number of crash points of an import.
fn count_crash_points(program: &mut Program, crashing: &Path, archive: &Path, replace: bool) -> usize {
    program.replace_binary(crashing);
    let crashes_at = |program: &mut Program, point: usize| {
        let new = program.home().join(format!("counted-{point}-{replace}"));
        if replace {
            create_foreign_files(&new);
        }
        program.set_env("CRASH_AT", &point.to_string());
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
        if crashes_at(program, middle) { low = middle + 1 } else { high = middle }
    }
    low
}
