//! Web searches with the hosted tool of the Responses API.

use std::sync::Arc;

use domain::conversation::Usage;
use engine::ports::{SearchFailure, Searched, VendorSearch};
use models::openai::WebSearch;
use serde_json::json;
use testkit::chat_server::{Api, ChatServer, Style};
use testkit::play::{Act, Page};

use super::stage::model;

async fn play_in(style: Style, acts: impl IntoIterator<Item = Act>) -> (ChatServer, Searched) {
    let server = ChatServer::start(style).await.unwrap();
    server.script(acts);
    let searched = WebSearch::new(Arc::new(model(&server.url()))).search("green tea").await;
    (server, searched)
}

async fn play(act: Act) -> (ChatServer, Searched) {
    play_in(Style::Current, [act]).await
}

fn tea() -> Page {
    Page::new("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees.")
}

#[tokio::test]
async fn a_search_is_a_small_request_of_its_own_with_the_query_alone() {
    let act = Act::empty()
        .and_searches("green tea", &[tea()])
        .and_cites("At 80 degrees.", &tea())
        .and_cites(" Really.", &tea());
    let (server, searched) = play(act).await;
    let findings = searched.findings.unwrap();
    assert_eq!(findings.answer, "At 80 degrees. Really.");
    let pages: Vec<_> = findings.pages.iter().map(|page| (page.title.as_str(), page.url.as_str())).collect();
    assert_eq!(pages, [("Tea", "https://tea.org/")]);
    let charges: Vec<_> = searched.spent.iter().map(|call| call.model.as_str()).collect();
    assert_eq!(charges, ["openai:test-1", "openai:web_search"]);
    assert_ne!(searched.spent[0].usage, Usage::default());

    let request = server.requests().pop().unwrap();
    assert_eq!(request.path, Api::Responses);
    assert_eq!(request.json["tools"], json!([{"type": "web_search"}]));
    assert_eq!(request.json["input"], json!([{"role": "user", "content": "green tea"}]));
    assert_eq!((&request.json["store"], &request.json["max_tool_calls"]), (&json!(false), &json!(2)));
}

/// Opening a result page and failed searches are not charged.
#[tokio::test]
async fn only_searches_are_charged() {
    let opened = json!({
        "id": "ws_1", "type": "web_search_call", "status": "completed",
        "action": {"type": "open_page", "url": "https://tea.org/"},
    });
    let act = Act::empty()
        .and_searches("green tea", &[tea()])
        .and(testkit::play::Piece::Raw(opened))
        .and_fails_to_search("green tea", "unavailable")
        .and_cites("At 80 degrees.", &tea());
    assert_eq!(play(act).await.1.spent.len(), 2, "the call and one search");
}

#[tokio::test]
async fn what_goes_wrong_is_told_with_what_to_do() {
    let failure = async |act: Act| play(act).await.1.findings.unwrap_err();
    assert_eq!(
        failure(Act::empty().and_fails_to_search("green tea", "unavailable")).await,
        SearchFailure::Unavailable
    );
    let told = failure(Act::says("I think at 80 degrees.")).await.to_string();
    assert!(told.contains("answered without searching") && told.contains("OLLIM_SEARCH_URL"), "{told}");
    assert_eq!(failure(Act::rate_limited(3)).await, SearchFailure::TooMany);
    let refusal = "Hosted tool 'web_search' is not enabled for this project.";
    let told = failure(Act::refuses(403, "invalid_request_error", refusal)).await.to_string();
    assert!(told.contains("does not allow web searches (Hosted tool") && told.contains("Project"), "{told}");
}

/// A refused reasoning effort is corrected, like in a conversation.
#[tokio::test]
async fn a_refused_effort_is_corrected() {
    let refusal = "Unsupported value: 'reasoning.effort' does not support 'low' with this model. Supported values are: \
        'medium' and 'high'.";
    let acts = [
        Act::refuses(400, "invalid_request_error", refusal),
        Act::empty().and_searches("green tea", &[tea()]).and_cites("At 80 degrees.", &tea()),
    ];
    let (server, searched) = play_in(Style::Current, acts).await;
    assert_eq!(searched.findings.unwrap().pages.len(), 1);
    assert_eq!(server.requests()[1].json["reasoning"]["effort"], "medium");
}

#[tokio::test]
async fn a_server_without_the_responses_api_has_no_search() {
    let (_, searched) = play_in(Style::OpenAi, []).await;
    let told = searched.findings.unwrap_err().to_string();
    assert!(told.starts_with("The server 127.0.0.1 does not allow web searches"), "{told}");
}
