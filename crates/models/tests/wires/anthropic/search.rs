//! Web searches with the vendor's tool.

use std::sync::Arc;

use domain::conversation::Usage;
use domain::cost::Call;
use engine::ports::{Findings, FoundPage, SearchFailure, Searched, VendorSearch};
use models::anthropic::{Anthropic, Settings, WebSearch};
use serde_json::json;
use testkit::model_server::{Act, Host, ModelServer, Options, Page};

use super::stage::settings;

const CHEAP: &str = "claude-haiku-5-5";
const USUAL: &str = "claude-sonnet-5-5";

/// Creates a search through `server` for a conversation with `DEFAULT_MODEL`.
fn search(server: &ModelServer) -> WebSearch {
    let settings = Settings { model: USUAL.to_owned(), ..settings(&server.url()) };
    WebSearch::new(Arc::new(Anthropic::new(settings).unwrap()), Some(CHEAP.to_owned()))
}

async fn play(acts: impl IntoIterator<Item = Act>) -> (ModelServer, Searched) {
    let server = ModelServer::start().await.unwrap();
    server.script(acts);
    let searched = search(&server).search("green tea").await;
    (server, searched)
}

fn tea() -> Page {
    Page::new("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees.")
}

fn charges(spent: &[Call]) -> Vec<&str> {
    spent.iter().map(|call| call.model.as_str()).collect()
}

#[tokio::test]
async fn a_search_is_a_small_request_of_its_own_with_the_query_alone() {
    let other = Page::new("Other", "https://other.org/", "");
    let act = Act::empty()
        .and_says("I'll search.")
        .and_searches("green tea", &[other, tea()])
        .and_cites(" At 80 degrees.", &tea());
    let (server, searched) = play([act]).await;
    let page = |title: &str, url: &str, snippet: &str| FoundPage {
        title: title.to_owned(),
        url: url.to_owned(),
        snippet: snippet.to_owned(),
    };
    let findings = Findings {
        pages: vec![
            page("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees."),
            page("Other", "https://other.org/", "November 1, 2026"),
        ],
        answer: "I'll search. At 80 degrees.".to_owned(),
    };
    assert_eq!(searched.findings, Ok(findings), "cited pages come first");
    assert_eq!(charges(&searched.spent), ["anthropic:claude-haiku-5-5", "anthropic:web_search"]);
    assert_ne!(searched.spent[0].usage, Usage::default());
    assert_eq!(searched.spent[1].usage, Usage::default());
    assert_eq!(server.refused(), Vec::new());

    let request = server.requests().pop().unwrap().json;
    assert_eq!(request["model"], CHEAP);
    assert_eq!(
        request["tools"],
        json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}])
    );
    assert_eq!(request["messages"], json!([{"role": "user", "content": "green tea"}]));
    assert_eq!(request["output_config"], json!({"effort": "low"}));
}

/// The announced calls are the upper bound of the cost.
#[tokio::test]
async fn a_search_is_announced_with_the_most_that_it_can_use() {
    let server = ModelServer::start().await.unwrap();
    let search = search(&server);
    let charges = search.most().into_iter().map(|call| call.model).collect::<Vec<_>>();
    let per_search = "anthropic:web_search";
    assert_eq!(charges, [search.name().as_str(), per_search, per_search]);
}

