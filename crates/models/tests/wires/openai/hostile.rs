//! Malicious responses that are specific to chat completions.

use domain::failure::{Failure, Unsaid};
use testkit::chat_server::Style;

use crate::hostile::{CHAT_END, Flood, HEAD, answer, garbled};
use crate::wire::Wire;

const CHAT: Wire = Wire::Chat(Style::OpenAi);

#[tokio::test]
async fn a_whole_answer_has_an_end_and_says_something() {
    let start = || "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".to_owned();
    let flood = Flood::endless(start() + "\r\n", vec![b' '; 100_000]);
    assert_eq!(answer(CHAT, flood).await, garbled("an answer longer than 4 MB"));
    let check = async |body: &'static str, expected: Failure| {
        let start = start() + &format!("content-length: {}\r\n\r\n", body.len());
        assert_eq!(
            answer(CHAT, Flood { start, again: Vec::new(), times: 0, end: body }).await,
            Err(expected)
        );
    };
    let long: &'static str =
        format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "a".repeat(300_000)).leak();
    check(long, Unsaid::TooLarge { kilobytes: 256 }.into()).await;
    check("{}", Failure::Garbled("it is not an answer to a conversation".to_owned())).await;
    check("[1]", Failure::Garbled("an event that is not in its language".to_owned())).await;
    check("\"hello\"", Failure::Garbled("an event that is not in its language".to_owned())).await;
    check("{\"error\":{\"message\":\"no\",\"code\":\"500\"}}", Failure::Broken("no".to_owned())).await;
}

/// The cost of many small call fragments is linear, as for text.
#[tokio::test]
async fn many_small_pieces_of_calls_are_not_looked_at_again_and_again() {
    let piece = |index: usize| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"id\":\"{index}\",\"function\":{{\"name\":\"n\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n"
        )
    };
    let again: String = (0..20_000).map(|at| piece(at) + &piece(at % 2)).collect();
    let flood = Flood { start: HEAD.to_owned(), again: again.into_bytes(), times: 1, end: CHAT_END };
    let reply = answer(CHAT, flood).await;
    assert!(matches!(&reply, Err(Failure::Unsaid(Unsaid::TooLarge { .. }))), "{reply:?}");
}
