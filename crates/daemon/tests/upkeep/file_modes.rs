//! J2: all files are private from their creation on, verified with `strace` on every creating
//! system call of the real program.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use serde_json::json;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, free_port, run_to_end, stderr};

use crate::rig::BINARY;

/// The usual umask of a shell: files are readable by others.
const USUAL_MASK: u32 = 0o022;

/// Calls that create files or change modes. The optional ones do not exist on every machine.
const CALLS: &str = "trace=?open,openat,?openat2,?creat,?mkdir,mkdirat,?mknod,mknodat,bind,umask,?chmod,fchmod,fchmodat,\
                     ?fchmodat2,clone,?clone3,?fork,?vfork";

const WEBHOOK: &str = "---\nid: bell\nfields:\n  type: object\n  required: [door]\n  properties:\n    door: {type: string, \
    enum: [front, garden]}\ndeliver: \"somebody rang at the {door} door\"\n---\n";

/// A running strace.
struct Trace {
    fifo: PathBuf,
    reader: JoinHandle<String>,
}

impl Trace {
    /// Creates a pipe called `name`, and a thread that reads it.
    fn new(home: &Path, name: &str) -> Self {
        let fifo = home.join(name);
        let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
        assert!(made.success());
        let from = fifo.clone();
        let reader = std::thread::spawn(move || {
            let bytes = std::fs::read(from).expect("what strace wrote");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { fifo, reader }
    }

    /// Returns the command `program` with strace. The child is the program itself; strace runs
    /// detached.
    fn command(&self, program: &Program, arguments: &[&str]) -> Command {
        let fifo = self.fifo.display();
        let shell = format!("umask 022; exec strace -D -f -y -qq -s 4096 -e '{CALLS}' -o {fifo} \"$@\"");
        program.command_through(&shell, arguments)
    }

    /// Waits for the end of all traced processes, and returns everything that was created below
    /// `home`.
    fn created_paths(self, home: &Path) -> Vec<CreatedPath> {
        let text = self.reader.join().expect("a reader");
        let made = parse_trace(&text, home);
        assert!(!made.is_empty(), "strace saw nothing; is it installed, and may it trace? {text}");
        made
    }
}

/// A created path, or one whose mode was changed.
#[derive(Debug)]
struct CreatedPath {
    path: PathBuf,
    mode: u32,
    line: String,
}

/// Parses the output of strace.
fn parse_trace(text: &str, home: &Path) -> Vec<CreatedPath> {
    let mut unfinished = BTreeMap::new();
    let mut masks = BTreeMap::new();
    let mut found = Vec::new();
    let mut parents: BTreeMap<u32, u32> = BTreeMap::new();
    let lines: Vec<(u32, String)> =
        text.lines().filter_map(|line| complete_line(line, &mut unfinished)).collect();
    for (pid, line) in &lines {
        if ["clone", "fork", "vfork"].iter().any(|name| line.starts_with(name)) {
            let child = split_call(line).and_then(|(_, number)| number.trim().parse().ok());
            parents.extend(child.map(|child| (child, *pid)));
        }
    }
    for (pid, line) in lines {
        if let Some(mask) = line.strip_prefix("umask(").and_then(|rest| octal(rest.split(')').next()?)) {
            masks.insert(pid, mask);
        }
        let ancestors = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        let mask = ancestors.into_iter().find_map(|pid| masks.get(&pid).copied()).unwrap_or(USUAL_MASK);
        found.extend(created_by(&line, home).map(|(path, wanted, is_set)| {
            let mode = if is_set { wanted } else { wanted & !mask };
            CreatedPath { path, mode, line }
        }));
    }
    found
}

/// Returns a complete line with its process id, joining interrupted calls.
fn complete_line(line: &str, unfinished: &mut BTreeMap<u32, String>) -> Option<(u32, String)> {
    let (pid, rest) = line.split_once(' ')?;
    let pid = pid.parse().ok()?;
    let rest = rest.trim_start();
    if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
        unfinished.insert(pid, begun.to_owned());
        return None;
    }
    match rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
        Some((_, end)) => unfinished.remove(&pid).map(|begun| (pid, begun + end)),
        None => Some((pid, rest.to_owned())),
    }
}

