//! Web searches with the vendor's tool.

use std::sync::Arc;

use domain::conversation::Usage;
use domain::cost::ModelCall;
use engine::ports::{ResultPage, SearchFailure, SearchOutcome, SearchResults, VendorSearch};
use models::anthropic::{Anthropic, Settings, WebSearch};
use serde_json::json;
use testkit::model_server::{Host, ModelServer, Options, ScriptedReply, WebPage};

use super::support::settings;

const CHEAP_MODEL: &str = "claude-haiku-5-5";
const DEFAULT_MODEL: &str = "claude-sonnet-5-5";

/// Creates a search through `server` for a conversation with `DEFAULT_MODEL`.
fn search(server: &ModelServer) -> WebSearch {
    let settings = Settings { model: DEFAULT_MODEL.to_owned(), ..settings(&server.url()) };
    WebSearch::new(Arc::new(Anthropic::new(settings).unwrap()), Some(CHEAP_MODEL.to_owned()))
}

async fn search_with(acts: impl IntoIterator<Item = ScriptedReply>) -> (ModelServer, SearchOutcome) {
    let server = ModelServer::start().await.unwrap();
    server.script(acts);
    let outcome = search(&server).search("green tea").await;
    (server, outcome)
}

fn tea_page() -> WebPage {
    WebPage::new("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees.")
}

fn charged_models(spent: &[ModelCall]) -> Vec<&str> {
    spent.iter().map(|call| call.model.as_str()).collect()
}

#[tokio::test]
async fn search_is_a_separate_request_with_only_the_query() {
    let other = WebPage::new("Other", "https://other.org/", "");
    let act = ScriptedReply::empty()
        .with_text("I'll search.")
        .with_search("green tea", &[other, tea_page()])
        .with_citation(" At 80 degrees.", &tea_page());
    let (server, searched) = search_with([act]).await;
    let page = |title: &str, url: &str, snippet: &str| ResultPage {
        title: title.to_owned(),
        url: url.to_owned(),
        snippet: snippet.to_owned(),
    };
    let findings = SearchResults {
        pages: vec![
            page("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees."),
            page("Other", "https://other.org/", "November 1, 2026"),
        ],
        answer: "I'll search. At 80 degrees.".to_owned(),
    };
    assert_eq!(searched.results, Ok(findings), "cited pages come first");
    assert_eq!(charged_models(&searched.spent), ["anthropic:claude-haiku-5-5", "anthropic:web_search"]);
    assert_ne!(searched.spent[0].usage, Usage::default());
    assert_eq!(searched.spent[1].usage, Usage::default());
    assert_eq!(server.refused_requests(), Vec::new());

    let request = server.requests().pop().unwrap().json;
    assert_eq!(request["model"], CHEAP_MODEL);
    assert_eq!(
        request["tools"],
        json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}])
    );
    assert_eq!(request["messages"], json!([{"role": "user", "content": "green tea"}]));
    assert_eq!(request["output_config"], json!({"effort": "low"}));
}

/// The announced calls are the upper bound of the cost.
#[tokio::test]
async fn max_calls_of_a_search_are_announced() {
    let server = ModelServer::start().await.unwrap();
    let search = search(&server);
    let charges = search.max_calls().into_iter().map(|call| call.model).collect::<Vec<_>>();
    let per_search = "anthropic:web_search";
    assert_eq!(charges, [search.name().as_str(), per_search, per_search]);
}

