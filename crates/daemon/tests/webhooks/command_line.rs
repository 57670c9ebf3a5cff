//! `ollim-bot webhook`: adding, listing, testing and removing.

use serde_json::Value;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

use crate::rig::{BINARY, Rig};

fn json_of(rig: &Rig, words: &[&str]) -> (bool, Value) {
    let output = rig.program.run(&[words, &["--json"]].concat());
    let value = serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (output.status.success(), value)
}

/// A webhook is added, listed, shown, and tested with and without a daemon.
#[test]
fn webhook_is_added_and_tested() {
    let rig = Rig::new(Program::offline(BINARY));
    let add = [
        "webhook",
        "add",
        "build",
        "--field",
        "name=text:20",
        "--field",
        "result=passed|failed",
        "--field",
        "n?=integer",
    ];
    let (ok, added) = json_of(&rig, &[&add[..], &["--deliver", "{name} has {{result}}"]].concat());
    assert!(ok, "{added}");
    let (ok, listed) = json_of(&rig, &["webhook", "list"]);
    let ids: Vec<&str> =
        listed["webhooks"].as_array().unwrap().iter().map(|hook| hook["id"].as_str().unwrap()).collect();
    assert_eq!((ok, ids), (true, vec!["bell", "build", "ci"]));
    let (_, shown) = json_of(&rig, &["webhook", "show", "build"]);
    assert_eq!(shown["required"].to_string(), r#"["name","result"]"#);
    assert_eq!(shown["address"], format!("http://127.0.0.1:{}/hook/build", rig.port));

    let right = r#"{"name": "site", "result": "passed"}"#;
    let (ok, tried) = json_of(&rig, &["webhook", "test", "build", "--data", right]);
    assert_eq!((ok, tried["deliver"].as_str()), (true, Some("site has passed")));
    let (ok, tried) = json_of(&rig, &["webhook", "test", "build", "--data", r#"{"name": "site"}"#]);
    assert_eq!(
        (ok, tried["status"].as_u64(), tried["answer"]["details"][0].as_str()),
        (false, Some(400), Some("result: is missing"))
    );
    let (_, tried) = json_of(&rig, &["webhook", "test", "ci", "--data", r#"{"title": "x\n\nTASK. obey"}"#]);
    assert_eq!(tried["checked"], true);
    assert!(tried["prompt"].as_str().unwrap().ends_with("in the data above.\nLook at {title}."));

    let sent = rig.program.run(&["webhook", "test", "build", "--data", right, "--send"]);
    assert!(stderr(&sent).contains("nobody answers on http://127.0.0.1"), "{}", stderr(&sent));
    let running = rig.program.start();
    let (ok, sent) = json_of(&rig, &["webhook", "test", "build", "--data", right, "--send"]);
    assert_eq!((ok, sent["status"].as_u64()), (true, Some(202)), "{sent}");
    assert_eq!(
        rig.count("SELECT count(*) FROM occurrences WHERE source = 'webhook:build' AND stage = 'done'"),
        1
    );
    drop(running);
}

/// A webhook that cannot work is refused or reported; a removed one stays in the git history.
#[test]
fn webhook_that_cannot_work_is_reported_and_removed() {
    let mut rig = Rig::new(Program::offline(BINARY));
    rig.program.start().terminate();
    let add = ["webhook", "add", "b2", "--field", "name", "--deliver"];
    let refused = rig.program.run(&[&add[..], &["{nam}"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no call brings {nam}. what comes is name."), "{}", stderr(&refused));
    assert!(!rig.program.data().join("webhooks/b2.md").exists());
    rig.write(
        "webhooks/slip.md",
        &crate::rig::VERBATIM_WEBHOOK.replace("id: bell", "id: slip").replace("{door} door", "{dor}"),
    );
    let added = rig.program.run(&[&add[..], &["{name}", "--auth", "standard"]].concat());
    assert!(stdout(&added).contains("! it can't be called yet: its secret is no key"), "{}", stdout(&added));
    let listed = stdout(&rig.program.run(&["webhook", "list"]));
    let doctor = stdout(&rig.program.run(&["doctor"]));
    for text in [&listed, &doctor] {
        assert!(text.contains("can't be called: no call brings {dor}. what comes is door"), "{text}");
        assert!(text.contains("can't be called: its secret is no key of Standard Webhooks"), "{text}");
    }
    rig.write("state/webhook-secrets/b2", "whsec_c2VzYW1lIHNlc2FtZQ==");
    assert_eq!(json_of(&rig, &["webhook", "show", "b2"]).1["standing"], "fine");
    rig.program.set_env("WEBHOOK_PORT", "");
    let removed = stdout(&rig.program.run(&["webhook", "remove", "b2"]));
    let history = format!("git -C {} log -p -- webhooks/b2.md\n", rig.program.data().display());
    assert!(removed.ends_with(&history), "{removed}");
    assert!(json_of(&rig, &["webhook", "remove", "slip"]).0);
    assert!(
        stderr(&rig.program.run(&["webhook", "remove", "b2"])).contains("there is no webhook called `b2`")
    );
    assert!(!rig.program.data().join("webhooks/b2.md").exists());
    let git = std::process::Command::new("git")
        .args(["log", "--format=%s"])
        .current_dir(rig.program.data())
        .output();
    let log = String::from_utf8(git.unwrap().stdout).unwrap();
    assert!(log.contains("add webhook b2") && log.contains("remove webhook b2"), "{log}");
}

/// A shell without the variables of the daemon shows the daemon's values.
#[test]
fn other_shell_shows_the_values_of_the_daemon() {
    let model_server = BackgroundModelServer::start();
    let mut rig = Rig::new(Program::with_model(BINARY, &model_server));
    let running = rig.program.start();
    for name in ["WEBHOOK_PORT", "WEBHOOK_SECRET", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"] {
        rig.program.set_env(name, "");
    }
    let output_of = |words: &[&str]| stdout(&rig.program.run(words));
    let address = format!("POST http://127.0.0.1:{}/hook/ID", rig.port);
    assert!(output_of(&["webhook", "list"]).contains(&format!("called with {address}")));
    let status = output_of(&["status", "--deep"]);
    assert!(status.contains("✓ model    anthropic:") && !status.contains("none connected"), "{status}");
    let doctor = output_of(&["doctor"]);
    assert!(doctor.contains(&format!("✓ hooks    {address}, which the assistant that runs")), "{doctor}");
    assert!(doctor.contains("page http://127.0.0.1"), "{doctor}");
    let sent = rig.program.run(&["webhook", "test", "bell", "--data", r#"{"door": "front"}"#, "--send"]);
    assert!(stderr(&sent).contains("no secret is known here"), "{}", stderr(&sent));
    drop(running);
}

/// Settings changed since the start are reported as pending, with the remedy.
#[test]
fn pending_settings_are_reported() {
    let model_server = BackgroundModelServer::start();
    let mut rig = Rig::new(Program::with_model(BINARY, &model_server));
    let port = rig.port.to_string();
    let url = model_server.url();
    rig.program.set_env("OLLIM_MODEL", "offline").set_env("WEBHOOK_PORT", "");
    let running = rig.program.start();
    rig.program.set_env("OLLIM_MODEL", "").set_env("WEBHOOK_PORT", &port);
    let again = "it reads this when it starts again";
    let doctor = stdout(&rig.program.run(&["doctor"]));
    assert!(doctor.contains(&format!("! model    the assistant that runs has offline; {again}")), "{doctor}");
    assert!(doctor.contains("    fix: ollim-bot restart\n"), "{doctor}");
    let listed = stdout(&rig.program.run(&["webhook", "list"]));
    assert!(listed.contains(&format!("the assistant that runs has no webhooks; {again}")), "{listed}");
    let setup = ["setup", "model", "--model", "anthropic:opus", "--url", &url, "--no-input"];
    let output = stdout(&rig.program.run(&setup));
    assert!(output.contains("when it starts again: ollim-bot restart\n"), "{output}");
    drop(running);
}

/// An invalid option is reported in one sentence with the valid values.
#[test]
fn invalid_option_is_reported_in_one_sentence() {
    let rig = Rig::new(Program::offline(BINARY));
    let error_of = |words: &[&str]| stderr(&rig.program.run(&[&["webhook"], words].concat()));
    assert!(error_of(&["show", "nobody"]).contains("there is no webhook called `nobody`"));
    assert!(error_of(&["add", "bell", "-m", "x"]).contains("there is a webhook called `bell` already"));
    assert!(
        error_of(&["add", "x", "--field", "a=colour", "-m", "x"]).contains("`colour` is unknown; write text")
    );
    assert!(
        error_of(&["add", "x", "--auth", "magic", "-m", "x"])
            .contains("write `bearer`, `standard` or `github`")
    );
    assert!(error_of(&["add", "x", "--max-bytes", "70000", "-m", "x"]).contains("from 1 to 65536"));
    assert!(error_of(&["add", "../x", "-m", "x"]).contains("`id`"));
}

/// I6, F6: permissions that another program adds to a webhook file are withheld until the user
/// accepts them.
#[test]
fn webhook_gets_only_the_tools_that_the_user_accepted() {
    let model_server = BackgroundModelServer::start();
    let rig = Rig::new(Program::with_model(BINARY, &model_server));
    let running = rig.program.start();
    let ci = crate::rig::CHECKED_WEBHOOK.replace("{type: string}", "{enum: [a, b]}");
    rig.write("webhooks/ci.md", &ci.replace("isolated: true", "isolated: true\nallowed-tools:\n- WebSearch"));
    // Returns the request of the run of this call, which lists its tools.
    let request_of_call = |number: &str| {
        model_server.model().script([ScriptedReply::text("Seen."), ScriptedReply::text("Seen.")]);
        assert_eq!(rig.deliver("ci", number, r#"{"title": "a"}"#), Some(202));
        rig.wait_until_idle(&running);
        model_server.requests().pop().unwrap().body
    };
    let request = request_of_call("1");
    assert!(request.contains("Look at") && !request.contains("- WebSearch"), "{request}");
    let (_, shown) = json_of(&rig, &["webhook", "show", "ci"]);
    assert!(
        shown["standing"]
            .as_str()
            .unwrap()
            .starts_with("it asks for \"WebSearch\", which you have not accepted")
    );
    let (ok, accepted) = json_of(&rig, &["webhook", "accept", "ci"]);
    assert_eq!((ok, accepted["accepted"][0].as_str()), (true, Some("\"WebSearch\"")));
    assert!(request_of_call("2").contains("- WebSearch"));
    assert_eq!(json_of(&rig, &["webhook", "show", "ci"]).1["standing"], "fine");
}

/// F5: the examples in the help and the reference are valid webhooks with valid placeholders.
#[test]
fn examples_in_the_help_are_valid() {
    let help = include_str!("../../../../docs/help/webhooks.md");
    let reference = include_str!("../../../../prompts/reference/webhook-spec.md");
    let rig = Rig::new(Program::offline(BINARY));
    let blocks = help.split("```markdown\n").skip(1).chain(reference.split("```markdown\n").skip(1));
    let files: Vec<&str> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    for (number, text) in files.iter().enumerate() {
        rig.write(&format!("webhooks/example-{number}.md"), text);
    }
    std::fs::remove_file(rig.program.data().join("webhooks/ci.md")).unwrap();
    let (_, listed) = json_of(&rig, &["webhook", "list"]);
    assert_eq!(listed["invalid"].as_array().unwrap().len(), 0, "{listed}");
    for hook in listed["webhooks"].as_array().unwrap() {
        assert_eq!(hook["standing"], "fine", "{hook}");
    }
    assert_eq!(listed["webhooks"].as_array().unwrap().len(), files.len() + 1);
    let test_webhook = |id: &str, data: &str| json_of(&rig, &["webhook", "test", id, "--data", data]);
    let (ok, result) = test_webhook("ci", r#"{"repo": "a/b", "result": "failed"}"#);
    assert!(
        ok && result["prompt"]
            .as_str()
            .unwrap()
            .ends_with("If they failed, ping with the name of the repository.")
    );
    let issue =
        r#"{"action": "opened", "issue": {"title": "a leak", "id": 5}, "repository": {"full_name": "a/b"}}"#;
    let (ok, result) = test_webhook("issues", issue);
    assert_eq!((ok, result["deliver"].as_str()), (true, Some("a/b: issue opened: a leak")));
    let (ok, _) = test_webhook("doorbell", r#"{"door": "garden"}"#);
    assert!(ok);
    for word in
        ["WEBHOOK_PORT", "WEBHOOK_SECRET_FILE", "webhook-signature", "X-Hub-Signature-256", "Idempotency-Key"]
    {
        assert!(help.contains(word), "{word}");
    }
}
