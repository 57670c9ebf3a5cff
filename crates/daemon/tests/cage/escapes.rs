//! I8: ways out of the sandbox, each tried in a real process. None may succeed.

use std::net::UdpSocket;
use std::os::unix::net::UnixListener;

use crate::rig::{Rig, SECRET, listen};

/// Whether an attempt is also run without a sandbox, where it must succeed to prove that it can.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Works,
    /// Would do harm, or needs something that not every machine has.
    Untried,
}
use Control::{Untried, Works};

/// Reading. A successful attempt prints the secret or `ESCAPED`.
const READS: [(Control, &str); 21] = [
    (Works, "cat {data}/state/secret"),
    (Works, "cat ../state/secret"),
    (Works, "cat {home}/.ssh/id"),
    (Works, "cat {data}/shut"),
    (Works, "cat {data}/.git/config"),
    (Works, "cd {data}/state && cat secret"),
    (Works, "ls {data}/state | grep -q secret && echo ESCAPED"),
    (Works, "ls {data} | grep -q state && echo ESCAPED"),
    (Works, "ln -s {data}/state/secret s; cat s"),
    (Works, "ln -s {data}/state d; cat d/secret"),
    (Works, "ln {data}/state/secret h && cat h"),
    (Works, "exec 3<{data}/state/secret; cat <&3"),
    (Works, "dd if={data}/state/secret 2>/dev/null"),
    (Works, "env -i /bin/sh -c 'cat {data}/state/secret'"),
    (Works, "tar cf - -C {data} state | cat"),
    (Works, "find {data}/state -type f -exec cat '{}' +"),
    (Works, "tr '\\0' '\\n' < /proc/{pid}/environ | grep -q . && echo ESCAPED"),
    (Works, "tr '\\0' '\\n' < /proc/{pid}/cmdline | grep -q . && echo ESCAPED"),
    (Works, "ls /proc/{pid}/cwd/ | grep -q . && echo ESCAPED"),
    (
        Works,
        "perl -e 'sysopen F, q({data}/state/secret), 0x200000 or die; open G, q(/proc/self/fd/).fileno F; print <G>'",
    ),
    (Untried, "LD_PRELOAD=/lib/x86_64-linux-gnu/libc.so.6 cat {data}/state/secret /etc/shadow"),
];

/// Writing. A successful attempt prints `ESCAPED`; existing files are compared afterwards too.
const WRITES: [(Control, &str); 27] = [
    (Untried, "echo x > {data}/state/new && echo ESCAPED"),
    (Untried, ": > {data}/state/secret && echo ESCAPED"),
    (Untried, ": >> {data}/state/secret && echo ESCAPED"),
    (Untried, "truncate -s 0 {data}/state/secret && echo ESCAPED"),
    (Untried, "truncate -s 0 {data}/notes/n.md && echo ESCAPED"),
    (Untried, "perl -e 'sysopen F, q({data}/notes/n.md), 01000 or die; print q(ESCAPED)'"),
    (Untried, "rm -f {data}/state/secret && echo ESCAPED"),
    (Untried, "mv {data}/state moved && echo ESCAPED"),
    (Untried, "echo x > y; mv -f y {data}/state/secret && echo ESCAPED"),
    (Untried, "echo x > y; mv -f y {data}/notes/n.md && echo ESCAPED"),
    (Untried, "mv {data}/work {data}/elsewhere && echo ESCAPED"),
    (Untried, "mkdir {data}/new && echo ESCAPED"),
    (Untried, "ln -s x {data}/link && echo ESCAPED"),
    (Untried, "echo x > {data}/.git/hooks/post-commit && echo ESCAPED"),
    (Untried, "sed -i s/note/x/ {data}/notes/n.md && echo ESCAPED"),
    (Untried, "sort -o {data}/notes/n.md /etc/passwd && echo ESCAPED"),
    (Untried, "chmod 777 {data}/state && echo ESCAPED"),
    (Untried, "chmod 666 {data}/state/secret && echo ESCAPED"),
    (Untried, "perl -e 'open F, q({data}/notes/n.md) or die; chmod 0666, *F or die; print q(ESCAPED)'"),
    (Untried, "chown 1:1 {data}/notes/n.md && echo ESCAPED"),
    (Untried, "touch -d 2000-01-01 {data}/state/secret && echo ESCAPED"),
    (Untried, "perl -e 'utime 1, 1, q({data}/notes/n.md) or die; print q(ESCAPED)'"),
    (Untried, "echo x > {home}/new && echo ESCAPED"),
    (Untried, "f=/tmp/ollim-cage-$$; echo x > $f && echo ESCAPED; rm -f $f"),
    (Untried, "f=/dev/shm/ollim-cage-$$; echo x > $f && echo ESCAPED; rm -f $f"),
    (Untried, "f=/usr/local/ollim-cage-$$; echo x > $f && echo ESCAPED; rm -f $f"),
    (Untried, "mknod node c 1 1 && echo ESCAPED"),
];

