//! Web search without configuration, through the model vendor.

use serde_json::json;
use testkit::model_server::{MessagesRequest, ScriptedReply, WebPage};
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn tea_page() -> WebPage {
    WebPage::new("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees.")
}

/// Sends `words` and returns the answer.
fn send(program: &Program, words: &str) -> String {
    let output = program.run(&["chat", "--once", words]);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    stdout(&output)
}

/// With only the model's key, the model searches the web, and the cost of the search is in the
/// ledger.
#[test]
fn web_search_needs_only_the_key_of_the_model() {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    program.set_env("OLLIM_MODEL", "anthropic:claude-sonnet-5-5");
    model_server.model().answering(|request| {
        let tools = request["tools"].to_string();
        if tools.contains("web_search_20250305") {
            ScriptedReply::empty()
                .with_search("green tea temperature", &[tea_page()])
                .with_citation("80 degrees.", &tea_page())
        } else if tools.contains("WebSearch") && !request["messages"].to_string().contains("tool_result") {
            ScriptedReply::tool_call("WebSearch", &json!({"query": "green tea temperature"}))
        } else {
            ScriptedReply::text("It is 80 degrees.")
        }
    });
    let output = send(&program, "look up how hot green tea is brewed");
    assert!(output.contains("It is 80 degrees."), "{output}");
    assert_eq!(model_server.model().refused_requests(), []);

    let requests = model_server.requests();
    let is_search =
        |request: &&MessagesRequest| request.json["tools"].to_string().contains("web_search_20250305");
    let search = &requests.iter().find(is_search).expect("a search").json;
    assert_eq!(search["messages"], json!([{"role": "user", "content": "green tea temperature"}]));
    assert!(
        !search.to_string().contains("look up how hot"),
        "nothing of the conversation goes out: {search}"
    );
    let reads =
        |request: &&MessagesRequest| request.json["messages"].to_string().contains("https://tea.org/");
    let result =
        requests.iter().find(reads).expect("the model reads the results").json["messages"].to_string();
    assert!(result.contains("https://tea.org/") && result.contains("brewed at 80 degrees"), "{result}");
    assert!(
        result.contains("Answer of anthropic:claude-haiku-5-5 from these pages: 80 degrees."),
        "{result}"
    );

    let cost = stdout(&program.run(&["cost"]));
    assert!(cost.lines().any(|line| line.contains("web searches") && line.contains("2 calls")), "{cost}");
    let by_model = stdout(&program.run(&["cost", "--by", "model"]));
    let line = by_model.lines().find(|line| line.contains("anthropic:web_search")).unwrap_or(&by_model);
    assert!(line.contains("$0.01") && line.contains("1 call"), "{by_model}");
}

/// If the account has no web search, the result says what to do.
#[test]
fn refused_search_says_what_to_do() {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    program.set_env("OLLIM_MODEL", "anthropic:claude-sonnet-5-5");
    let refusal = || {
        ScriptedReply::refusal(403, "permission_error", "Web search is not enabled for this organization.")
    };
    model_server.model().script([
        ScriptedReply::tool_call("WebSearch", &json!({"query": "green tea"})),
        refusal(),
        refusal(),
        ScriptedReply::text("I could not search."),
    ]);
    send(&program, "look it up");
    let requests = model_server.requests();
    let result = requests.last().expect("a request").json["messages"].to_string();
    assert!(result.contains("Error: Anthropic does not allow") || result.contains("The server"), "{result}");
    assert!(result.contains("Claude Console") && result.contains("OLLIM_SEARCH_URL"), "{result}");
    program.set_env("OLLIM_SEARCH", "none");
    model_server.model().script([
        ScriptedReply::tool_call("WebSearch", &json!({"query": "green tea"})),
        ScriptedReply::text("I can't search."),
    ]);
    send(&program, "and now?");
    let requests = model_server.requests();
    let result = requests.last().expect("a request").json["messages"].to_string();
    assert!(result.contains("`WebSearch` is off: the user turned it off"), "{result}");
}
