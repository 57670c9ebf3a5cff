//! Tests of a task file with concurrent writers.

use super::*;
use crate::shelf::memory::Memory;

const FILE: &str = "/data/tasks.md";

fn list(memory: &Arc<Memory>) -> LocalTasks {
    LocalTasks::new(Arc::clone(memory) as Arc<dyn Shelf>, FILE.into())
}

#[tokio::test(start_paused = true)]
async fn what_others_wrote_meanwhile_is_kept() {
    let memory = Arc::new(Memory::with(FILE, "- [ ] one ^a\n"));
    memory.others.lock().unwrap().push(b"- [ ] one ^a\n- [ ] two ^b\n".to_vec());
    let added = list(&memory).add(Change { title: Some("three".into()), ..Change::default() }).await.unwrap();
    assert_eq!(memory.text(FILE), format!("- [ ] one ^a\n- [ ] two ^b\n- [ ] three ^{}\n", added.id));
}

#[tokio::test(start_paused = true)]
async fn what_is_done_is_listed_only_when_all_is_wanted() {
    let memory = Arc::new(Memory::with(FILE, "- [x] one ^a\n- [ ] two\n"));
    let list = list(&memory);
    assert_eq!(list.list(Which::Open).await.unwrap().len(), 1);
    assert_eq!(list.list(Which::All).await.unwrap().len(), 2);
    assert!(memory.text(FILE).contains("- [ ] two ^"), "ids are written down when the list is read");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_somebody_else_never_leaves_alone_is_told_so_and_still_listed() {
    let memory = Arc::new(Memory::with(FILE, "- [ ] one\n"));
    let others = (0..1_000).map(|n| format!("- [ ] one\n- [ ] number {n}\n").into_bytes());
    memory.others.lock().unwrap().extend(others);
    assert_eq!(list(&memory).list(Which::Open).await.unwrap().len(), 2);
    let late = list(&memory).done("x").await.unwrap_err();
    assert!(matches!(late, Trouble::Missing(_)));
    let late =
        list(&memory).add(Change { title: Some("two".into()), ..Change::default() }).await.unwrap_err();
    assert_eq!(late.to_string(), "somebody else keeps writing tasks.md. try again later.");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_too_big_is_refused() {
    let memory = Arc::new(Memory::with(FILE, vec![b'x'; BIGGEST + 1]));
    let refused = list(&memory).list(Which::All).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "tasks.md would be bigger than 4 MB, which is more than i read. move old things out of it."
    );
}