/// A turn that the vendor pauses is sent back unchanged, and all its requests are charged.
#[tokio::test]
async fn a_paused_search_is_continued() {
    let paused = Act::empty().and_signed_thinking("Let me see.").and_pauses("green tea");
    let rest = Act::empty().and_searches("green tea", &[tea()]).and_cites("At 80 degrees.", &tea());
    let (server, searched) = play([paused, rest]).await;
    assert_eq!(searched.findings.unwrap().pages.len(), 1);
    let model = "anthropic:claude-haiku-5-5";
    assert_eq!(charges(&searched.spent), [model, model, "anthropic:web_search"]);
    assert_eq!(server.refused(), Vec::new());
    let request = server.requests().pop().unwrap().json;
    let sent_back = &request["messages"][1];
    assert_eq!(sent_back["role"], "assistant");
    let kinds: Vec<_> = sent_back["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "server_tool_use"]);
}

#[tokio::test]
async fn each_error_of_the_search_says_what_to_do() {
    let check = async |code: &str, expected: SearchFailure| {
        let act = Act::empty().and_fails_to_search("green tea", code).and_says("I could not search.");
        let (_, searched) = play([act]).await;
        assert_eq!(searched.findings, Err(expected), "{code}");
        assert_eq!(charges(&searched.spent), ["anthropic:claude-haiku-5-5"], "a failed search is free");
    };
    check("max_uses_exceeded", SearchFailure::MaxUses(2)).await;
    check("too_many_requests", SearchFailure::TooMany).await;
    check("query_too_long", SearchFailure::QueryTooLong).await;
    check("unavailable", SearchFailure::Unavailable).await;
    check("invented_next_year", SearchFailure::Unavailable).await;
    // Results before an error are returned.
    let act = Act::empty().and_searches("green tea", &[tea()]).and_fails_to_search("more", "unavailable");
    assert_eq!(play([act]).await.1.findings.unwrap().pages.len(), 1);
}

/// The vendor enforces the search limit of the request.
#[tokio::test]
async fn searches_beyond_the_limit_of_the_request_are_not_charged() {
    let act = (0..3).fold(Act::empty(), |act, _| act.and_searches("green tea", &[tea()]));
    let (_, searched) = play([act]).await;
    assert_eq!(searched.spent.len(), 3, "one call and two searches");
}

#[tokio::test]
async fn an_answer_from_memory_is_not_taken_for_a_search() {
    let (_, searched) = play([Act::says("Green tea is brewed at 80 degrees, I think.")]).await;
    let told = searched.findings.unwrap_err().to_string();
    assert!(told.contains("answered without searching") && told.contains("OLLIM_SEARCH_URL"), "{told}");
    assert_eq!(searched.spent.len(), 1, "it is paid for all the same");
    let declined = Act::empty().declining(None);
    assert_eq!(play([declined]).await.1.findings, Err(SearchFailure::Declined));
}

#[tokio::test]
async fn an_account_without_web_search_is_told_where_to_allow_it() {
    for status in [400, 403] {
        let refusal = || {
            let kind = if status == 403 { "permission_error" } else { "invalid_request_error" };
            Act::refuses(status, kind, "Web search is not enabled for this organization.")
        };
        let (_, searched) = play([refusal(), refusal()]).await;
        let told = searched.findings.unwrap_err().to_string();
        assert!(told.contains("does not allow web searches (Web search is not enabled"), "{told}");
        assert!(told.contains("Claude Console") && told.contains("OLLIM_SEARCH_URL"), "{told}");
        assert_eq!(searched.spent, []);
    }
}

#[tokio::test]
async fn a_key_without_the_cheap_model_searches_with_the_usual_one() {
    let server = ModelServer::start().await.unwrap();
    server.deny_access(CHEAP);
    server.script([Act::empty().and_searches("green tea", &[tea()])]);
    let searched = search(&server).search("green tea").await;
    assert_eq!(searched.findings.unwrap().pages.len(), 1);
    assert_eq!(charges(&searched.spent), ["anthropic:claude-sonnet-5-5", "anthropic:web_search"]);
}

#[tokio::test]
async fn another_host_without_the_tool_is_named() {
    let options = Options { host: Host::Foreign, ..Options::default() };
    let server = ModelServer::start_with(options).await.unwrap();
    let told = search(&server).search("green tea").await.findings.unwrap_err().to_string();
    assert!(
        told.starts_with("The server 127.0.0.1 does not allow web searches (tools.0: Input tag"),
        "{told}"
    );
}

#[tokio::test]
async fn a_busy_or_broken_vendor_and_a_bad_key_are_told() {
    let failure = async |act: Act| play([act]).await.1.findings.unwrap_err();
    assert_eq!(failure(Act::rate_limited(3)).await, SearchFailure::TooMany);
    assert_eq!(failure(Act::overloaded()).await, SearchFailure::TooMany);
    let told = failure(Act::broken()).await.to_string();
    assert_eq!(told, "The search failed: the model failed on its side (500: Internal server error).");
    let told = failure(Act::refuses(401, "authentication_error", "invalid x-api-key")).await.to_string();
    assert!(told.starts_with("The search failed: The model refused the key (ANTHROPIC_API_KEY"), "{told}");
}
