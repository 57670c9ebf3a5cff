//! The played Discord in a process of its own, so that the program can be measured while it is connected.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use super::footprint::cargo;
use crate::test::step::target_folder;
use crate::tree;

/// A played Discord that runs, until it is dropped.
pub struct Discord {
    child: Child,
    /// What the program must be told to find it.
    pub variables: Vec<(String, String)>,
}

impl Discord {
    /// Builds and starts one.
    pub fn play() -> anyhow::Result<Self> {
        cargo(&["build", "--quiet", "--package", "testkit", "--bin", "discord-server"])?;
        let target = target_folder(&tree::root()).context("cargo does not say where it builds")?;
        // Who has nothing to read ends, so its input is kept open.
        let mut child = Command::new(target.join("debug/discord-server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the played Discord")?;
        let out = child.stdout.take().context("a program without words")?;
        let lines = BufReader::new(out).lines().take(2).map_while(Result::ok);
        let told =
            lines.filter_map(|line| line.split_once('=').map(|(name, value)| (name.into(), value.into())));
        let variables: Vec<(String, String)> = told.collect();
        ensure!(variables.len() == 2, "the played Discord does not say where it is");
        Ok(Self { child, variables })
    }
}

impl Drop for Discord {
    /// One that has already ended is not there to be killed, and that is fine.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
