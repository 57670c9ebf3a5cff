//! Malicious responses that are specific to chat completions.

use domain::failure::{Failure, InvalidReply};
use testkit::chat_server::Style;

use crate::api::ApiKind;
use crate::hostile::{CHAT_END, Flood, HEAD, answer, garbled};

const CHAT_API: ApiKind = ApiKind::Chat(Style::OpenAi);

#[tokio::test]
async fn json_reply_is_bounded_and_validated() {
    let start = || "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".to_owned();
    let flood = Flood::endless(start() + "\r\n", vec![b' '; 100_000]);
    assert_eq!(answer(CHAT_API, flood).await, garbled("an answer longer than 4 MB"));
    let check = async |body: &'static str, expected: Failure| {
        let start = start() + &format!("content-length: {}\r\n\r\n", body.len());
        assert_eq!(
            answer(CHAT_API, Flood { start, again: Vec::new(), times: 0, end: body }).await,
            Err(expected)
        );
    };
    let long: &'static str =
        format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "a".repeat(300_000)).leak();
    check(long, InvalidReply::TooLarge { kilobytes: 256 }.into()).await;
    check("{}", Failure::InvalidResponse("it is not an answer to a conversation".to_owned())).await;
    check("[1]", Failure::InvalidResponse("an event that is not in its language".to_owned())).await;
    check("\"hello\"", Failure::InvalidResponse("an event that is not in its language".to_owned())).await;
    check("{\"error\":{\"message\":\"no\",\"code\":\"500\"}}", Failure::VendorError("no".to_owned())).await;
}

/// The cost of many small call fragments is linear, as for text.
#[tokio::test]
async fn many_call_fragments_are_cut_at_the_limit() {
    let piece = |index: usize| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"id\":\"{index}\",\"function\":{{\"name\":\"n\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n"
        )
    };
    let again: String = (0..20_000).map(|at| piece(at) + &piece(at % 2)).collect();
    let flood = Flood { start: HEAD.to_owned(), again: again.into_bytes(), times: 1, end: CHAT_END };
    let reply = answer(CHAT_API, flood).await;
    assert!(matches!(&reply, Err(Failure::InvalidReply(InvalidReply::TooLarge { .. }))), "{reply:?}");
}
