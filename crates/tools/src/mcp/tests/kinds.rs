//! Tests of tool kinds, declared by the user or stated by the server and accepted by the user.

use super::*;

/// The tool list of a server whose tool has these annotations.
fn tools_with_annotations(annotations: &str) -> String {
    TOOLS.replace("\"inputSchema\"", &format!("\"annotations\":{annotations},\"inputSchema\""))
}

fn config_with_kinds(kinds: &str) -> (Vec<ServerConfig>, Vec<String>) {
    parse_config(&format!(r#"{{"mcpServers":{{"notes":{{"command":"x","kinds":{kinds}}}}}}}"#))
}

#[test]
fn config_declares_kinds_and_rejects_unknown_ones() {
    let (named, problems) =
        config_with_kinds(r#"{"find":"read","add":"own","open":"fetch","look":"search","mail":"send"}"#);
    assert_eq!(problems, Vec::<String>::new());
    let kinds: Vec<ServerToolKind> = named[0].kinds.values().copied().collect();
    let [add, find, look, mail, open] = kinds[..] else { panic!("{kinds:?}") };
    assert_eq!([find, add, open, look, mail], ServerToolKind::ALL);
    let (named, problems) = config_with_kinds(r#"{"find":"reads"}"#);
    assert!(named.is_empty());
    let told = "the kind of `find` is `reads`; it can be `read`, `own`, `fetch`, `search`, `send`";
    assert!(problems[0].contains(told), "{problems:?}");
}

#[test]
fn missing_tool_with_a_kind_is_reported() {
    let kinds = BTreeMap::from([("find".to_owned(), ServerToolKind::Read)]);
    let listed = [json!({ "name": "add", "inputSchema": {} })];
    let (_, wrong) = ToolOffer::parse_list("notes", &listed, &kinds);
    assert_eq!(wrong, ["notes: `kinds` in mcp.json names `find`, which the server does not offer."]);
}

/// Only explicit annotations count, and none that let the input leave the server. `mcp.json` takes
/// precedence.
#[test]
fn annotations_state_a_kind_and_the_config_overrides_it() {
    let kind = |annotations: Value, kinds: &[(&str, ServerToolKind)]| {
        let listed = [json!({ "name": "x", "inputSchema": {}, "annotations": annotations })];
        let kinds = kinds.iter().map(|(tool, kind)| ((*tool).to_owned(), *kind)).collect();
        ToolOffer::parse_list("s", &listed, &kinds).0[0].kind
    };
    let hints = |read: bool, destroys: bool, open: bool| json!({ "readOnlyHint": read, "destructiveHint": destroys, "openWorldHint": open });
    assert_eq!(kind(hints(true, false, false), &[]), Some(ServerToolKind::Read));
    assert_eq!(
        kind(json!({ "readOnlyHint": true, "openWorldHint": false }), &[]),
        Some(ServerToolKind::Read)
    );
    assert_eq!(kind(hints(false, false, false), &[]), Some(ServerToolKind::Own));
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
    assert_eq!(kind(hints(true, false, false), &[("x", ServerToolKind::Send)]), Some(ServerToolKind::Send));
    assert_eq!(kind(json!({}), &[("x", ServerToolKind::Own)]), Some(ServerToolKind::Own));
}

#[test]
fn kind_and_annotations_are_part_of_the_fingerprint() {
    let fingerprint = |annotations: Value, kinds: BTreeMap<String, ServerToolKind>| {
        let listed = [json!({ "name": "x", "inputSchema": {}, "annotations": annotations })];
        ToolOffer::parse_list("s", &listed, &kinds).0[0].fingerprint()
    };
    let kinds = |kind| BTreeMap::from([("x".to_owned(), kind)]);
    let fingerprints = [
        fingerprint(json!({}), BTreeMap::new()),
        fingerprint(json!({}), kinds(ServerToolKind::Read)),
        fingerprint(json!({}), kinds(ServerToolKind::Send)),
        fingerprint(json!({ "openWorldHint": true }), BTreeMap::new()),
        fingerprint(json!({ "openWorldHint": false }), BTreeMap::new()),
        fingerprint(json!({ "openWorldHint": false }), kinds(ServerToolKind::Read)),
        fingerprint(json!({ "readOnlyHint": true, "openWorldHint": false }), BTreeMap::new()),
    ];
    let different: std::collections::BTreeSet<&String> = fingerprints.iter().collect();
    assert_eq!(different.len(), fingerprints.len(), "{fingerprints:?}");
    assert_eq!(
        fingerprint(json!({ "title": "X" }), BTreeMap::new()),
        fingerprints[0],
        "other annotations say nothing"
    );
}

/// A kind counts once it is accepted. A tool with changed annotations has no kind and is off until
/// it is accepted again.
#[tokio::test]
async fn changed_tool_loses_its_kind() {
    let dir = tempfile::tempdir().unwrap();
    let flag = dir.path().join("changed");
    let read_only = r#"{"readOnlyHint":true,"openWorldHint":false}"#;
    let other = r#"{"readOnlyHint":true}"#;
    let read_only = tools_with_annotations(read_only);
    let other = tools_with_annotations(other);
    let list = format!("if [ -e '{0}' ]; then echo '{other}'; else echo '{read_only}'; fi", flag.display());
    let rig = Rig::new(vec![("notes", script_server(&echo(INITIALIZED), &list, &echo(CALL_RESULT)))]);
    assert_eq!(rig.servers.kind("mcp__notes__note").await, None);
    rig.accept().await;
    assert_eq!(rig.servers.kind("mcp__notes__note").await, Some(ServerToolKind::Read));
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
async fn call_with_a_changed_kind_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let flag = dir.path().join("changed");
    let read_only = tools_with_annotations(r#"{"readOnlyHint":true,"openWorldHint":false}"#);
    let list = format!("if [ -e '{0}' ]; then echo '{TOOLS}'; else echo '{read_only}'; fi", flag.display());
    let rig = Rig::new(vec![("notes", script_server(&echo(INITIALIZED), &list, &echo(CALL_RESULT)))]);
    rig.accept().await;
    assert_eq!(rig.servers.kind("mcp__notes__note").await, Some(ServerToolKind::Read));
    std::fs::write(&flag, "").unwrap();
    rig.accept().await;
    assert!(rig.call("mcp__notes__note").await.contains("was changed meanwhile and was not called"));
    assert_eq!(rig.servers.kind("mcp__notes__note").await, None);
    assert_eq!(rig.call("mcp__notes__note").await, "kept");
}