/// Splits a call into arguments and result; strace pads in between.
fn split_call(rest: &str) -> Option<(&str, &str)> {
    let (given, result) = rest.rsplit_once(" = ")?;
    Some((given.trim_end().strip_suffix(')')?, result))
}

/// Returns the path below `home` that a call creates, the requested mode, and whether it ignores
/// the umask.
fn created_by(line: &str, home: &Path) -> Option<(PathBuf, u32, bool)> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = split_call(rest)?;
    if result.starts_with('-') {
        return None;
    }
    let quoted = || arguments.split('"').nth(1);
    let last =
        || octal(arguments.rsplit(|c: char| !c.is_ascii_alphanumeric()).find(|word| !word.is_empty())?);
    let (path, mode, is_set) = match name {
        "open" | "openat" if arguments.contains("O_CREAT") => (quoted()?, last()?, false),
        "openat2" if arguments.contains("O_CREAT") => {
            let mode =
                arguments.split_once("mode=").and_then(|(_, rest)| octal(rest.split([',', '}']).next()?));
            (quoted()?, mode?, false)
        }
        "creat" | "mkdir" | "mkdirat" | "mknod" | "mknodat" => (quoted()?, last()?, false),
        // The mode of a socket file is 0777 without the umask.
        "bind" if arguments.contains("AF_UNIX") && arguments.contains("sun_path=\"") => {
            (quoted()?, 0o777, false)
        }
        "chmod" | "fchmodat" | "fchmodat2" => {
            (quoted()?, octal(arguments.split(", ").find(|word| octal(word).is_some())?)?, true)
        }
        "fchmod" => ("", last()?, true),
        _ => return None,
    };
    let within = arguments.split_once('<').and_then(|(before, rest)| {
        // The first argument is a descriptor with its path.
        (!before.contains(['"', ','])).then(|| rest.split('>').next().unwrap_or_default())
    });
    let full = home.join(within.unwrap_or_default()).join(path);
    full.starts_with(home).then_some((full, mode, is_set))
}

fn octal(word: &str) -> Option<u32> {
    let digits = word.trim();
    digits.starts_with('0').then(|| u32::from_str_radix(digits, 8).ok()).flatten()
}

/// Verifies that no path was accessible for others at any time.
fn assert_all_private(made: &[CreatedPath]) {
    for made in made {
        assert_eq!(made.mode & 0o077, 0, "{:o} {}: {}", made.mode, made.path.display(), made.line);
    }
}

fn count_matching(made: &[CreatedPath], words: &str) -> usize {
    made.iter().filter(|made| made.path.to_string_lossy().contains(words)).count()
}

/// J2: everything that a first start, a reminder and a stop create is private from the beginning:
/// the directory, the journal, the socket and all other files.
#[test]
fn first_start_creates_only_private_files() {
    let program = Program::offline(BINARY);
    let trace = Trace::new(program.home(), "first.trace");
    let running = program.try_start(trace.command(&program, &["run", "--no-chat"])).expect("it starts");
    running.send_and_wait("remind me to call mum in 20 minutes").unwrap();
    running.send_and_wait("keep the idea with the boat").unwrap();
    running.command("/config permission_mode default").unwrap();
    let (status, _) = running.terminate();
    assert!(status.success(), "{status}");
    let made = trace.created_paths(program.home());
    assert_all_private(&made);
    for words in
        ["data", "state/journal.db", "state/journal.db-wal", "reminders/", "state/config.json", ".git/"]
    {
        assert!(count_matching(&made, words) > 0, "{words}: {made:?}");
    }
}

