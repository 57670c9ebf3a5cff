//! The next requests of main, its fork and a background fork, side by side: they differ only after
//! the fork point.

use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Block, Branch, Completeness, EntryContent, UserInput};
use domain::tool::Outcome;
use expect_test::expect_file;
use testkit::model_server::ModelServer;

use super::support::{answer, call, call_model, context, model, result, user};

fn history() -> Vec<Arc<EntryContent>> {
    let calls = vec![
        Block::Text("One moment.".to_owned()),
        call("call_1", r#"{"text":"locker 214"}"#),
        call("call_2", r#"{"text":"train at nine"}"#),
    ];
    let results = vec![
        result("call_1", "kept as 1", Outcome::Done),
        result("call_2", "the disk is full", Outcome::Failed),
    ];
    let said = [
        user("keep two things for me"),
        EntryContent::Assistant(calls, Completeness::Complete),
        EntryContent::Tools(results),
        answer("The first is kept."),
        user("thanks"),
        answer("You're welcome."),
    ];
    said.into_iter().map(Arc::new).collect()
}

/// Returns the next three requests: of main, of a fork that starts there, and of a background run.
fn next_contexts() -> [Context; 3] {
    let heard = |preface: &str, text: &str| {
        EntryContent::User(UserInput {
            preface: preface.to_owned(),
            text: text.to_owned(),
            images: Vec::new(),
        })
    };
    let now = "[2026-11-15 Sun 09:00 AM CET]";
    let preamble = "[background] report what matters.";
    let words = [
        (Branch::Main, heard(now, "is it late?")),
        (Branch::fork("aside").unwrap(), heard(now, "what if it is?")),
        (Branch::fork("mail").unwrap(), heard(preamble, "is there mail?")),
    ];
    words.map(|(branch, words)| {
        let said = history().into_iter().chain([Arc::new(words)]).collect();
        Context { branch, entries: said, ..context(Vec::new()) }
    })
}

#[tokio::test]
async fn main_and_forks_send_the_same_request_up_to_the_fork_point() {
    let server = ModelServer::start().await.unwrap();
    let model = model(&server.url());
    for context in next_contexts() {
        call_model(&model, &context).await.1.unwrap();
    }
    let sent = server.requests();
    let bodies: [&str; 3] = [0, 1, 2].map(|at| sent[at].body.as_str());
    let fork_point = bodies[0].rfind(r#"{"role":"user""#).unwrap();
    for body in bodies {
        assert_eq!(body[..fork_point], bodies[0][..fork_point]);
    }
    let shared = server.usage().into_iter().map(|usage| usage.cache_read).collect::<Vec<_>>();
    assert!(shared[1] > 0 && shared[2] == shared[1], "{shared:?}");
    expect_file!["snapshots/forks.txt"].assert_eq(&side_by_side(bodies));
}

fn side_by_side(bodies: [&str; 3]) -> String {
    let pages = bodies.map(pretty_json);
    let columns: Vec<Vec<&str>> = pages.iter().map(|page| page.lines().collect()).collect();
    let width = columns.iter().flatten().map(|line| line.chars().count()).max().unwrap();
    let mut text = format!("{:<width$} | {:<width$} | {}\n", "MAIN", "ITS FORK", "A BACKGROUND FORK");
    for at in 0..columns.iter().map(Vec::len).max().unwrap() {
        let cells: Vec<_> =
            columns.iter().map(|column| column.get(at).copied().unwrap_or_default()).collect();
        let line = format!("{:<width$} | {:<width$} | {}", cells[0], cells[1], cells[2]);
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// Formats JSON with one value per line, in the original order.
fn pretty_json(body: &str) -> String {
    let mut text = String::new();
    let mut depth = 0;
    let mut quoted = false;
    let mut escaped = false;
    for sign in body.chars() {
        let newline = |depth: usize| format!("\n{}", "  ".repeat(depth));
        match sign {
            '"' if !escaped => quoted = !quoted,
            '}' | ']' if !quoted => {
                depth -= 1;
                text += &newline(depth);
            }
            _ => {}
        }
        text.push(sign);
        match sign {
            '{' | '[' if !quoted => {
                depth += 1;
                text += &newline(depth);
            }
            ',' if !quoted => text += &newline(depth),
            ':' if !quoted => text.push(' '),
            _ => {}
        }
        escaped = sign == '\\' && !escaped;
    }
    text
}