/// Connections to other machines and other local programs.
const CONNECTIONS: [(Control, &str); 11] = [
    (Works, "exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo ESCAPED"),
    (Works, "exec 3<>/dev/udp/127.0.0.1/{udp} && echo x >&3 && echo ESCAPED"),
    (Works, "perl -MSocket -e 'socket S, AF_INET, SOCK_DGRAM, 0 or die; print q(ESCAPED)'"),
    (Untried, "perl -MSocket -e 'socket S, AF_INET6, SOCK_STREAM, 0 or die; print q(ESCAPED)'"),
    (
        Works,
        "perl -MSocket -e 'socket S, AF_UNIX, SOCK_STREAM, 0 and connect S, sockaddr_un q({sock}) or die; print q(ESCAPED)'",
    ),
    (Works, "perl -MSocket -e 'socket S, AF_UNIX, SOCK_DGRAM, 0 or die; print q(ESCAPED)'"),
    (Works, "perl -MSocket -e 'socketpair A, B, AF_UNIX, SOCK_DGRAM, 0 or die; print q(ESCAPED)'"),
    (Untried, "perl -MSocket -e 'socket S, 16, SOCK_RAW, 0 or die; print q(ESCAPED)'"),
    (Untried, "perl -MSocket -e 'socket S, 17, SOCK_RAW, 0 or die; print q(ESCAPED)'"),
    (Untried, "perl -MSocket -e 'socket S, 38, 5, 0 or die; print q(ESCAPED)'"),
    (Untried, "perl -MSocket -e 'socket S, 40, SOCK_STREAM, 0 or die; print q(ESCAPED)'"),
];

/// Other processes, and other namespaces.
const PROCESSES: [(Control, &str); 11] = [
    (Works, "kill -0 {pid} && echo ESCAPED"),
    (Untried, "kill -CONT {pid} && echo ESCAPED"),
    (Untried, "renice -n 19 -p {pid} && echo ESCAPED"),
    (Untried, "perl -MPOSIX -e 'fork and exit; setsid() > 0 or die; print q(ESCAPED)'"),
    (Untried, "perl -e 'setpgrp 0, 0 or die; print q(ESCAPED)'"),
    (Untried, "unshare -Ur true && echo ESCAPED"),
    (Untried, "unshare -m true && echo ESCAPED"),
    (Untried, "mkdir m; mount -t tmpfs x m && echo ESCAPED"),
    (Untried, "chroot / true && echo ESCAPED"),
    (Untried, "su -c 'cat {data}/state/secret' </dev/null"),
    (Untried, "crontab -l && echo ESCAPED; echo '* * * * * true' | crontab - && echo ESCAPED"),
];