/// J2: everything that tools, sandboxed commands, webhooks, backups and imports create is private
/// from the beginning.
#[test]
fn tools_and_commands_create_only_private_files() {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    let port = free_port();
    program.set_env("WEBHOOK_PORT", &port.to_string()).set_env("WEBHOOK_SECRET", "sesame");
    let hook = program.data().join("webhooks/bell.md");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(hook, WEBHOOK).unwrap();
    let trace = Trace::new(program.home(), "second.trace");
    let running = program.try_start(trace.command(&program, &["run", "--no-chat"])).expect("it starts");
    model_server.model().script([
        ScriptedReply::tool_call("Write", &json!({ "file_path": "notes/day.md", "content": "sun" })),
        ScriptedReply::tool_call(
            "Edit",
            &json!({ "file_path": "notes/day.md", "old_string": "sun", "new_string": "rain" }),
        ),
        ScriptedReply::tool_call(
            "Bash",
            &json!({ "command": "mkdir -p notes/deep && echo x > notes/deep/made.txt" }),
        ),
        ScriptedReply::text("written."),
    ]);
    running.send_and_wait("write it down").unwrap();
    assert_eq!(call_webhook(port), "HTTP/1.1 202 Accepted");
    running.terminate();
    let mut made = trace.created_paths(program.home());
    for (number, words) in [
        &["export", "backup.tar.gz"][..],
        &["routine", "add", "--cron", "0 9 * * *", "-m", "good morning"],
        &["--data-dir", "elsewhere", "import", "backup.tar.gz"],
    ]
    .into_iter()
    .enumerate()
    {
        let trace = Trace::new(program.home(), &format!("command-{number}.trace"));
        let output = run_to_end(&mut trace.command(&program, words));
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        made.extend(trace.created_paths(program.home()));
    }
    assert_all_private(&made);
    for words in ["notes/", "deep/made.txt", ".ollim-export-", "routines/", "elsewhere"] {
        assert!(count_matching(&made, words) > 0, "{words}: {made:?}");
    }
}

/// Calls the webhook. Returns the first line of the response.
fn call_webhook(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = "POST /hook/bell HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sesame\r\ncontent-length: 16";
    write!(stream, "{head}\r\n\r\n{{\"door\":\"front\"}}").unwrap();
    let mut status_line = String::new();
    BufReader::new(stream).read_line(&mut status_line).unwrap();
    status_line.trim_end().to_owned()
}

/// J2: the parser finds all lax modes in a sample trace.
#[test]
fn parser_finds_lax_modes_in_a_trace() {
    let text = "10 umask(077) = 022\n\
                10 openat(AT_FDCWD</h>, \"a\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</h/a>\n\
                10 clone3({flags=CLONE_VM}, 88 <unfinished ...>\n\
                11 mkdirat(5</h/d>, \"b\", 0777 <unfinished ...>\n\
                10 <... clone3 resumed>)               = 11\n\
                11 <... mkdirat resumed>) = 0\n\
                11 umask(022) = 077\n\
                11 mkdir(\"/h/e\", 0777) = 0\n\
                10 fchmod(3</h/a>, 0644) = 0\n\
                10 openat2(4</h>, \"c\", {flags=O_CREAT|O_WRONLY, mode=0644, resolve=RESOLVE_BENEATH}, 24) = 6</h/c>\n\
                10 bind(7<UNIX-STREAM:[1]>, {sa_family=AF_UNIX, sun_path=\"/h/s\"}, 110) = 0\n\
                12 openat(AT_FDCWD</x>, \"/x/y\", O_CREAT, 0666) = 3</x/y>\n\
                12 openat(AT_FDCWD</h>, \"z\", O_CREAT, 0666) = -1 EACCES (Permission denied)\n\
                12 bind(7<UNIX-STREAM:[1]>, {sa_family=AF_UNIX, sun_path=\"/h/t\"}, 110) = 0\n";
    let output: Vec<String> = parse_trace(text, Path::new("/h"))
        .iter()
        .map(|made| format!("{} {:o}", made.path.display(), made.mode))
        .collect();
    let expected = ["/h/a 600", "/h/d/b 700", "/h/e 755", "/h/a/ 644", "/h/c 600", "/h/s 700", "/h/t 755"];
    assert_eq!(output, expected);
}
