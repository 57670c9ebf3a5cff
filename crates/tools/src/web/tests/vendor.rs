//! Tests of the vendor search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::assistant::{Answer, Request, TurnRequest};
use domain::conversation::{Json, Usage};
use domain::cost::{BudgetRefusal, Micros, ModelCall};
use domain::label::Realms;
use domain::tool::{Outcome, ToolCall, ToolResult};
use domain::turn::TurnId;
use engine::handle::{AssistantHandle, Input};
use engine::ports::{ResultPage, SearchFailure, SearchOutcome, SearchResults, ToolRunner, VendorSearch};
use futures_util::future::BoxFuture;

use crate::web::WebSearch;
use crate::{Availability, ToolEnv, Toolbox};

/// A fake vendor with a fixed result; without one it never answers.
struct FakeVendor {
    findings: Option<Result<SearchResults, SearchFailure>>,
    searches: AtomicU32,
}

fn call(model: &str) -> ModelCall {
    ModelCall { model: model.to_owned(), usage: Usage { input: 10, ..Usage::default() } }
}

impl VendorSearch for FakeVendor {
    fn name(&self) -> String {
        "played:cheap".to_owned()
    }

    fn max_calls(&self) -> Vec<ModelCall> {
        vec![call("most")]
    }

    fn search<'a>(&'a self, query: &'a str) -> BoxFuture<'a, SearchOutcome> {
        assert_eq!(query, "green tea", "trimmed");
        self.searches.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match self.findings.clone() {
                Some(findings) => SearchOutcome { spent: vec![call("spent")], results: findings },
                None => std::future::pending().await,
            }
        })
    }
}

/// Runs a search. Returns its result, the requests to the assistant, and the number of searches.
/// The assistant answers its first request with `first_answer`.
async fn run_search(
    findings: Option<Result<SearchResults, SearchFailure>>,
    first_answer: Answer,
) -> (ToolResult, Vec<Request>, u32) {
    let vendor = Arc::new(FakeVendor { findings, searches: AtomicU32::new(0) });
    let tools = Toolbox::new(ToolEnv {
        web_search: Availability::Available(WebSearch::Vendor(vendor.clone())),
        ..ToolEnv::default()
    });
    let (assistant, mut receiver) = AssistantHandle::new();
    let input = Json(r#"{"query": " green tea\n"}"#.to_owned());
    let call = ToolCall { id: "c".to_owned(), name: "WebSearch".to_owned(), input };
    let run = async move {
        let result = tools.run(TurnId(7), &call, &assistant).await;
        drop(assistant);
        result
    };
    let serve = async {
        let mut requests = Vec::new();
        let mut first_answer = Some(first_answer);
        while let Some(Input::Request(request, reply)) = receiver.recv().await {
            requests.push(request);
            let _ = reply.send(first_answer.take().unwrap_or(Answer::Done));
        }
        requests
    };
    let (result, requests) = tokio::join!(run, serve);
    (result, requests, vendor.searches.load(Ordering::Relaxed))
}

fn may_search_request() -> Request {
    Request::Turn(TurnId(7), TurnRequest::MaySearch(vec![call("most")]))
}

fn searched_request(spent: &[ModelCall]) -> Request {
    Request::Turn(
        TurnId(7),
        TurnRequest::Searched { announced: vec![call("most")], model_calls: spent.to_vec() },
    )
}

fn page(title: &str, url: &str, snippet: &str) -> ResultPage {
    ResultPage { title: title.to_owned(), url: url.to_owned(), snippet: snippet.to_owned() }
}

#[tokio::test]
async fn vendor_results_are_outside_text() {
    let pages = vec![
        page("Tea\u{202e}", "https://tea.org/", "<i>very hot</i>"),
        page("Bad", "javascript:alert(1)", ""),
    ];
    let findings = SearchResults { pages, answer: "At 80\u{200b} degrees.\n".to_owned() };
    let (result, requests, _) = run_search(Some(Ok(findings)), Answer::Done).await;
    assert_eq!(
        result.text,
        "- Tea\n  https://tea.org/\n  very hot\n\nAnswer of played:cheap from these pages: At 80 degrees."
    );
    assert_eq!(result.outcome, Outcome::Done);
    assert_ne!(result.label.outside, Realms::NONE);
    assert_eq!(requests, [may_search_request(), searched_request(&[call("spent")])]);
    let (result, ..) = run_search(Some(Ok(SearchResults::default())), Answer::Done).await;
    assert_eq!(result.text, "(nothing found)");
}

#[tokio::test]
async fn long_answer_is_truncated() {
    let findings = SearchResults { pages: Vec::new(), answer: "é".repeat(5_000) };
    let (result, ..) = run_search(Some(Ok(findings)), Answer::Done).await;
    assert!(result.text.chars().count() < 4_100 && result.text.ends_with("é (cut)"), "{}", result.text.len());
}

/// E4: the vendor is not asked when the day's limit is reached.
#[tokio::test]
async fn search_beyond_the_daily_limit_is_refused() {
    let refusal = BudgetRefusal::Money { spent: Micros(5), most: Micros(5) };
    let findings = Some(Ok(SearchResults::default()));
    let (result, requests, times) = run_search(findings, Answer::OverBudget(refusal)).await;
    assert!(result.text.starts_with("Error: what i may spend in a day"), "{}", result.text);
    assert_eq!((requests, times), (vec![may_search_request()], 0));
}

/// The cost is recorded even without a result, and a vendor that never answers leaves nothing
/// reserved.
#[tokio::test(start_paused = true)]
async fn failed_search_is_reported_and_charged() {
    let (result, requests, _) = run_search(Some(Err(SearchFailure::TooMany)), Answer::Done).await;
    assert_eq!(result.text, format!("Error: {}", SearchFailure::TooMany));
    assert_eq!(result.label.outside, Realms::NONE, "these are our own words");
    assert_eq!(requests, [may_search_request(), searched_request(&[call("spent")])]);
    let (result, requests, _) = run_search(None, Answer::Done).await;
    assert!(result.text.contains("did not answer within 100 seconds"), "{}", result.text);
    assert_eq!(requests, [may_search_request(), searched_request(&[])]);
}
