//! Mail on a real Dovecot server.

use expect_test::expect;
use testkit::dovecot::{Dovecot, PASSWORD, USER};
use testkit::kill::{Program, stderr, stdout};

use crate::rig::{BINARY, write, write_at};

const LETTER: &[u8] =
    "From: Zoë <z@example.org>\r\nTo: ann@example.org\r\nDate: Mon, 16 Nov 2026 08:00:00 +0100\r\n\
    Subject: Straße\r\n\r\nAre you free?\r\n"
        .as_bytes();

fn program(dovecot: &Dovecot) -> Program {
    let mut program = Program::offline(BINARY);
    program.set("OLLIM_IMAP_URL", &format!("imap://127.0.0.1:{}", dovecot.port)).set("OLLIM_IMAP_USER", USER);
    write(&program, "imap.password", &format!("{PASSWORD}\n"));
    program
}

/// CL-13, GO-22, GO-23, GO-24: the same commands read an IMAP mailbox and do not modify it.
#[test]
fn the_same_commands_read_an_imap_mailbox() {
    let dovecot = Dovecot::start(|maildir| maildir.put("", "new/1.a", 3_600, LETTER));
    let before = dovecot.maildir().letters();
    let program = program(&dovecot);
    let unread = program.run(&["mail", "unread"]);
    let id = stdout(&unread).split_whitespace().next().unwrap_or_default().to_owned();
    assert_eq!(stdout(&unread), format!("  {id}  2026-01-01 02:00  Zoë  Straße\n"), "{}", stderr(&unread));
    assert_eq!(stdout(&program.run(&["gmail", "search", "straße"])), stdout(&unread));
    expect![[r#"
        from:    Zoë <z@example.org>
        to:      ann@example.org
        date:    Mon, 16 Nov 2026 08:00:00 +0100
        subject: Straße

        Are you free?
    "#]]
    .assert_eq(&stdout(&program.run(&["mail", "read", &id])));
    assert_eq!(stdout(&program.run(&["mail", "labels"])), "  INBOX  INBOX\n");
    assert_eq!(stdout(&program.run(&["mail", "search", "nothing like it"])), "no messages\n");
    assert_eq!(dovecot.maildir().letters(), before);
}

#[test]
fn a_certificate_of_ones_own_is_believed_when_the_system_is_told_so() {
    let dovecot = Dovecot::start(|maildir| maildir.put("", "new/1.a", 3_600, LETTER));
    let mut program = program(&dovecot);
    program.set("OLLIM_IMAP_URL", &format!("imaps://localhost:{}", dovecot.tls_port));
    let refused = program.run(&["mail", "unread"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("cannot prove that it is the one"), "{}", stderr(&refused));
    program.set("SSL_CERT_FILE", &dovecot.certificate().display().to_string());
    let unread = program.run(&["mail", "unread"]);
    assert!(stdout(&unread).ends_with("Zoë  Straße\n"), "{}", stderr(&unread));
}

/// J1: the password never appears in output, and a password file that others can read is refused.
#[test]
fn the_password_is_never_shown() {
    let dovecot = Dovecot::start(|_| {});
    let mut program = program(&dovecot);
    program.set("OLLIM_LOG", "debug");
    let mut said = String::new();
    let mut run = |program: &Program| {
        let output = program.run(&["mail", "unread"]);
        said.push_str(&(stdout(&output) + &stderr(&output)));
        output.status.code()
    };
    assert_eq!(run(&program), Some(0));
    write(&program, "imap.password", "wrong-canary");
    assert_eq!(run(&program), Some(1));
    program.set("OLLIM_IMAP_URL", "imap://ann:wrong-canary@127.0.0.1");
    assert_eq!(run(&program), Some(1));
    program.set("OLLIM_IMAP_URL", "imap://127.0.0.1:1");
    assert_eq!(run(&program), Some(1));
    let elsewhere = program.home().join("password");
    write_at(&elsewhere, "wrong-canary");
    std::fs::set_permissions(&elsewhere, std::os::unix::fs::PermissionsExt::from_mode(0o640))
        .expect("a file of ours");
    program.set("OLLIM_IMAP_PASSWORD_FILE", &elsewhere.display().to_string());
    assert_eq!(run(&program), Some(1));
    assert!(said.contains("chmod 600"), "{said}");
    for secret in [PASSWORD, "wrong-canary"] {
        assert!(!said.contains(secret), "{said}");
    }
}
