//! Web searches with the hosted tool of the Responses API.

use std::sync::Arc;

use domain::conversation::Usage;
use engine::ports::{SearchFailure, SearchOutcome, VendorSearch};
use models::openai::WebSearch;
use serde_json::json;
use testkit::chat_server::{Api, ChatServer, Style};
use testkit::scripted_replies::{ScriptedReply, WebPage};

use super::support::model;

async fn search_with_style(
    style: Style,
    acts: impl IntoIterator<Item = ScriptedReply>,
) -> (ChatServer, SearchOutcome) {
    let server = ChatServer::start(style).await.unwrap();
    server.script(acts);
    let searched = WebSearch::new(Arc::new(model(&server.url()))).search("green tea").await;
    (server, searched)
}

async fn search_with(act: ScriptedReply) -> (ChatServer, SearchOutcome) {
    search_with_style(Style::OpenAiCurrent, [act]).await
}

fn tea_page() -> WebPage {
    WebPage::new("Tea", "https://tea.org/", "Green tea is brewed at 80 degrees.")
}

#[tokio::test]
async fn search_is_a_separate_request_with_only_the_query() {
    let act = ScriptedReply::empty()
        .with_search("green tea", &[tea_page()])
        .with_citation("At 80 degrees.", &tea_page())
        .with_citation(" Really.", &tea_page());
    let (server, searched) = search_with(act).await;
    let findings = searched.results.unwrap();
    assert_eq!(findings.answer, "At 80 degrees. Really.");
    let pages: Vec<_> = findings.pages.iter().map(|page| (page.title.as_str(), page.url.as_str())).collect();
    assert_eq!(pages, [("Tea", "https://tea.org/")]);
    let charges: Vec<_> = searched.spent.iter().map(|call| call.model.as_str()).collect();
    assert_eq!(charges, ["openai:test-1", "openai:web_search"]);
    assert_ne!(searched.spent[0].usage, Usage::default());

    let request = server.requests().pop().unwrap();
    assert_eq!(request.api, Api::Responses);
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
    let act = ScriptedReply::empty()
        .with_search("green tea", &[tea_page()])
        .with_piece(testkit::scripted_replies::ReplyPiece::Raw(opened))
        .with_failed_search("green tea", "unavailable")
        .with_citation("At 80 degrees.", &tea_page());
    assert_eq!(search_with(act).await.1.spent.len(), 2, "the call and one search");
}

#[tokio::test]
async fn search_errors_map_to_their_failures() {
    let failure = async |act: ScriptedReply| search_with(act).await.1.results.unwrap_err();
    assert_eq!(
        failure(ScriptedReply::empty().with_failed_search("green tea", "unavailable")).await,
        SearchFailure::Unavailable
    );
    let told = failure(ScriptedReply::text("I think at 80 degrees.")).await.to_string();
    assert!(told.contains("answered without searching") && told.contains("OLLIM_SEARCH_URL"), "{told}");
    assert_eq!(failure(ScriptedReply::rate_limited(3)).await, SearchFailure::TooMany);
    let refusal = "Hosted tool 'web_search' is not enabled for this project.";
    let told = failure(ScriptedReply::refusal(403, "invalid_request_error", refusal)).await.to_string();
    assert!(told.contains("does not allow web searches (Hosted tool") && told.contains("Project"), "{told}");
}

/// A refused reasoning effort is corrected, like in a conversation.
#[tokio::test]
async fn refused_effort_is_corrected() {
    let refusal = "Unsupported value: 'reasoning.effort' does not support 'low' with this model. Supported values are: \
        'medium' and 'high'.";
    let acts = [
        ScriptedReply::refusal(400, "invalid_request_error", refusal),
        ScriptedReply::empty()
            .with_search("green tea", &[tea_page()])
            .with_citation("At 80 degrees.", &tea_page()),
    ];
    let (server, searched) = search_with_style(Style::OpenAiCurrent, acts).await;
    assert_eq!(searched.results.unwrap().pages.len(), 1);
    assert_eq!(server.requests()[1].json["reasoning"]["effort"], "medium");
}

#[tokio::test]
async fn server_without_the_responses_api_has_no_search() {
    let (_, searched) = search_with_style(Style::OpenAi, []).await;
    let told = searched.results.unwrap_err().to_string();
    assert!(told.starts_with("The server 127.0.0.1 does not allow web searches"), "{told}");
}
