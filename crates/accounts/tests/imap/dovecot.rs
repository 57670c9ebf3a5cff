//! Tests with a real Dovecot: listing, searching and reading, without any change to the mailbox.

use std::sync::Arc;

use accounts::mail::imap::{ImapMailbox, ImapServer, ImapSettings, TransportSecurity};
use accounts::mail::{Mailbox, MailboxLabel, MessageSummary};
use accounts::{AccountError, Secret};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use testkit::dovecot::{Dovecot, Maildir, PASSWORD, USER};

use crate::messages::{broken, html, huge, nested, plain};

fn fill_mailbox(maildir: &Maildir) {
    maildir.create_folder("Gel&APY-scht");
    maildir.create_folder("Trash");
    maildir.create_folder("Archive.2025");
    maildir.add_message(
        "",
        "new/1.a",
        10,
        &plain("\"Bell, Ann\" <a@example.org>", "Lunch?", "Are you free?"),
    );
    maildir.add_message("", "cur/2.b:2,S", 20, &plain("Tom <t@example.org>", "Seen", "already read"));
    maildir.add_message("", "cur/3.c:2,", 30, &nested());
    maildir.add_message("", "new/4.d", 40, &html());
    maildir.add_message("", "new/5.e", 50, &broken());
    maildir.add_message(
        "Archive.2025",
        "cur/6.f:2,S",
        60,
        &plain("Zoë <z@example.org>", "old", "Müller schrieb: Straße 5"),
    );
    maildir.add_message("Trash", "cur/7.g:2,", 70, &plain("Tom <t@example.org>", "Straße", "thrown away"));
}

fn settings(server: ImapServer) -> ImapSettings {
    ImapSettings { server, user: USER.to_owned(), password: Secret::new(PASSWORD), tls: wire::tls_config() }
}

fn unencrypted_client(dovecot: &Dovecot) -> ImapMailbox {
    let server = ImapServer {
        host: "127.0.0.1".to_owned(),
        port: dovecot.port,
        security: TransportSecurity::Unencrypted,
    };
    ImapMailbox::new(settings(server))
}

fn subjects(headings: &[MessageSummary]) -> Vec<&str> {
    headings.iter().map(|heading| heading.subject.as_str()).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    testkit::process::block_on(future)
}

/// GO-22: unread messages of the inbox are listed, newest first and readable; nothing is marked as
/// read.
#[test]
fn unread_messages_are_listed_and_stay_unread() {
    let dovecot = Dovecot::start(fill_mailbox);
    let before = dovecot.maildir().message_files();
    let imap = unencrypted_client(&dovecot);
    let found = block_on(imap.unread(20)).unwrap();
    assert_eq!(subjects(&found), ["ab =?utf-8?B?!!!?=", "News", "Grüße", "Lunch?"]);
    let froms: Vec<_> = found.iter().map(|heading| heading.from.as_str()).collect();
    assert_eq!(froms, ["[31m", "news@example.org", "Jürgen", "Bell, Ann"]);
    assert_eq!(found[3].at.unwrap().to_string(), "2026-01-01T00:00:10Z");
    assert_eq!(subjects(&block_on(imap.unread(2)).unwrap()), ["ab =?utf-8?B?!!!?=", "News"]);
    for heading in &found {
        block_on(imap.read(&heading.id)).unwrap();
    }
    block_on(imap.search("Lunch", 5)).unwrap();
    block_on(imap.labels()).unwrap();
    assert_eq!(dovecot.maildir().message_files(), before, "no letter was moved, and none has another mark");
    assert_eq!(
        subjects(&block_on(imap.unread(20)).unwrap()),
        ["ab =?utf-8?B?!!!?=", "News", "Grüße", "Lunch?"]
    );
}

/// GO-23: the text of each message is read.
#[test]
fn messages_of_all_kinds_are_read() {
    let dovecot = Dovecot::start(fill_mailbox);
    let imap = unencrypted_client(&dovecot);
    let found = block_on(imap.unread(20)).unwrap();
    let read = |at: usize| block_on(imap.read(&found[at].id)).unwrap();
    let letter = read(3);
    assert_eq!(letter.body.as_deref(), Some("Are you free?"));
    assert_eq!(letter.from, "\"Bell, Ann\" <a@example.org>");
    assert_eq!(
        (letter.to.as_str(), letter.date.as_str()),
        ("ann@example.org", "Mon, 16 Nov 2026 08:00:00 +0100")
    );
    assert_eq!(read(2).body.as_deref(), Some("Grüße, du!"));
    assert_eq!(read(1).body.as_deref(), Some("Hello you"));
    assert_eq!(read(0).body.as_deref(), Some("still here"));
}