/// A turn that the vendor pauses is sent back unchanged, and all its requests are charged.
#[tokio::test]
async fn paused_search_is_continued() {
    let paused = ScriptedReply::empty().with_signed_thinking("Let me see.").with_paused_search("green tea");
    let rest = ScriptedReply::empty()
        .with_search("green tea", &[tea_page()])
        .with_citation("At 80 degrees.", &tea_page());
    let (server, searched) = search_with([paused, rest]).await;
    assert_eq!(searched.results.unwrap().pages.len(), 1);
    let model = "anthropic:claude-haiku-5-5";
    assert_eq!(charged_models(&searched.spent), [model, model, "anthropic:web_search"]);
    assert_eq!(server.refused_requests(), Vec::new());
    let request = server.requests().pop().unwrap().json;
    let sent_back = &request["messages"][1];
    assert_eq!(sent_back["role"], "assistant");
    let kinds: Vec<_> = sent_back["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "server_tool_use"]);
}

#[tokio::test]
async fn search_errors_map_to_their_failures() {
    let check = async |code: &str, expected: SearchFailure| {
        let act =
            ScriptedReply::empty().with_failed_search("green tea", code).with_text("I could not search.");
        let (_, searched) = search_with([act]).await;
        assert_eq!(searched.results, Err(expected), "{code}");
        assert_eq!(
            charged_models(&searched.spent),
            ["anthropic:claude-haiku-5-5"],
            "a failed search is free"
        );
    };
    check("max_uses_exceeded", SearchFailure::MaxUses(2)).await;
    check("too_many_requests", SearchFailure::TooMany).await;
    check("query_too_long", SearchFailure::QueryTooLong).await;
    check("unavailable", SearchFailure::Unavailable).await;
    check("invented_next_year", SearchFailure::Unavailable).await;
    // Results before an error are returned.
    let act = ScriptedReply::empty()
        .with_search("green tea", &[tea_page()])
        .with_failed_search("more", "unavailable");
    assert_eq!(search_with([act]).await.1.results.unwrap().pages.len(), 1);
}

/// The vendor enforces the search limit of the request.
#[tokio::test]
async fn searches_beyond_the_limit_of_the_request_are_not_charged() {
    let act = (0..3).fold(ScriptedReply::empty(), |act, _| act.with_search("green tea", &[tea_page()]));
    let (_, searched) = search_with([act]).await;
    assert_eq!(searched.spent.len(), 3, "one call and two searches");
}

#[tokio::test]
async fn answer_without_search_is_a_failure() {
    let (_, searched) =
        search_with([ScriptedReply::text("Green tea is brewed at 80 degrees, I think.")]).await;
    let told = searched.results.unwrap_err().to_string();
    assert!(told.contains("answered without searching") && told.contains("OLLIM_SEARCH_URL"), "{told}");
    assert_eq!(searched.spent.len(), 1, "it is paid for all the same");
    let declined = ScriptedReply::empty().with_model_refusal(None);
    assert_eq!(search_with([declined]).await.1.results, Err(SearchFailure::Declined));
}

#[tokio::test]
async fn account_without_web_search_gets_advice() {
    for status in [400, 403] {
        let refusal = || {
            let kind = if status == 403 { "permission_error" } else { "invalid_request_error" };
            ScriptedReply::refusal(status, kind, "Web search is not enabled for this organization.")
        };
        let (_, searched) = search_with([refusal(), refusal()]).await;
        let told = searched.results.unwrap_err().to_string();
        assert!(told.contains("does not allow web searches (Web search is not enabled"), "{told}");
        assert!(told.contains("Claude Console") && told.contains("OLLIM_SEARCH_URL"), "{told}");
        assert_eq!(searched.spent, []);
    }
}

#[tokio::test]
async fn key_without_the_cheap_model_searches_with_the_default_one() {
    let server = ModelServer::start().await.unwrap();
    server.deny_access(CHEAP_MODEL);
    server.script([ScriptedReply::empty().with_search("green tea", &[tea_page()])]);
    let searched = search(&server).search("green tea").await;
    assert_eq!(searched.results.unwrap().pages.len(), 1);
    assert_eq!(charged_models(&searched.spent), ["anthropic:claude-sonnet-5-5", "anthropic:web_search"]);
}

#[tokio::test]
async fn another_host_without_the_tool_is_named() {
    let options = Options { host: Host::Foreign, ..Options::default() };
    let server = ModelServer::start_with(options).await.unwrap();
    let told = search(&server).search("green tea").await.results.unwrap_err().to_string();
    assert!(
        told.starts_with("The server 127.0.0.1 does not allow web searches (tools.0: Input tag"),
        "{told}"
    );
}

#[tokio::test]
async fn busy_or_broken_vendor_and_bad_key_are_reported() {
    let failure = async |act: ScriptedReply| search_with([act]).await.1.results.unwrap_err();
    assert_eq!(failure(ScriptedReply::rate_limited(3)).await, SearchFailure::TooMany);
    assert_eq!(failure(ScriptedReply::overloaded()).await, SearchFailure::TooMany);
    let told = failure(ScriptedReply::server_error()).await.to_string();
    assert_eq!(told, "The search failed: the model failed on its side (500: Internal server error).");
    let told =
        failure(ScriptedReply::refusal(401, "authentication_error", "invalid x-api-key")).await.to_string();
    assert!(told.starts_with("The search failed: The model refused the key (ANTHROPIC_API_KEY"), "{told}");
}
