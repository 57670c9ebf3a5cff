//! Tests of the vendor search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::assistant::{Answer, Progress, Request};
use domain::conversation::{Json, Usage};
use domain::cost::{Call, Micros, Refusal};
use domain::label::Realms;
use domain::tool::{Outcome, ToolCall, ToolResult};
use domain::turn::TurnId;
use engine::desk::{Desk, Letter};
use engine::ports::{Findings, FoundPage, Hands, SearchFailure, Searched, VendorSearch};
use futures_util::future::BoxFuture;

use crate::web::Search;
use crate::{Part, Toolbox, Workshop};

/// A fake vendor with a fixed result; without one it never answers.
struct Played {
    findings: Option<Result<Findings, SearchFailure>>,
    asked: AtomicU32,
}

fn call(model: &str) -> Call {
    Call { model: model.to_owned(), usage: Usage { input: 10, ..Usage::default() } }
}

impl VendorSearch for Played {
    fn name(&self) -> String {
        "played:cheap".to_owned()
    }

    fn most(&self) -> Vec<Call> {
        vec![call("most")]
    }

    fn search<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Searched> {
        assert_eq!(query, "green tea", "trimmed");
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match self.findings.clone() {
                Some(findings) => Searched { spent: vec![call("spent")], findings },
                None => std::future::pending().await,
            }
        })
    }
}

/// Runs a search. Returns its result, the requests to the assistant, and the number of searches.
/// The assistant answers its first request with `first_answer`.
async fn searched(
    findings: Option<Result<Findings, SearchFailure>>,
    may: Answer,
) -> (ToolResult, Vec<Request>, u32) {
    let vendor = Arc::new(Played { findings, asked: AtomicU32::new(0) });
    let tools =
        Toolbox::new(Workshop { search: Part::On(Search::Vendor(vendor.clone())), ..Workshop::default() });
    let (desk, mut pile) = Desk::new();
    let input = Json(r#"{"query": " green tea\n"}"#.to_owned());
    let call = ToolCall { id: "c".to_owned(), name: "WebSearch".to_owned(), input };
    let run = async move {
        let result = tools.run(TurnId(7), &call, &desk).await;
        drop(desk);
        result
    };
    let hear = async {
        let mut heard = Vec::new();
        let mut may = Some(may);
        while let Some(Letter::Asked(request, reply)) = pile.recv().await {
            heard.push(request);
            let _ = reply.send(may.take().unwrap_or(Answer::Noted));
        }
        heard
    };
    let (result, heard) = tokio::join!(run, hear);
    (result, heard, vendor.asked.load(Ordering::Relaxed))
}

fn asked() -> Request {
    Request::Turn(TurnId(7), Progress::MaySearch(vec![call("most")]))
}

fn told(spent: &[Call]) -> Request {
    Request::Turn(TurnId(7), Progress::Searched { announced: vec![call("most")], spent: spent.to_vec() })
}

fn page(title: &str, url: &str, snippet: &str) -> FoundPage {
    FoundPage { title: title.to_owned(), url: url.to_owned(), snippet: snippet.to_owned() }
}

#[tokio::test]
async fn the_pages_and_the_answer_of_a_vendor_are_told_as_words_from_outside() {
    let pages = vec![
        page("Tea\u{202e}", "https://tea.org/", "<i>very hot</i>"),
        page("Bad", "javascript:alert(1)", ""),
    ];
    let findings = Findings { pages, answer: "At 80\u{200b} degrees.\n".to_owned() };
    let (result, heard, _) = searched(Some(Ok(findings)), Answer::Noted).await;
    assert_eq!(
        result.text,
        "- Tea\n  https://tea.org/\n  very hot\n\nAnswer of played:cheap from these pages: At 80 degrees."
    );
    assert_eq!(result.outcome, Outcome::Done);
    assert_ne!(result.label.outside, Realms::NONE);
    assert_eq!(heard, [asked(), told(&[call("spent")])]);
    let (result, ..) = searched(Some(Ok(Findings::default())), Answer::Noted).await;
    assert_eq!(result.text, "(nothing found)");
}

#[tokio::test]
async fn a_long_answer_is_cut() {
    let findings = Findings { pages: Vec::new(), answer: "é".repeat(5_000) };
    let (result, ..) = searched(Some(Ok(findings)), Answer::Noted).await;
    assert!(result.text.chars().count() < 4_100 && result.text.ends_with("é (cut)"), "{}", result.text.len());
}

/// E4: the vendor is not asked when the day's limit is reached.
#[tokio::test]
async fn a_search_beyond_the_daily_limit_is_not_made() {
    let refusal = Refusal::Money { spent: Micros(5), most: Micros(5) };
    let findings = Some(Ok(Findings::default()));
    let (result, heard, times) = searched(findings, Answer::Overspent(refusal)).await;
    assert!(result.text.starts_with("Error: what i may spend in a day"), "{}", result.text);
    assert_eq!((heard, times), (vec![asked()], 0));
}

/// The cost is recorded even without a result, and a vendor that never answers leaves nothing
/// reserved.
#[tokio::test(start_paused = true)]
async fn a_search_that_fails_is_told_and_paid_for() {
    let (result, heard, _) = searched(Some(Err(SearchFailure::TooMany)), Answer::Noted).await;
    assert_eq!(result.text, format!("Error: {}", SearchFailure::TooMany));
    assert_eq!(result.label.outside, Realms::NONE, "these are our own words");
    assert_eq!(heard, [asked(), told(&[call("spent")])]);
    let (result, heard, _) = searched(None, Answer::Noted).await;
    assert!(result.text.contains("did not answer within 100 seconds"), "{}", result.text);
    assert_eq!(heard, [asked(), told(&[])]);
}
