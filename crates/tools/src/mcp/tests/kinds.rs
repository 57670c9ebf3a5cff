//! Tests of tool kinds, declared by the user or stated by the server and accepted by the user.

use super::*;

/// The tool list of a server whose tool has these annotations.
fn annotated(annotations: &str) -> String {
    TOOLS.replace("\"inputSchema\"", &format!("\"annotations\":{annotations},\"inputSchema\""))
}

fn server(kinds: &str) -> (Vec<Named>, Vec<String>) {
    read(&format!(r#"{{"mcpServers":{{"notes":{{"command":"x","kinds":{kinds}}}}}}}"#))
}

#[test]
fn the_file_declares_kinds_and_a_wrong_word_is_named() {
    let (named, wrong) =
        server(r#"{"find":"read","add":"own","open":"fetch","look":"search","mail":"send"}"#);
    assert_eq!(wrong, Vec::<String>::new());
    let kinds: Vec<ServerKind> = named[0].kinds.values().copied().collect();
    let [add, find, look, mail, open] = kinds[..] else { panic!("{kinds:?}") };
    assert_eq!([find, add, open, look, mail], ServerKind::ALL);
    let (named, wrong) = server(r#"{"find":"reads"}"#);
    assert!(named.is_empty());
    let told = "the kind of `find` is `reads`; it can be `read`, `own`, `fetch`, `search`, `send`";
    assert!(wrong[0].contains(told), "{wrong:?}");
}

#[test]
fn a_declared_tool_that_is_not_offered_is_named() {
    let kinds = BTreeMap::from([("find".to_owned(), ServerKind::Read)]);
    let listed = [json!({ "name": "add", "inputSchema": {} })];
    let (_, wrong) = Offer::read("notes", &listed, &kinds);
    assert_eq!(wrong, ["notes: `kinds` in mcp.json names `find`, which the server does not offer."]);
}

/// Only explicit annotations count, and none that let the input leave the server. `mcp.json` takes
/// precedence.
#[test]
fn annotations_state_a_kind_and_the_file_overrides_it() {
    let kind = |annotations: Value, kinds: &[(&str, ServerKind)]| {
        let listed = [json!({ "name": "x", "inputSchema": {}, "annotations": annotations })];
        let kinds = kinds.iter().map(|(tool, kind)| ((*tool).to_owned(), *kind)).collect();
        Offer::read("s", &listed, &kinds).0[0].kind
    };
    let hints = |read: bool, destroys: bool, open: bool| json!({ "readOnlyHint": read, "destructiveHint": destroys, "openWorldHint": open });
    assert_eq!(kind(hints(true, false, false), &[]), Some(ServerKind::Read));
    assert_eq!(kind(json!({ "readOnlyHint": true, "openWorldHint": false }), &[]), Some(ServerKind::Read));
    assert_eq!(kind(hints(false, false, false), &[]), Some(ServerKind::Own));
    for unknown in [
        hints(true, false, true),
        hints(false, true, false),
        hints(false, false, true),
        json!({ "readOnlyHint": true }),
        json!({ "destructiveHint": false }),
        json!({ "readOnlyHint": "true", "openWorldHint": false }),
        json!({}),
        json!(null),
    ] {
        assert_eq!(kind(unknown.clone(), &[]), None, "{unknown}");
    }
    assert_eq!(kind(hints(true, false, false), &[("x", ServerKind::Send)]), Some(ServerKind::Send));
    assert_eq!(kind(json!({}), &[("x", ServerKind::Own)]), Some(ServerKind::Own));
}

#[test]
fn a_kind_and_the_annotations_are_part_of_what_is_accepted() {
    let print = |annotations: Value, kinds: BTreeMap<String, ServerKind>| {
        let listed = [json!({ "name": "x", "inputSchema": {}, "annotations": annotations })];
        Offer::read("s", &listed, &kinds).0[0].fingerprint()
    };
    let kinds = |kind| BTreeMap::from([("x".to_owned(), kind)]);
    let prints = [
        print(json!({}), BTreeMap::new()),
        print(json!({}), kinds(ServerKind::Read)),
        print(json!({}), kinds(ServerKind::Send)),
        print(json!({ "openWorldHint": true }), BTreeMap::new()),
        print(json!({ "openWorldHint": false }), BTreeMap::new()),
        print(json!({ "openWorldHint": false }), kinds(ServerKind::Read)),
        print(json!({ "readOnlyHint": true, "openWorldHint": false }), BTreeMap::new()),
    ];
    let different: std::collections::BTreeSet<&String> = prints.iter().collect();
    assert_eq!(different.len(), prints.len(), "{prints:?}");
    assert_eq!(print(json!({ "title": "X" }), BTreeMap::new()), prints[0], "other annotations say nothing");
}

/// A kind counts once it is accepted. A tool with changed annotations has no kind and is off until
/// it is accepted again.
#[tokio::test]
async fn a_tool_has_its_kind_as_long_as_it_is_as_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let flag = dir.path().join("changed");
    let calm = r#"{"readOnlyHint":true,"openWorldHint":false}"#;
    let other = r#"{"readOnlyHint":true}"#;
    let calm = annotated(calm);
    let other = annotated(other);
    let list = format!("if [ -e '{0}' ]; then echo '{other}'; else echo '{calm}'; fi", flag.display());
    let rig = Rig::new(vec![("notes", script(&echo(HELLO), &list, &echo(DONE)))]);
    assert_eq!(rig.servers.kind("mcp__notes__note").await, None);
    rig.accept().await;
    assert_eq!(rig.servers.kind("mcp__notes__note").await, Some(ServerKind::Read));
    assert_eq!(rig.servers.kind("mcp__notes__none").await, None);
    assert_eq!(rig.servers.kind("mcp__none__note").await, None);
    std::fs::write(&flag, "").unwrap();
    rig.servers.offers().await;
    assert_eq!(rig.servers.kind("mcp__notes__note").await, None);
    assert!(rig.call("mcp__notes__note").await.contains("has not accepted it as it is now"));
}

/// The user has accepted the old and the new form of a tool. A call permitted for the old kind is
/// not made.
#[tokio::test]
async fn a_call_is_not_made_with_another_kind_than_it_was_decided_by() {
    let dir = tempfile::tempdir().unwrap();
    let flag = dir.path().join("changed");
    let calm = annotated(r#"{"readOnlyHint":true,"openWorldHint":false}"#);
    let list = format!("if [ -e '{0}' ]; then echo '{TOOLS}'; else echo '{calm}'; fi", flag.display());
    let rig = Rig::new(vec![("notes", script(&echo(HELLO), &list, &echo(DONE)))]);
    rig.accept().await;
    assert_eq!(rig.servers.kind("mcp__notes__note").await, Some(ServerKind::Read));
    std::fs::write(&flag, "").unwrap();
    rig.accept().await;
    assert!(rig.call("mcp__notes__note").await.contains("was changed meanwhile and was not called"));
    assert_eq!(rig.servers.kind("mcp__notes__note").await, None);
    assert_eq!(rig.call("mcp__notes__note").await, "kept");
}