/// System calls by number on x86-64. A successful attempt does not return an error.
#[cfg(target_arch = "x86_64")]
const CALLS: [(&str, &str); 24] = [
    ("PTRACE_SEIZE", "101, 0x4206, {pid}, 0, 0"),
    ("process_vm_readv", "310, {pid}, 0, 0, 0, 0, 0"),
    ("process_vm_writev", "311, {pid}, 0, 0, 0, 0, 0"),
    ("prlimit64 of another", "302, {pid}, 7, 0, 0"),
    ("pidfd_open", "434, {pid}, 0"),
    ("pidfd_getfd", "438, 0, 0, 0"),
    ("clone in a new user namespace", "56, 0x10000011, 0, 0, 0, 0"),
    ("clone3", "435, 0, 0"),
    ("setns", "308, 0, 0"),
    ("mount", "165, 0, 0, 0, 0, 0"),
    ("bpf", "321, 0, 0, 0"),
    ("perf_event_open", "298, 0, 0, 0, 0, 0"),
    ("userfaultfd", "323, 1"),
    ("io_uring_setup", "425, 1, 0"),
    ("add_key", "248, 0, 0, 0, 0, 0"),
    ("keyctl", "250, 0, 0, 0, 0, 0"),
    ("kexec_load", "246, 0, 0, 0, 0"),
    ("inotify_init1", "294, 0"),
    ("fanotify_init", "300, 0, 0"),
    ("open_by_handle_at", "304, 0, 0, 0"),
    ("shmget", "29, 0, 4096, 01600"),
    ("msgget", "68, 0, 01600"),
    ("TIOCSTI", "16, 1, 0x5412, 0"),
    ("the ABI of x32", "0x40000027"),
];

fn attempts() -> Vec<(Control, String)> {
    let rows = READS.iter().chain(&WRITES).chain(&CONNECTIONS).chain(&PROCESSES);
    rows.map(|(control, attempt)| (*control, (*attempt).to_owned())).collect()
}

/// I8: more than 60 escape attempts read, write, reach and move nothing.
#[test]
fn no_attempt_escapes_the_sandbox() {
    let rig = Rig::new();
    let (tcp, connections) = listen();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sock = rig.home().join("control.sock");
    let _sock = UnixListener::bind(&sock).unwrap();
    let fill = |attempt: &str| {
        attempt
            .replace("{data}", rig.data().to_str().unwrap())
            .replace("{home}", rig.home().to_str().unwrap())
            .replace("{sock}", sock.to_str().unwrap())
            .replace("{pid}", &std::process::id().to_string())
            .replace("{tcp}", &tcp.to_string())
            .replace("{udp}", &udp.local_addr().unwrap().port().to_string())
    };
    let attempts = attempts();
    assert!(attempts.len() >= 60, "{}", attempts.len());
    let before = rig.protected_files();
    let escaped = |text: &str| text.contains("ESCAPED") || text.contains(SECRET);
    for (control, attempt) in &attempts {
        let attempt = fill(attempt);
        let text = rig.bash(&format!("echo tried; {attempt}")).unwrap_or_else(|failed| failed);
        assert!(text.contains("tried"), "{attempt}: {text}");
        assert!(!escaped(&text), "{attempt}: {text}");
        assert_eq!(rig.protected_files(), before, "{attempt}");
        if *control == Works {
            let unsandboxed =
                std::process::Command::new("bash").args(["-c", &attempt]).current_dir(rig.work()).output();
            let text = String::from_utf8_lossy(&unsandboxed.unwrap().stdout).into_owned();
            assert!(escaped(&text), "{attempt} does not even work without a cage: {text}");
            rig.clear_work();
        }
    }
    assert_eq!(connections(), 1, "only the one that was tried without a cage came through");
}

/// I8: system calls that do not concern files reach neither another process nor the machine.
#[cfg(target_arch = "x86_64")]
#[test]
fn system_calls_reach_neither_other_processes_nor_the_machine() {
    let rig = Rig::new();
    for (name, call) in CALLS {
        let call = call.replace("{pid}", &std::process::id().to_string());
        let output = rig.bash(&format!("perl -e '$r = syscall {call}; print qq(r=$r e=) . ($!+0)'")).unwrap();
        assert!(output.starts_with("r=-1 e=1") || output.starts_with("r=-1 e=38"), "{name}: {output}");
    }
    let output = rig.bash("perl -e 'print syscall 39'").unwrap();
    assert!(output.parse::<u32>().is_ok_and(|pid| pid > 0), "one that is allowed works: {output}");
}
