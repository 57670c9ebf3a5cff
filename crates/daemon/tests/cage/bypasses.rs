//! I7: commands crafted to pass a check that reads the command text.

use crate::rig::Rig;
use tools::shell::NetworkRule;

/// Ways to write a file; `@` is its path.
const WRITES: [&str; 42] = [
    "touch @",
    "echo x>@",
    "echo x > @",
    "echo x>>@",
    "printf x | tee @",
    "tee @ <<< x",
    "tee -a @ </dev/null",
    "cp /etc/passwd @",
    "cp -f /etc/passwd @",
    "dd if=/dev/zero of=@ count=1",
    "sort -o @ /etc/passwd",
    "sort -uo @ /etc/passwd",
    "sort --output=@ /etc/passwd",
    "sed -n w@ /etc/passwd",
    "sed -n 'w @' /etc/passwd",
    "awk 'BEGIN{print 1 > \"@\"}'",
    "perl -e 'open F, q(>@); print F 1'",
    "install /etc/passwd @",
    "ln -s /etc @",
    "mkdir @",
    "mkdir -p @/a",
    "cat /etc/passwd 1>@",
    "cat</etc/passwd>@",
    "echo${IFS}x>@",
    "touch${IFS}@",
    "t\\ouch @",
    "'touch' @",
    "\"to\"uch @",
    "$(echo touch) @",
    "`echo touch` @",
    "eval touch @",
    "command touch @",
    "builtin printf x > @",
    "exec 3>@",
    ": >@",
    ">@",
    "(touch @)",
    "{ touch @; }",
    "if :; then touch @; fi",
    "for f in @; do touch $f; done",
    "cat > @ <<END\nx\nEND",
    "echo x > >(cat >@)",
];

/// Ways to wrap a command: `@C` is the command, `@Q` is the command quoted for a shell.
const WRAPS: [&str; 48] = [
    "@C",
    "env bash -c @Q",
    "env -i bash -c @Q",
    "env -S 'bash -c' @Q",
    "A=1 bash -c @Q",
    "time bash -c @Q",
    "time -p bash -c @Q",
    "nice bash -c @Q",
    "nice -n 5 bash -c @Q",
    "nohup bash -c @Q",
    "timeout 5 bash -c @Q",
    "flock l bash -c @Q",
    "flock l -c @Q",
    "echo | xargs -I% bash -c @Q",
    "xargs -n1 -a /etc/hostname bash -c @Q",
    "find . -maxdepth 0 -exec bash -c @Q ;",
    "stdbuf -o0 bash -c @Q",
    "setarch $(uname -m) bash -c @Q",
    "bash -c @Q",
    "sh -c @Q",
    "bash -xec @Q",
    "bash -lc @Q",
    "bash <<< @Q",
    "eval @Q",
    "exec bash -c @Q",
    "command bash -c @Q",
    "builtin eval @Q",
    "trap @Q EXIT",
    "true && @C",
    "false || @C",
    "true; @C",
    "true & @C",
    "echo | @C",
    "! @C",
    "(@C)",
    "ollim-bot help; @C",
    "ollim-bot help && @C",
    "ollim-bot help | @C",
    "ollim-bot help & @C",
    "ollim-bot help\n@C",
    "ollim-bot `@C`",
    "ollim-bot $(@C)",
    "ollim-bot \"$(@C)\"",
    "ollim-bot <(@C)",
    "ollim-bot help || @C",
    "ollim-bot\tx\n@C",
    "ollim-bot() { :; }; ollim-bot; @C",
    "alias ollim-bot=true; @C",
];

/// Returns more than 2,000 commands that would each write `marker`.
fn bypasses(marker: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for wrap in WRAPS {
        for write in WRITES {
            let write = write.replace('@', marker);
            let quoted = format!("'{}'", write.replace('\'', "'\\''"));
            commands.push(wrap.replace("@C", &write).replace("@Q", &quoted));
        }
    }
    commands
}

/// I7: every bypass reaches the sandbox unchanged. A program that prints its arguments replaces the
/// sandbox.
#[test]
fn every_bypass_reaches_the_sandbox() {
    let rig = Rig::with_sandbox(vec!["/bin/echo".to_owned()], NetworkRule::Never);
    let commands = bypasses("/nowhere");
    assert!(commands.len() >= 2_000, "{}", commands.len());
    for command in commands {
        let output = rig.bash(&command).unwrap();
        assert!(output.starts_with(&std::process::id().to_string()), "{command:?}: {output}");
        assert!(output.ends_with(&format!("-- {}", command.trim_end())), "{command:?}: {output}");
    }
}

/// I7: a sample of each kind is really run and writes nothing outside its folder.
#[test]
fn some_bypasses_write_nothing() {
    assert_bypasses_write_nothing(37);
}

/// I7: all bypasses are really run and write nothing outside their folder.
#[test]
#[ignore = "starts 2,000 cages, which takes a minute or two"]
fn all_bypasses_write_nothing() {
    assert_bypasses_write_nothing(1);
}

/// Runs every `each`th command, and again with a permitted path, to prove that it can write.
fn assert_bypasses_write_nothing(each: usize) {
    let rig = Rig::new();
    let before = rig.protected_files();
    let marker = rig.data().join("marker");
    let commands = bypasses(marker.to_str().unwrap());
    for command in commands.iter().step_by(each) {
        let _ = rig.bash(command);
        assert!(!marker.exists(), "{command:?} wrote outside of its folder");
    }
    assert_eq!(rig.protected_files(), before);
    let mut successes = 0;
    for command in bypasses("./marker").iter().step_by(each) {
        let output = rig.bash(&format!("{command}\n[ -e marker ] && echo it is there"));
        successes += usize::from(output.is_ok_and(|output| output.contains("it is there")));
    }
    let tried = commands.len().div_ceil(each);
    assert!(
        successes * 2 > tried,
        "only {successes} of {tried} write even where they may: the others prove nothing"
    );
}
