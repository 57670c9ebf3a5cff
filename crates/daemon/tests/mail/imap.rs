//! Mail on a real Dovecot server.

use expect_test::expect;
use testkit::dovecot::{Dovecot, PASSWORD, USER};
use testkit::process::{Program, stderr, stdout};

use crate::rig::{BINARY, write_private_file, write_state_file};

const MESSAGE: &[u8] =
    "From: Zoë <z@example.org>\r\nTo: ann@example.org\r\nDate: Mon, 16 Nov 2026 08:00:00 +0100\r\n\
    Subject: Straße\r\n\r\nAre you free?\r\n"
        .as_bytes();

fn program(dovecot: &Dovecot) -> Program {
    let mut program = Program::offline(BINARY);
    program
        .set_env("OLLIM_IMAP_URL", &format!("imap://127.0.0.1:{}", dovecot.port))
        .set_env("OLLIM_IMAP_USER", USER);
    write_state_file(&program, "imap.password", &format!("{PASSWORD}\n"));
    program
}

/// CL-13, GO-22, GO-23, GO-24: the same commands read an IMAP mailbox and do not modify it.
#[test]
fn mail_commands_read_an_imap_mailbox() {
    let dovecot = Dovecot::start(|maildir| maildir.add_message("", "new/1.a", 3_600, MESSAGE));
    let before = dovecot.maildir().message_files();
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
    assert_eq!(dovecot.maildir().message_files(), before);
}

#[test]
fn self_signed_certificate_needs_a_system_setting() {
    let dovecot = Dovecot::start(|maildir| maildir.add_message("", "new/1.a", 3_600, MESSAGE));
    let mut program = program(&dovecot);
    program.set_env("OLLIM_IMAP_URL", &format!("imaps://localhost:{}", dovecot.tls_port));
    let refused = program.run(&["mail", "unread"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("cannot prove that it is the one"), "{}", stderr(&refused));
    program.set_env("SSL_CERT_FILE", &dovecot.certificate().display().to_string());
    let unread = program.run(&["mail", "unread"]);
    assert!(stdout(&unread).ends_with("Zoë  Straße\n"), "{}", stderr(&unread));
}

/// J1: the password never appears in output, and a password file that others can read is refused.
#[test]
fn password_is_never_shown() {
    let dovecot = Dovecot::start(|_| {});
    let mut program = program(&dovecot);
    program.set_env("OLLIM_LOG", "debug");
    let mut text = String::new();
    let mut run = |program: &Program| {
        let output = program.run(&["mail", "unread"]);
        text.push_str(&(stdout(&output) + &stderr(&output)));
        output.status.code()
    };
    assert_eq!(run(&program), Some(0));
    write_state_file(&program, "imap.password", "wrong-canary");
    assert_eq!(run(&program), Some(1));
    program.set_env("OLLIM_IMAP_URL", "imap://ann:wrong-canary@127.0.0.1");
    assert_eq!(run(&program), Some(1));
    program.set_env("OLLIM_IMAP_URL", "imap://127.0.0.1:1");
    assert_eq!(run(&program), Some(1));
    let readable_file = program.home().join("password");
    write_private_file(&readable_file, "wrong-canary");
    std::fs::set_permissions(&readable_file, std::os::unix::fs::PermissionsExt::from_mode(0o640))
        .expect("a file of ours");
    program.set_env("OLLIM_IMAP_PASSWORD_FILE", &readable_file.display().to_string());
    assert_eq!(run(&program), Some(1));
    assert!(text.contains("chmod 600"), "{text}");
    for secret in [PASSWORD, "wrong-canary"] {
        assert!(!text.contains(secret), "{text}");
    }
}
