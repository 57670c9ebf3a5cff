//! Replaces the pictures of the page in the documentation.

use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;

use crate::out::print_line;
use crate::source_files;
use crate::test::browser;
use crate::test::report::Report;
use crate::test::step::target_folder;

/// The pictures of the documentation.
const SCREENS: &str = "docs/screens";

/// Takes the pictures in docs/screens anew: runs the browser tests and copies the pictures they took.
#[derive(Args, Debug)]
pub struct Screenshots {}

impl Screenshots {
    /// Replaces each picture in the documentation; fails if a browser test fails or a picture is
    /// missing.
    pub fn run(&self) -> anyhow::Result<()> {
        let root = source_files::root();
        let mut report = Report::of_steps(Vec::new());
        browser::run_steps(&mut report, &root);
        print_line(report.summary());
        if report.failures() > 0 {
            bail!("the browser tests did not pass, so {SCREENS} stays as it was");
        }
        let target = target_folder(&root).context("cargo does not say where it builds")?;
        let copied = copy_pictures(&target.join("pictures"), &root.join(SCREENS))?;
        print_line(format!("{copied} pictures in {SCREENS} are new"));
        Ok(())
    }
}

/// Copies the light variant of each picture in `screens` from `pictures`, where the tests write
/// them.
fn copy_pictures(pictures: &Path, screens: &Path) -> anyhow::Result<usize> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(screens).with_context(|| format!("cannot read {}", screens.display()))? {
        let name = entry?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(".png")).map(str::to_owned));
    }
    let source = |name: &String| pictures.join(format!("{name}-light.png"));
    if let Some(missing) = names.iter().map(source).find(|path| !path.is_file()) {
        bail!("the tests took no picture {}, so {} stays as it was", missing.display(), screens.display());
    }
    for name in &names {
        let to = screens.join(format!("{name}.png"));
        std::fs::copy(source(name), &to).with_context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pictures_are_replaced_or_none() {
        let place = std::env::temp_dir().join(format!("ollim-screenshots-test-{}", std::process::id()));
        let pictures = place.join("pictures");
        let screens = place.join("screens");
        let write = |folder: &Path, name: &str, text: &str| {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        };
        for name in ["today-380.png", "chat-380.png"] {
            write(&screens, name, "old");
        }
        write(&pictures, "today-380-light.png", "new today");
        write(&pictures, "today-380-dark.png", "dark");
        let read = |name: &str| std::fs::read_to_string(screens.join(name)).unwrap();
        assert!(copy_pictures(&pictures, &screens).unwrap_err().to_string().contains("chat-380-light.png"));
        assert_eq!(read("today-380.png"), "old");
        write(&pictures, "chat-380-light.png", "new chat");
        assert_eq!(copy_pictures(&pictures, &screens).unwrap(), 2);
        assert_eq!([read("today-380.png"), read("chat-380.png")], ["new today", "new chat"]);
        std::fs::remove_dir_all(&place).unwrap();
    }
}