#[test]
fn search_covers_all_folders_except_trash() {
    let dovecot = Dovecot::start(fill_mailbox);
    let imap = unencrypted_client(&dovecot);
    let found = |query: &str| {
        let found = block_on(imap.search(query, 20)).unwrap();
        found.into_iter().map(|heading| heading.subject).collect::<Vec<_>>()
    };
    assert_eq!(found("straße"), ["old"], "what was thrown away is not found");
    assert_eq!(found("Straße in:Trash"), ["Straße"]);
    assert_eq!(found("from:zoë"), ["old"]);
    assert_eq!(found("müller schrieb"), ["old"]);
    assert_eq!(found("subject:Grüße"), ["Grüße"]);
    assert_eq!(found("is:unread -subject:lunch -subject:News"), ["ab =?utf-8?B?!!!?=", "Grüße"]);
    assert_eq!(found("from:a@example.org before:2026-01-02 after:2026-01-01"), ["Lunch?"]);
    assert_eq!(found("\"already read\""), ["Seen"]);
    assert_eq!(found("nothing-like-it"), Vec::<String>::new());
    let id = block_on(imap.search("in:Archive/2025 old", 20)).unwrap().remove(0).id;
    assert!(id.ends_with(".Archive%2F2025"), "{id}");
    assert_eq!(block_on(imap.read(&id)).unwrap().body.as_deref(), Some("Müller schrieb: Straße 5"));
    let missing = block_on(imap.search("x in:Nowhere", 20)).unwrap_err();
    assert_eq!(missing.to_string(), "there is no folder `Nowhere`. `ollim-bot mail labels` lists them.");
}

/// GO-24: folders have a protocol name and a display name.
#[test]
fn folders_are_listed() {
    let dovecot = Dovecot::start(fill_mailbox);
    let mut labels = block_on(unencrypted_client(&dovecot).labels()).unwrap();
    labels.sort_by(|one, other| one.id.cmp(&other.id));
    let label = |id: &str, name: &str| MailboxLabel { id: id.to_owned(), name: name.to_owned() };
    assert_eq!(
        labels,
        [
            label("Archive/2025", "Archive/2025"),
            label("Gel&APY-scht", "Gelöscht"),
            label("INBOX", "INBOX"),
            label("Trash", "Trash")
        ]
    );
}

#[test]
fn huge_message_is_fetched_partially() {
    let dovecot = Dovecot::start(|maildir| maildir.add_message("", "new/1.a", 1, &huge()));
    let imap = unencrypted_client(&dovecot);
    let found = block_on(imap.unread(20)).unwrap();
    let letter = block_on(imap.read(&found[0].id)).unwrap();
    assert_eq!(letter.body.as_deref(), Some("the words come first"));
}

#[test]
fn missing_messages_are_reported() {
    let dovecot = Dovecot::start(fill_mailbox);
    let imap = unencrypted_client(&dovecot);
    let id = block_on(imap.unread(1)).unwrap().remove(0).id;
    let (validity, _) = id.split_once('.').unwrap();
    let missing = |id: &str| block_on(imap.read(id)).unwrap_err();
    let gone = format!("{validity}.9999");
    assert_eq!(missing(&gone), AccountError::NotFound(format!("there is no message `{gone}`.")));
    assert!(missing("1.1").to_string().contains("the mailbox was numbered anew"));
    assert!(missing("1.1.Nowhere").to_string().starts_with("the folder `Nowhere` cannot be opened"));
    assert!(matches!(missing("nonsense"), AccountError::InvalidRequest(_)));
}

/// J1: a refused password is reported without the password.
#[test]
fn refused_password_is_not_shown() {
    let dovecot = Dovecot::start(|_| {});
    let server = ImapServer {
        host: "127.0.0.1".to_owned(),
        port: dovecot.port,
        security: TransportSecurity::Unencrypted,
    };
    let wrong = ImapSettings { password: Secret::new("wrong-canary"), ..settings(server) };
    assert!(!format!("{wrong:?}").contains("wrong-canary"));
    let trouble = block_on(ImapMailbox::new(wrong).unread(1)).unwrap_err().to_string();
    let expected = "the mailbox at 127.0.0.1 does not let ann@example.org in: [AUTHENTICATIONFAILED] Authentication \
                    failed. check OLLIM_IMAP_USER and OLLIM_IMAP_PASSWORD.";
    assert_eq!(trouble, expected);
}

fn trusting_config(dovecot: &Dovecot) -> Arc<ClientConfig> {
    wire::install_crypto_provider();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(dovecot.certificate()).unwrap()).unwrap();
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn tls_and_starttls_verify_the_certificate() {
    let dovecot = Dovecot::start(fill_mailbox);
    for (port, security) in
        [(dovecot.tls_port, TransportSecurity::Tls), (dovecot.port, TransportSecurity::StartTls)]
    {
        let server = ImapServer { host: "localhost".to_owned(), port, security };
        let known = ImapSettings { tls: trusting_config(&dovecot), ..settings(server.clone()) };
        assert_eq!(block_on(ImapMailbox::new(known).unread(20)).unwrap().len(), 4, "{security:?}");
        let trouble = block_on(ImapMailbox::new(settings(server)).unread(20)).unwrap_err().to_string();
        assert!(
            trouble.starts_with("the mailbox at localhost cannot prove that it is the one: "),
            "{trouble}"
        );
    }
}
