//! Web search without configuration, through the model vendor.

use serde_json::json;
use testkit::kill::{Backstage, Program, stderr, stdout};
use testkit::model_server::{Act, Page, Received};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn tea() -> Page {
    Page::new("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees.")
}

/// Sends `words` and returns the answer.
fn say(program: &Program, words: &str) -> String {
    let output = program.run(&["chat", "--once", words]);
    assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    stdout(&output)
}

/// With only the model's key, the model searches the web, and the cost of the search is in the
/// ledger.
#[test]
fn the_web_is_searched_with_nothing_but_the_key_of_the_model() {
    let backstage = Backstage::open();
    let mut program = Program::answered_by(BINARY, &backstage);
    program.set("OLLIM_MODEL", "anthropic:claude-sonnet-5-5");
    backstage.model().answering(|request| {
        let tools = request["tools"].to_string();
        if tools.contains("web_search_20250305") {
            Act::empty().and_searches("green tea temperature", &[tea()]).and_cites("80 degrees.", &tea())
        } else if tools.contains("WebSearch") && !request["messages"].to_string().contains("tool_result") {
            Act::calls("WebSearch", &json!({"query": "green tea temperature"}))
        } else {
            Act::says("It is 80 degrees.")
        }
    });
    let told = say(&program, "look up how hot green tea is brewed");
    assert!(told.contains("It is 80 degrees."), "{told}");
    assert_eq!(backstage.model().refused(), []);

    let requests = backstage.requests();
    let is_search = |request: &&Received| request.json["tools"].to_string().contains("web_search_20250305");
    let search = &requests.iter().find(is_search).expect("a search").json;
    assert_eq!(search["messages"], json!([{"role": "user", "content": "green tea temperature"}]));
    assert!(
        !search.to_string().contains("look up how hot"),
        "nothing of the conversation goes out: {search}"
    );
    let reads = |request: &&Received| request.json["messages"].to_string().contains("https://tea.org/");
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
fn a_search_that_is_not_allowed_says_what_to_do() {
    let backstage = Backstage::open();
    let mut program = Program::answered_by(BINARY, &backstage);
    program.set("OLLIM_MODEL", "anthropic:claude-sonnet-5-5");
    let refusal =
        || Act::refuses(403, "permission_error", "Web search is not enabled for this organization.");
    backstage.model().script([
        Act::calls("WebSearch", &json!({"query": "green tea"})),
        refusal(),
        refusal(),
        Act::says("I could not search."),
    ]);
    say(&program, "look it up");
    let requests = backstage.requests();
    let result = requests.last().expect("a request").json["messages"].to_string();
    assert!(result.contains("Error: Anthropic does not allow") || result.contains("The server"), "{result}");
    assert!(result.contains("Claude Console") && result.contains("OLLIM_SEARCH_URL"), "{result}");
    program.set("OLLIM_SEARCH", "none");
    backstage
        .model()
        .script([Act::calls("WebSearch", &json!({"query": "green tea"})), Act::says("I can't search.")]);
    say(&program, "and now?");
    let requests = backstage.requests();
    let result = requests.last().expect("a request").json["messages"].to_string();
    assert!(result.contains("`WebSearch` is off: the user turned it off"), "{result}");
}
